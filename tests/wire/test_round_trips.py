"""Round trips: what a format says comes back from it, and what two formats can say crosses between them."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.properties.play import Player, random_ops

import foveate
from foveate.log.messages import Media, Message, Text, Thinking, ToolCall, ToolResult, domestic
from foveate.wire import anthropic, anthropic_request, anthropic_rules, openai_chat, openai_request, openai_rules
from foveate.wire.format import OPENING, Request
from foveate.wire.formats import FORMATS

WORDS = st.text(max_size=12)
SAID = st.text(min_size=1, max_size=12).filter(str.strip)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(WORDS, JSON, max_size=3)
BASE64 = st.binary(min_size=1, max_size=9).map(lambda data: base64.b64encode(data).decode())
IDS = st.text("abcXYZ019_-", min_size=1, max_size=8)


def place(index: int) -> str:
    return f"message {index}"


def having(fields: dict[str, Any], *, known: frozenset[str] = frozenset()) -> st.SearchStrategy[dict[str, Any]]:
    """Objects of some fields, given as strategies, and sometimes of others that nobody knows."""
    names = st.sampled_from(["cache_control", "citations", "@joined", "@block", "@anthropic", "@@x", "vendor"])
    others = st.dictionaries(names.filter(lambda name: name not in known), JSON, max_size=2)
    plain = st.fixed_dictionaries(fields)
    return plain | st.builds(lambda more, own: {**more, **own}, others, plain)


def kind(name: str, /, **fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    return having({"type": st.just(name), **fields})


# --- Anthropic -------------------------------------------------------------------------------------------------------

SOURCES = (
    kind("base64", media_type=st.sampled_from(["image/png", "application/pdf", "a,b", ""]), data=BASE64 | WORDS)
    | kind("url", url=st.sampled_from(["https://x.org/y", "data:image/png;base64,AAAA"]) | WORDS)
    | kind("file", file_id=WORDS)
    | kind("text", media_type=st.just("text/plain"), data=WORDS)
    | kind("content", content=WORDS | st.lists(kind("text", text=WORDS), max_size=2))
    | kind("hologram", at=WORDS)
)
SHOWN = (
    kind("text", text=WORDS)
    | kind("image", source=SOURCES)
    | kind("document", source=SOURCES, title=WORDS)
    | kind("search_result", source=WORDS, title=WORDS, content=st.lists(kind("text", text=WORDS), max_size=2))
    | kind("hologram", input=JSON, name=WORDS)
)
RESULTS = kind("tool_result", tool_use_id=IDS, content=st.none() | WORDS | st.lists(SHOWN, max_size=4)) | kind(
    "tool_result", tool_use_id=IDS, content=SAID, is_error=st.booleans() | st.none()
)
SPOKEN = (
    kind("text", text=WORDS)
    | kind("thinking", thinking=WORDS, signature=WORDS | st.none())
    | kind("thinking", thinking=WORDS)
    | kind("redacted_thinking", data=WORDS)
    | kind("tool_use", id=IDS, name=IDS, input=OBJECTS)
    | kind("server_tool_use", id=IDS, name=WORDS, input=OBJECTS)
    | kind("web_search_tool_result", tool_use_id=IDS, content=JSON)
)
ANTHROPIC = having(
    {"role": st.just("user"), "content": WORDS | st.lists(SHOWN | RESULTS, max_size=5)}, known=frozenset()
) | having({"role": st.just("assistant"), "content": WORDS | st.lists(SPOKEN, max_size=5), "model": WORDS})

# A result without content whose cache mark stands first.
MARKED_RESULT = {"cache_control": None, "type": "tool_result", "tool_use_id": "0", "content": None}


@settings(deadline=None)
@example([{"role": "user", "content": [MARKED_RESULT]}])
@given(st.lists(ANTHROPIC, max_size=4))
def test_anthropic_messages_come_back_as_they_came(raws: list[dict[str, Any]]) -> None:
    """Blocks, their order, unknown fields and unknown types included."""
    encoded = anthropic.encode(anthropic.decode(raws, place))

    assert json.dumps(encoded) == json.dumps(raws)


@settings(deadline=None)
@given(st.lists(ANTHROPIC, max_size=3))
def test_a_second_trip_changes_nothing(raws: list[dict[str, Any]]) -> None:
    """Equal spellings have one form, and that is reached at once."""
    once = anthropic.encode(anthropic.decode(raws, place))

    assert anthropic.decode(once, place) == anthropic.decode(raws, place)


# --- OpenAI chat -----------------------------------------------------------------------------------------------------

OPENAI_BLOCKS = (
    kind("text", text=WORDS)
    | kind("image_url", image_url=having({"url": WORDS}))
    | kind("file", file=having({"file_id": WORDS}) | having({"file_data": WORDS, "filename": WORDS}) | JSON)
    | kind("input_audio", input_audio=having({"data": BASE64, "format": st.sampled_from(["wav", "mp3", "a,b"])}) | JSON)
)
CALLS = having(
    {
        "id": IDS,
        "type": st.just("function"),
        "function": having({"name": IDS, "arguments": WORDS | OBJECTS.map(json.dumps)}),
    }
) | having({"id": IDS, "type": st.just("custom"), "custom": having({"name": IDS, "input": WORDS})})
OPENAI = (
    having(
        {
            "role": st.sampled_from(["user", "system", "developer"]),
            "content": WORDS | st.lists(OPENAI_BLOCKS, max_size=4),
        }
    )
    | having({"role": st.just("tool"), "tool_call_id": IDS, "content": WORDS | st.lists(OPENAI_BLOCKS, max_size=4)})
    | having(
        {
            "role": st.just("assistant"),
            "content": st.none()
            | WORDS
            | st.lists(kind("text", text=WORDS) | kind("refusal", refusal=WORDS), max_size=3),
            "tool_calls": st.lists(CALLS, min_size=1, max_size=3),
            "id": WORDS,
            "reasoning_content": WORDS,
        }
    )
)


@settings(deadline=None)
@given(st.lists(OPENAI, max_size=4))
def test_openai_messages_come_back_as_they_came(raws: list[dict[str, Any]]) -> None:
    """Blocks, their order, calls of both kinds and unknown fields included."""
    assert json.dumps(openai_chat.encode_all(openai_chat.decode_all(raws, place))) == json.dumps(raws)


# --- Across ----------------------------------------------------------------------------------------------------------

PICTURES = BASE64.map(
    lambda data: Media(kind="image", reference=f"data:image/png;base64,{data}", media_type="image/png")
)
SAYING = st.lists(st.builds(Text, text=WORDS), max_size=3)
CALLING = st.lists(
    st.builds(ToolCall, id=IDS, name=IDS, arguments=OBJECTS.map(lambda one: json.dumps(one, ensure_ascii=False))),
    max_size=3,
)
CANONICAL = (
    st.builds(
        lambda parts: Message(id="", role="user", parts=tuple(parts)),
        st.lists(st.builds(Text, text=WORDS) | PICTURES, max_size=3),
    )
    | st.builds(lambda texts, calls: Message(id="", role="assistant", parts=(*texts, *calls)), SAYING, CALLING)
    | st.builds(
        lambda call_id, text, media: Message(
            id="", role="tool", parts=(ToolResult(call_id=call_id, text=text, media=tuple(media)),)
        ),
        IDS,
        WORDS,
        st.lists(PICTURES, max_size=2),
    )
)


@settings(deadline=None)
@given(st.lists(CANONICAL, max_size=4))
def test_what_both_can_say_crosses_both(messages: list[Message]) -> None:
    """Texts, images, calls and results are the same after either format."""
    there = anthropic.decode(anthropic.encode(messages), place)
    assert [_untyped(message) for message in there] == [_untyped(message) for message in messages]
    back = openai_chat.decode_all(openai_chat.encode_all(messages), place)
    assert [_untyped(message) for message in back] == [_untyped(message) for message in messages]


def _untyped(message: Message) -> Any:
    """A message without what OpenAI has no place for: the type of an image, and whether nothing or an empty text was said."""
    parts = [
        (part.call_id, part.text, [one.reference for one in part.attachments])
        if isinstance(part, ToolResult)
        else part.reference
        if isinstance(part, Media)
        else msgspec.structs.replace(part, extra={})
        for part in message.parts
        if part != Text(text="")
    ]
    return message.role, parts


@settings(deadline=None)
@given(st.builds(Thinking, text=WORDS, signature=st.none() | WORDS))
def test_thinking_crosses_anthropic_whole(thinking: Thinking) -> None:
    """Text and signature are bound to each other."""
    message = Message(id="", role="assistant", parts=(thinking, Text(text="so")))

    (back,) = anthropic.decode(anthropic.encode([message]), place)
    crossed = back.parts[0]

    assert isinstance(crossed, Thinking)
    assert (crossed.text, crossed.signature, back.parts[1:]) == (thinking.text, thinking.signature, message.parts[1:])


@settings(deadline=None)
@given(SAID, SAID, st.booleans())
def test_signed_thinking_survives_the_frameworks(text: str, signature: str, redacted: bool) -> None:
    """What Anthropic signed comes back to it through LangChain and pydantic-ai, whole."""
    thought = (
        {"type": "redacted_thinking", "data": signature}
        if redacted
        else {"type": "thinking", "thinking": text, "signature": signature}
    )
    said = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "so"}]},
    ]
    messages = anthropic.decode(said, place)

    for name in ("langchain", "pydantic-ai"):
        there = FORMATS[name].decode(FORMATS[name].lower(Request(messages=tuple(messages))), place)
        back = anthropic_request.lower(Request(messages=tuple(there)))
        assert back["messages"][1]["content"][0] == thought


def _exchange(names: list[str], text: str | None) -> list[dict[str, Any]]:
    calls = [
        {"id": f"{name}:{index}", "type": "function", "function": {"name": name, "arguments": json.dumps({"n": index})}}
        for index, name in enumerate(names)
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": f"did {call['id']}"} for call in calls]
    return [{"role": "assistant", "content": text, "tool_calls": calls}, *results]


TURNS = st.lists(
    st.one_of(
        st.builds(lambda text: [{"role": "user", "content": text}], SAID),
        st.builds(lambda text: [{"role": "assistant", "content": text}], SAID),
        st.builds(_exchange, st.lists(IDS, min_size=1, max_size=3), SAID | st.none()),
    ),
    max_size=6,
).map(lambda runs: [raw for run in runs for raw in run])


@settings(deadline=None)
@given(TURNS)
def test_openai_to_anthropic_and_back_keeps_what_was_said(raws: list[dict[str, Any]]) -> None:
    """Who said what, which calls were made and what they gave; only the ids may be spelled otherwise."""
    session = foveate.Session()
    session.extend([{"role": "user", "content": "begin"}, *raws])
    view = session.compile()

    lowered = view.to("anthropic")
    back = openai_chat.encode_all(anthropic.decode(lowered["messages"], place))

    assert anthropic_rules.problems(lowered) == []
    assert _told(back) == _told(view.to("openai"))


def _told(raws: list[dict[str, Any]]) -> list[Any]:
    """What a conversation tells, whichever way it is cut into messages; calls by number instead of by id."""
    numbers: dict[str, int] = {}
    told: list[Any] = []
    for raw in raws:
        content = raw["content"]
        texts = [content] if isinstance(content, str) else [block["text"] for block in content or ()]
        if raw["role"] == "tool":
            told.append(("result", numbers[raw["tool_call_id"]], texts))
            continue
        # White space at the end of what an assistant said is refused by Anthropic.
        trimmed = [text.rstrip() if raw["role"] == "assistant" else text for text in texts if text.strip()]
        told += [(raw["role"], text) for text in trimmed if text != OPENING]
        for call in raw.get("tool_calls", ()):
            numbers[call["id"]] = len(numbers)
            told.append(("call", call["function"]["name"], json.loads(call["function"]["arguments"])))
    return told


# --- Requests --------------------------------------------------------------------------------------------------------


@st.composite
def logs(draw: st.DrawFn) -> list[Any]:
    """What was said, some in one format and some in the other."""
    said: list[Any] = []
    for format in draw(st.lists(st.sampled_from(["anthropic", "openai", "exchange"]), max_size=6)):
        if format == "exchange":
            said += draw(TURNS)
            continue
        decode, raws = (anthropic.decode, ANTHROPIC) if format == "anthropic" else (openai_chat.decode_all, OPENAI)
        said += decode([draw(raws)], place)
    return [{"role": "user", "content": "begin"}, *said]


@settings(max_examples=40, deadline=None)
@given(logs(), st.sampled_from([400, 2_000, 30_000]), st.booleans())
def test_any_log_is_lowered_to_requests_that_are_accepted(said: list[Any], budget: int, system: bool) -> None:
    """Whatever was recorded in whichever format, all take what is sent, and the same is sent twice."""
    session = foveate.Session(budget=budget, system="Be brief." if system else None)
    session.extend(said)
    try:
        view = session.compile()
    except foveate.BudgetError:
        return

    for name, format in FORMATS.items():
        sent = format.lower(view.request)
        assert (name, format.problems(sent)) == (name, [])
        assert format.lower(view.request) == sent


@settings(max_examples=40, deadline=None)
@given(logs(), st.sampled_from(list(FORMATS)))
def test_what_is_sent_can_be_changed_without_changing_the_log(said: list[Any], name: str) -> None:
    """A caller may do with a request what they like: the next one is compiled from what was recorded."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    session = foveate.Session(tools=tools)
    session.extend(said)
    view = session.compile()
    before, payload = view.payload_sha256, FORMATS[name].lower(view.request)
    again = json.dumps(payload)

    _spoil(payload)
    _spoil(FORMATS[name].encode(view.messages))

    assert json.dumps(FORMATS[name].lower(view.request)) == again
    assert session.compile().payload_sha256 == before


def _spoil(value: Any) -> None:
    """Change everything that can be changed in a value."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in list(inner):
        _spoil(one)
    if isinstance(value, dict):
        value.clear()
        value["spoilt"] = True
    elif isinstance(value, list):
        value[:] = ["spoilt"]


@pytest.mark.parametrize("seed", range(12))
def test_random_sessions_are_lowered_to_requests_that_are_accepted(seed: int) -> None:
    """At every compile of sessions with late, missing and repeated results, at budgets that force reductions."""
    rng = random.Random(seed)
    session = foveate.Session(budget=rng.choice([900, 2_000, 8_000]), system=rng.choice([None, "Be brief."]))
    session.append({"role": "user", "content": "begin"})
    player, compiles = Player(session), 0
    for op in random_ops(rng, 120):
        try:
            view = player.apply(op)
        except foveate.BudgetError:
            continue
        if view is not None:
            compiles += 1
            for format in FORMATS.values():
                assert format.problems(format.lower(view.request)) == []
    assert compiles > 5


@settings(deadline=None)
@given(st.lists(CANONICAL, max_size=6), st.lists(st.integers(0, 6), max_size=6), st.booleans())
def test_marks_never_exceed_what_is_allowed(messages: list[Message], marks: list[int], system: bool) -> None:
    """However many are asked for."""
    request = Request(
        messages=tuple(messages), system="S" if system else None, marks=tuple(marks), mark_system=True, opens_empty=True
    )

    found = anthropic_rules.problems(anthropic_request.lower(request))

    assert not [problem for problem in found if "mark" in problem]


# --- Anything at all -------------------------------------------------------------------------------------------------

_WORDS = """
type role content text id name input tool_use tool_result thinking signature data source base64 url image document
media_type file_id tool_use_id is_error user assistant system tool tool_calls function arguments tool_call_id image_url
file file_data input_audio format custom messages tools cache_control redacted_thinking
"""
VOCABULARY = st.sampled_from(_WORDS.split())
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | VOCABULARY | st.text(max_size=3) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(VOCABULARY, inner, max_size=5),
    max_leaves=20,
)
ROLES = st.sampled_from(["user", "assistant", "system", "tool"])
NEARLY = st.builds(
    lambda role, content, more: {**more, "role": role, "content": content},
    ROLES,
    ANYTHING
    | st.lists(
        st.builds(
            lambda name, more: {**more, "type": name}, VOCABULARY, st.dictionaries(VOCABULARY, ANYTHING, max_size=5)
        ),
        max_size=3,
    ),
    st.dictionaries(VOCABULARY, ANYTHING, max_size=2),
)


@settings(max_examples=150, deadline=None)
@given(ANYTHING | NEARLY)
def test_anything_is_read_or_refused(raw: object) -> None:
    """A message that is none raises a `MessageError` and nothing else; one that is read can be written."""
    for decode, encode in ((anthropic.decode, anthropic.encode), (openai_chat.decode_all, openai_chat.encode_all)):
        try:
            messages = decode([raw], place)
        except foveate.MessageError as error:
            assert "message 0" in str(error)
            continue
        json.dumps(encode(messages), ensure_ascii=False).encode()
        for lower in (anthropic_request.lower, openai_request.lower):
            json.dumps(lower(Request(messages=tuple(messages), opens_empty=True)), ensure_ascii=False).encode()
        assert all(isinstance(domestic(message.extra), dict) for message in messages)
    assert isinstance(anthropic.recognises(raw) or openai_chat.recognises(raw), bool)


@settings(max_examples=150, deadline=None)
@given(
    ANYTHING
    | st.builds(
        lambda messages, more: {**more, "messages": messages},
        st.lists(NEARLY, max_size=3),
        st.dictionaries(VOCABULARY, ANYTHING, max_size=3),
    )
)
def test_anything_can_be_validated(payload: object) -> None:
    """The rules name what is wrong with a request of any shape."""
    messages = payload.get("messages") if isinstance(payload, dict) else payload
    for found in (anthropic_rules.problems(payload), openai_rules.problems(messages)):
        assert all(isinstance(problem, str) for problem in found)
