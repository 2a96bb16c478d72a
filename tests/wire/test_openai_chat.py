"""OpenAI chat messages, both ways."""

import pytest
from tests.dialogue import call, calls, result, says, user

from foveate import MessageError
from foveate.log.messages import Media, Message, Text, Thinking, ToolCall
from foveate.wire.openai_chat import decode, encode

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}


@pytest.mark.parametrize(
    "raw",
    [
        user("hello"),
        user("你好，世界"),
        user(""),
        {**user("hello"), "name": "ada"},
        says("hi"),
        {"role": "system", "content": "Be kind."},
        {"role": "developer", "content": "Be brief."},
        calls(call("a", "Read", file_path="x"), text="Reading."),
        calls(call("a", "Read", file_path="x"), call("b", "Bash", command="ls")),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{bro"}}],
        },
        result("a", "output"),
        result("a", ""),
        user([{"type": "text", "text": "look"}, IMAGE]),
        user([IMAGE]),
        user([{"type": "file", "file": {"file_id": "f1"}}]),
        user([{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]),
        {"role": "assistant", "content": "no", "refusal": None, "reasoning_content": "hm"},
    ],
)
def test_what_came_in_goes_out(raw: dict) -> None:
    """A message that was not reduced reaches the provider as the caller gave it."""
    assert encode(decode(raw)) == raw


def test_what_is_meant_for_foveate_alone_stays_here() -> None:
    """Providers refuse fields they do not know."""
    assert encode(decode({**result("a", "x"), "is_error": True})) == result("a", "x")
    assert encode(decode({**user("x"), "pinned": True})) == user("x")
    assert decode({**user("x"), "pinned": True}).meta.pinned


def test_an_image_in_a_tool_result_goes_out() -> None:
    """A screenshot is what the tool was called for."""
    raw = result("a", [{"type": "text", "text": "see"}, IMAGE])

    assert encode(decode(raw)) == raw


def test_unknown_fields_of_a_call_go_out() -> None:
    """Gemini's OpenAI endpoint wants `extra_content` back."""
    raw = calls({**call("a", "f"), "extra_content": {"google": {"thought_signature": "sig"}}})

    assert encode(decode(raw)) == raw


def test_unknown_fields_of_a_text_block_go_out() -> None:
    """A caller's own cache mark is not ours to remove."""
    raw = user([{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}])

    assert encode(decode(raw)) == raw


def test_arguments_given_as_an_object_become_text() -> None:
    """Some libraries parse them already."""
    message = decode(calls({"id": "a", "type": "function", "function": {"name": "f", "arguments": {"名": "值"}}}))

    assert message.calls == (ToolCall(id="a", name="f", arguments='{"名": "值"}'),)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (
            {"role": "robot", "content": "x"},
            r"unknown `role` 'robot'; known are system, developer, user, assistant, tool",
        ),
        ({"content": "x"}, "unknown `role` None"),
        ("hello", "expected a mapping with `role`, got str"),
        ({"role": "user", "content": 7}, "`content` must be text or a list of blocks, got int"),
        (user([{"type": "hologram"}]), "unknown `type` 'hologram'"),
        (user([7]), "expected text or a block"),
        ({"role": "tool", "content": "x"}, "`tool_call_id` must be a non-empty string, got None"),
        ({"role": "assistant", "tool_calls": {"id": "a"}}, "`tool_calls` must be a list, got dict"),
        (calls({"type": "function", "function": {"name": "f"}}), "`id` must be a non-empty string, got None"),  # type: ignore[arg-type]
        (calls({"id": "a"}), "`function` must be a mapping with a `name`"),
        (calls({"id": "a", "function": {"name": "f", "arguments": 3}}), "`arguments` must be JSON text, got int"),
        ({**user("x"), "tool_calls": [call("a", "f")]}, "only an assistant message has `tool_calls`"),
    ],
)
def test_a_malformed_shape_is_refused_with_what_is_wrong(raw: object, said: str) -> None:
    """Value, field and what is known are in the error."""
    with pytest.raises(MessageError, match=said):
        decode(raw)


def test_thinking_does_not_go_out_on_this_wire() -> None:
    """OpenAI chat has no place for it."""
    message = Message(id="m1", role="assistant", parts=(Thinking(text="hm", signature="s"), Text(text="hi")))

    assert encode(message) == says("hi")


def test_an_image_by_plain_address_is_spelled_out() -> None:
    """Both spellings of an image mean the same."""
    assert decode(user([{"type": "image_url", "image_url": "https://x/y.png"}])).parts == (
        Media(kind="image", reference="https://x/y.png"),
    )
