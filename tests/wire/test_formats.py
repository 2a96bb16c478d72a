"""Formats told apart: one conversation in all of them, mixed lists, and what is none."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest

import foveate
from foveate import ConfigError, MessageError
from foveate.log.messages import Message, Text, domestic
from foveate.wire.format import OPENING, Request
from foveate.wire.formats import FORMATS, OPENAI, decode_any, format_named

ARGUMENTS = {"path": "a.py"}
TEXT = '{"path": "a.py"}'


def _openai() -> list[Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": TEXT}}
    return [
        {"role": "user", "content": "Read a.py."},
        {"role": "assistant", "content": "Reading.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "3 lines"},
        {"role": "assistant", "content": "It has 3 lines."},
        {"role": "user", "content": "Thanks."},
    ]


def _responses() -> list[Any]:
    return [
        {"role": "user", "content": "Read a.py."},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Reading."}]},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": TEXT},
        {"type": "function_call_output", "call_id": "c1", "output": "3 lines"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It has 3 lines."}]},
        {"role": "user", "content": "Thanks."},
    ]


def _anthropic() -> list[Any]:
    use = {"type": "tool_use", "id": "c1", "name": "read", "input": ARGUMENTS}
    return [
        {"role": "user", "content": "Read a.py."},
        {"role": "assistant", "content": [{"type": "text", "text": "Reading."}, use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3 lines"}]},
        {"role": "assistant", "content": "It has 3 lines."},
        {"role": "user", "content": "Thanks."},
    ]


def _gemini() -> list[Any]:
    answer = {"id": "c1", "name": "read", "response": {"output": "3 lines"}}
    return [
        {"role": "user", "parts": [{"text": "Read a.py."}]},
        {
            "role": "model",
            "parts": [{"text": "Reading."}, {"functionCall": {"id": "c1", "name": "read", "args": ARGUMENTS}}],
        },
        {"role": "user", "parts": [{"functionResponse": answer}]},
        {"role": "model", "parts": [{"text": "It has 3 lines."}]},
        {"role": "user", "parts": [{"text": "Thanks."}]},
    ]


def _pydantic_ai() -> list[Any]:
    call = {"part_kind": "tool-call", "tool_name": "read", "args": ARGUMENTS, "tool_call_id": "c1"}
    answer = {"part_kind": "tool-return", "tool_name": "read", "content": "3 lines", "tool_call_id": "c1"}
    return [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Read a.py."}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "Reading."}, call]},
        {"kind": "request", "parts": [answer]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "It has 3 lines."}]},
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Thanks."}]},
    ]


def _langchain() -> list[Any]:
    call = {"id": "c1", "name": "read", "args": ARGUMENTS, "type": "tool_call"}
    return [
        {"type": "human", "data": {"content": "Read a.py."}},
        {"type": "ai", "data": {"content": "Reading.", "tool_calls": [call]}},
        {"type": "tool", "data": {"content": "3 lines", "tool_call_id": "c1"}},
        {"type": "ai", "data": {"content": "It has 3 lines."}},
        {"type": "human", "data": {"content": "Thanks."}},
    ]


CONVERSATIONS = {
    "openai": _openai,
    "openai-compatible": _openai,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "pydantic-ai": _pydantic_ai,
    "langchain": _langchain,
}


def _plain(message: Message) -> Message:
    parts = tuple(msgspec.structs.replace(part, extra=domestic(part.extra)) for part in message.parts)
    return msgspec.structs.replace(message, parts=parts, extra=domestic(message.extra))


def _log(raws: list[Any]) -> list[Message]:
    session = foveate.Session(budget=8_000)
    session.extend(raws)
    return [_plain(message) for message in session.compile().messages]


def test_every_format_has_its_conversation() -> None:
    """A new format without one would not be tested here."""
    assert set(CONVERSATIONS) == set(FORMATS)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_same_conversation_makes_the_same_log(name: str) -> None:
    """Whatever it is written in, up to what only that format can say."""
    assert _log(CONVERSATIONS[name]()) == _log(_openai())


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_every_format_reads_what_it_lowers(name: str) -> None:
    """Compiled, lowered, read again: what was said, called and answered is the same, and no rule is broken."""
    format = format_named(name)
    session = foveate.Session(budget=8_000)
    session.extend(CONVERSATIONS[name]())
    lowered = format.lower(session.compile().request)
    raws = (
        lowered
        if isinstance(lowered, list)
        else next(lowered[key] for key in ("input", "messages", "contents") if key in lowered)
    )

    assert format.problems(lowered) == []
    assert [(message.role, message.text, message.calls) for message in _log(raws)] == [
        (message.role, message.text, message.calls) for message in _log(_openai())
    ]


@pytest.mark.parametrize("first", CONVERSATIONS)
@pytest.mark.parametrize("second", CONVERSATIONS)
def test_formats_may_stand_in_one_list(first: str, second: str) -> None:
    """Each stretch is read by its own format, messages of our own between them included."""
    ours = Message(id="", role="user", parts=(Text(text="And again."),))
    mixed = decode_any([*CONVERSATIONS[first](), ours, *CONVERSATIONS[second]()])
    apart = [*decode_any(CONVERSATIONS[first]()), ours, *decode_any(CONVERSATIONS[second]())]

    assert [_plain(message) for message in mixed] == [_plain(message) for message in apart]


def test_what_could_be_of_several_formats_goes_with_its_neighbours() -> None:
    """With what stands before it, or else with what comes next; alone it is OpenAI's."""
    marked = {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]}
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {}}]}
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}

    def keeps(raws: list[Any], index: int) -> set[str]:
        part = decode_any(raws)[index].parts[0]
        return set(part.extra)

    plain = {"role": "user", "content": [{"type": "text", "text": "hi", "note": 1}]}
    assert keeps([plain], 0) == {"note"}
    assert keeps([plain, asked], 0) == {"note"}
    assert keeps([plain, use], 0) == {"@anthropic"}
    assert keeps([use, plain], 1) == {"@anthropic"}
    assert keeps([use, asked, plain], 2) == {"note"}
    assert [_plain(message).text for message in decode_any([marked, use])] == ["hi", ""]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (7, "message 2: expected a mapping with `role`, got int"),
        (None, "message 2: expected a mapping with `role`, got NoneType"),
        ("hello", "message 2: expected a mapping with `role`, got str"),
        ([], "message 2: expected a mapping with `role`, got list"),
        ({}, "message 2: unknown `role` None"),
        ({"role": "robot", "content": "x"}, "message 2: unknown `role` 'robot'"),
        ({"kind": "request", "parts": 7}, "message 2: `parts` must be a list, got int"),
        ({"type": "human", "data": {"content": 7}}, "message 2: `content` must be text or a list of blocks"),
    ],
)
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_what_is_no_message_is_refused_with_its_place(name: str, raw: Any, said: str) -> None:
    """In whatever company, and nothing of the list is kept."""
    session = foveate.Session(budget=8_000)

    with pytest.raises(MessageError) as error:
        session.extend([*CONVERSATIONS[name]()[:2], raw])
    assert said in str(error.value)
    assert list(session.messages) == []


@pytest.mark.parametrize("name", [name for name in FORMATS if FORMATS[name].bridge is None])
@pytest.mark.parametrize("said", [{"content": None}, {"content": None, "refusal": "No."}, {"audio": {"id": "a1"}}])
def test_a_message_without_content_is_read_behind_any_format(name: str, said: dict[str, Any]) -> None:
    before = CONVERSATIONS[name]()
    raws = [*before, {"role": "assistant", **said}]
    assert OPENAI.encode(decode_any(raws))[-1] == {"role": "assistant", **said}


def test_an_unknown_block_of_no_format_goes_to_all_that_it_could_be_of() -> None:
    """Where nothing tells the format, nothing is dropped; those that have no such blocks get none."""
    odd = {"type": "hologram", "x": {"b": 1, "a": None}}
    raws = [
        {"role": "user", "content": [odd, {"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "t"}, odd]},
        {"role": "user", "content": "so?"},
    ]
    session = foveate.Session()
    session.extend(raws)
    view = foveate.Session.from_events(foveate.load_events(session.dump())).compile()

    assert view.to("openai") == raws
    assert view.to("anthropic")["messages"][:2] == raws[:2]
    assert "hologram" not in json.dumps([view.to("gemini"), view.to("openai-responses")])


def test_an_unknown_format_names_the_known_ones() -> None:
    """For whoever mistyped it."""
    with pytest.raises(ConfigError, match="unknown `format` 'xml'; known are openai, "):
        format_named("xml")


def test_many_messages_are_told_apart_in_no_time() -> None:
    """Which of them are clear is found in one pass."""
    raws = [{"role": "user", "content": "hi"}] * 100_000
    started = time.perf_counter()

    assert len(decode_any([*raws, _anthropic()[1]])) == 100_001
    assert time.perf_counter() - started < 20


class Dumped:
    """An object as libraries of providers give them."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, *, mode: str, exclude_none: bool) -> dict[str, Any]:
        assert (mode, exclude_none) == ("json", True)
        return {name: value for name, value in self.fields.items() if value is not None}


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        (
            {"role": "assistant", "content": [Dumped(type="text", text="hi", citations=None)]},
            {"role": "assistant", "content": [{"type": "text", "text": "hi"}]},
        ),
        (
            {"role": "assistant", "content": (Dumped(type="tool_use", id="c1", name="f", input={}),)},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
        ),
        (
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [Dumped(type="text", text="x")]},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "x"}]}],
            },
        ),
        (
            {"role": "assistant", "content": None, "tool_calls": [Dumped(**CALL)]},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
        ),
        (Dumped(role="assistant", content="hi", refusal=None), {"role": "assistant", "content": "hi"}),
        ({"role": "model", "parts": [Dumped(text="hi")]}, {"role": "model", "parts": [{"text": "hi"}]}),
    ],
)
def test_objects_of_libraries_are_read_wherever_they_stand(raw: Any, plain: Any) -> None:
    """`{"role": "assistant", "content": response.content}` is how their users go on."""
    assert decode_any([raw]) == decode_any([plain])


def test_an_object_that_cannot_say_itself_is_refused_with_its_place() -> None:
    """Whatever its library raises."""

    class Broken:
        def model_dump(self) -> dict[str, Any]:
            return {}

    with pytest.raises(MessageError, match="message 1: Broken is no plain data"):
        decode_any([{"role": "user", "content": "x"}, {"role": "assistant", "content": [Broken()]}])


def test_deep_nesting_is_no_recursion() -> None:
    """Objects stand at the top, not at the bottom of a well."""
    deep: dict[str, Any] = {"type": "text", "text": "x"}
    for _ in range(5_000):
        deep = {"type": "tool_result", "tool_use_id": "a", "content": [deep]}

    with pytest.raises(MessageError):
        decode_any([{"role": "user", "content": [deep]}])


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("system", [None, "  "])
def test_a_request_that_says_nothing_is_refused(name: str, system: str | None) -> None:
    """Nobody said anything, so nothing is put into the user's mouth; the error says what to do."""
    silent = Message(id="m1", role="user", parts=(Text(text=" "),))

    for messages in ((), (silent,)):
        with pytest.raises(foveate.EmptyRequestError, match="this one says nothing; append a user message"):
            FORMATS[name].lower(Request(messages=messages, system=system))


@pytest.mark.parametrize("name", ["openai", "openai-compatible", "pydantic-ai", "langchain"])
def test_a_system_prompt_can_be_sent_alone(name: str) -> None:
    """Where the provider takes it: nothing stands beside it."""
    lowered = FORMATS[name].lower(Request(messages=(), system="Be kind."))

    assert FORMATS[name].problems(lowered) == []
    assert json.dumps(lowered).count("content") == 1


@pytest.mark.parametrize("name", ["openai-responses", "anthropic", "gemini"])
def test_a_system_prompt_alone_is_refused(name: str) -> None:
    """Where the provider wants a message, whether the prompt was given or said."""
    said = Message(id="m1", role="system", parts=(Text(text="Be kind."),))
    requests = [Request(messages=(), system="Be kind.")]
    requests += [Request(messages=(said,))] if name != "openai-responses" else []

    for request in requests:
        with pytest.raises(foveate.EmptyRequestError, match="is only a system prompt; append a user message"):
            FORMATS[name].lower(request)


@pytest.mark.parametrize("name", FORMATS)
def test_an_assistant_that_speaks_first(name: str) -> None:
    """Gets a remark of Foveate's own before it where a provider wants the user to begin, and nowhere else."""
    said = Message(id="m1", role="assistant", parts=(Text(text="Hello."),))
    lowered = FORMATS[name].lower(Request(messages=(said,)))

    assert FORMATS[name].problems(lowered) == []
    remarks = json.dumps(lowered).count(OPENING)
    assert remarks == (0 if name.startswith("openai") else 1)
