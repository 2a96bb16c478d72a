"""What was made of a message is made once, and nobody's changes reach it."""

from foveate import Session
from foveate.log.messages import Message, Text
from foveate.wire import memo
from foveate.wire.memo import MadeOfMessage


def _said(text: str) -> Message:
    return Message(id="m0", role="user", parts=(Text(text=text),))


def test_a_message_is_asked_about_once() -> None:
    """The same message again takes no further work; one that is equal to it is another one."""
    asked: list[str] = []

    def length(message: Message) -> int:
        asked.append(message.text)
        return len(message.text)

    made, one = MadeOfMessage(length), _said("one")
    assert [made(one), made(one), made(_said("one"))] == [3, 3, 3]
    assert asked == ["one", "one"]


def test_no_more_than_a_few_messages_are_kept() -> None:
    """A process that goes on for years keeps no more than a bounded number of messages alive."""
    made = MadeOfMessage(lambda message: message.text)
    for number in range(3 * memo._MOST):
        made(_said(str(number)))
    assert len(made._kept) <= memo._MOST


def test_changes_of_a_request_reach_no_later_one() -> None:
    """A caller may change what `to` gave in any depth; the next request is as if nobody had."""
    session = Session()
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
    session.extend(
        [
            {"role": "user", "content": [{"type": "text", "text": "Read it."}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "x = 1"},
        ]
    )
    view = session.compile()
    first, kept = view.to("openai"), view.to("openai")
    first[0]["content"][0]["text"] = "changed"
    first[1]["tool_calls"][0]["function"]["name"] = "changed"
    first[2]["content"] = "changed"
    assert view.to("openai") == kept
    assert "changed" not in str(kept)
