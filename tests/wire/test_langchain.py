"""LangChain's messages as data: both ways, lowered, and what is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveate
from foveate import MessageError
from foveate.log.messages import Media, Message, Text, Thinking, ToolCall
from foveate.wire import langchain_rules
from foveate.wire.format import OPENING, Request
from foveate.wire.langchain import decode, recognises
from foveate.wire.langchain_encoding import encode, lower
from foveate.wire.langchain_rules import RULES, problems


def place(index: int) -> str:
    return f"message {index}"


def message(kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"type": kind, "content": content, **fields}}


def called(id: str, name: str = "read", **args: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "args": args, "type": "tool_call"}


def answered(id: str, content: Any, **fields: Any) -> dict[str, Any]:
    return message("tool", content, tool_call_id=id, **{"status": "success", **fields})


TEXT = {"type": "text", "text": "look"}
BROKEN = {"id": "b", "name": "read", "args": "{bro", "error": "no JSON", "type": "invalid_tool_call"}
FILES = [
    {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
    {"type": "image_url", "image_url": "data:image/png;base64,AAAA"},
    {"type": "image", "base64": "AAAA", "mime_type": "image/png", "id": "lc_1"},
    {"type": "image", "url": "https://example.org/a.png"},
    {"type": "image", "source_type": "base64", "data": "AAAA", "mime_type": "image/png"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
    {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}, "title": "A"},
    {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}},
    {"type": "file", "file_id": "file-1"},
    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    {"type": "video", "url": "https://example.org/a.mp4", "mime_type": "video/mp4"},
]


@pytest.mark.parametrize(
    "raw",
    [
        message("system", "Be kind."),
        message("human", "你好，世界", name="ada", id="h1"),
        message("human", [TEXT, *FILES]),
        *(message("human", [file]) for file in FILES),
        message("human", [{"type": "text-plain", "text": "notes", "title": "T"}]),
        message("human", ["one", "two"]),
        message("human", [{**TEXT, "cache_control": {"type": "ephemeral"}}, {"cachePoint": {"type": "default"}}]),
        message("ai", "ok", additional_kwargs={"refusal": "no"}, response_metadata={"model": "m"}, id="run-1"),
        message("ai", "ok", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
        message("ai", "", tool_calls=[called("a", p=1), called("b", 名="值")]),
        message("ai", "", tool_calls=[called("a")], invalid_tool_calls=[BROKEN]),
        message("ai", "", invalid_tool_calls=[{**BROKEN, "name": None, "args": None}]),
        message(
            "ai",
            [TEXT, {"type": "tool_use", "id": "a", "name": "read", "input": {"p": 1}, "cache_control": {}}],
            tool_calls=[called("a", p=1)],
        ),
        message(
            "ai", [{"type": "tool_use", "id": "a", "name": "read", "input": "", "index": 1}], tool_calls=[called("a")]
        ),
        message("ai", [{"type": "tool_call", "id": "a", "name": "read", "args": {}}, TEXT], tool_calls=[called("a")]),
        message("ai", [{"type": "function_call", "call_id": "a", "name": "read", "arguments": '{"p":1}'}]),
        message("ai", [{"type": "thinking", "thinking": "hm", "signature": "s"}, TEXT]),
        message("ai", [{"type": "redacted_thinking", "data": "x"}, {"type": "reasoning", "reasoning": "hm"}, TEXT]),
        message("ai", [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}, TEXT]),
        message("ai", [{"type": "server_tool_call", "name": "web_search", "id": "s", "args": {"q": 1}}]),
        answered("a", "out", artifact={"rows": [1]}, name="read", status="error"),
        answered("a", ""),
        answered("a", [TEXT, FILES[0], "and", {**TEXT, "id": "x"}, {"type": "json", "json": {"a": 1}}]),
        message("function", "out", name="read"),
        message("chat", "hm", role="critic"),
        message("chat", "hm", role="assistant"),
        message("AIMessageChunk", "par", tool_call_chunks=[{"name": "read", "index": 0}]),
    ],
)
def test_what_came_in_goes_out(raw: dict[str, Any]) -> None:
    """Unknown blocks and fields included."""
    assert encode(decode([raw], place)) == [raw]


@pytest.mark.parametrize("kind", ["human", "ai", "system"])
def test_the_three_ways_to_write_a_message_are_the_same(kind: str) -> None:
    """`messages_to_dict`, `model_dump` and `dumpd`."""
    name = {"human": "HumanMessage", "ai": "AIMessage", "system": "SystemMessage"}[kind]
    fields = {"content": "hi", "additional_kwargs": {}, "response_metadata": {}, "id": "1"}
    written = [
        {"type": kind, "data": {**fields, "type": kind}},
        {**fields, "type": kind},
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": fields},
    ]

    first, *others = (decode([raw], place) for raw in written)

    assert all(recognises(raw) for raw in written)
    assert others == [first, first]


def test_calls_stand_where_their_blocks_do() -> None:
    """A call in the list and its block are one call; one without a block comes last."""
    block = {"type": "tool_use", "id": "a", "name": "read", "input": {"p": 1}}
    (said,) = decode([message("ai", [block, TEXT], tool_calls=[called("b"), called("a", p=1)])], place)

    assert [part.id if isinstance(part, ToolCall) else type(part) for part in said.parts] == ["a", Text, "b"]


def test_results_in_a_human_message_are_tool_messages() -> None:
    """As Anthropic has them, with the words of the user behind."""
    raw = message("human", [{"type": "tool_result", "tool_use_id": "a", "content": [TEXT], "is_error": True}, TEXT])
    result, user = decode([raw], place)

    assert (result.role, result.text, result.extra["is_error"]) == ("tool", "look", True)
    assert (user.role, user.text) == ("user", "look")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (message("remove", ""), "a RemoveMessage changes the state of a graph"),
        (message("robot", "x"), "unknown `type` 'robot'; known are system, human, ai, tool, function, chat"),
        ({"type": "human", "data": 7}, "`data`: expected a mapping, got int"),
        (message("human", 7), "`content` must be text or a list of blocks, got int"),
        (message("human", [7]), "content block 0: expected a mapping, got int"),
        (message("human", "x", name=7), "`name` must be text, got int"),
        (message("ai", "", tool_calls=7), "`tool_calls` must be a list, got int"),
        (message("ai", "", tool_calls=[7]), "tool call 0: expected a mapping, got int"),
        (message("ai", "", tool_calls=[{**called("a"), "id": None}]), "`id` must be a non-empty string, got None"),
        (message("ai", "", tool_calls=[{**called("a"), "args": "{}"}]), "`args` must be an object, got str"),
        (message("tool", "x"), "`tool_call_id` must be a non-empty string, got None"),
        (answered("a", "x", status="odd"), "`status` must be 'success' or 'error', got 'odd'"),
        ({"lc": 1, "type": "constructor", "id": ["x", "Prompt"], "kwargs": {}}, "`id` must name a class of messages"),
        (7, "expected a mapping, got int"),
    ],
)
def test_malformed_messages_are_refused_by_name(raw: Any, said: str) -> None:
    """The error says where, which field, and what it was."""
    with pytest.raises(MessageError, match="message 1") as error:
        decode([message("human", "fine"), raw], place)
    assert said in str(error.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
BLOCKS = st.dictionaries(
    st.sampled_from(["id", "name", "input", "args", "call_id", "text", "thinking", "source", "url", "data", "base64"]),
    JSON | st.just("AAAA") | st.just({"data": "AAAA"}),
).flatmap(
    lambda fields: st.sampled_from(["text", "tool_use", "function_call", "thinking", "reasoning", "image", "x"]).map(
        lambda kind: {**fields, "type": kind}
    )
)
CALLS = st.lists(st.fixed_dictionaries({"id": JSON, "name": JSON, "args": JSON}) | JSON, max_size=2)
MESSAGES = st.builds(
    lambda kind, fields: {"type": kind, "data": fields},
    st.sampled_from(["human", "ai", "system", "tool", "function", "chat", "AIMessageChunk"]) | JSON,
    st.fixed_dictionaries(
        {"content": st.lists(BLOCKS | JSON, max_size=3) | JSON},
        optional={"tool_calls": CALLS, "invalid_tool_calls": CALLS, "tool_call_id": st.just("a") | JSON, "role": JSON},
    )
    | JSON,
)


@given(st.lists(MESSAGES | JSON, max_size=3))
@settings(max_examples=150, deadline=None)
def test_any_json_is_read_or_refused(raws: list[Any]) -> None:
    """Nothing but a `MessageError` comes out of the worst data; what is read is written again."""
    try:
        messages = decode(raws, place)
    except MessageError:
        return
    assert encode(decode(encode(messages), place)) == encode(messages)


# --- lowered ------------------------------------------------------------------------------------------------------


def test_a_system_message_behind_others_is_said_by_the_user() -> None:
    """Providers take only one at the front; and the assistant never speaks first."""
    messages = (
        Message(id="", role="system", parts=(Text(text="one"),)),
        Message(id="", role="assistant", parts=(Text(text="two"),)),
        Message(id="", role="system", parts=(Text(text="three"),)),
    )
    lowered = lower(Request(messages=messages, system="zero"))

    assert [(raw["type"], raw["data"]["content"]) for raw in lowered] == [
        ("system", "zero"),
        ("system", "one"),
        ("human", OPENING),
        ("ai", "two"),
        ("human", "<system>\nthree\n</system>"),
    ]
    assert problems(lowered) == []


def test_calls_that_could_not_be_read_are_sent_as_calls() -> None:
    """Their results would have no call otherwise; chunks are sent as messages."""
    raws = [
        message("human", "go"),
        message("AIMessageChunk", "", invalid_tool_calls=[BROKEN], tool_call_chunks=[{"index": 0}]),
        answered("b", "broken JSON", status="error"),
    ]
    lowered = lower(Request(messages=tuple(decode(raws, place))))

    assert lowered[1] == message("ai", "", tool_calls=[called("b", arguments="{bro")])
    assert problems(lowered) == []


@pytest.mark.parametrize(
    ("media", "block"),
    [
        (Media(kind="image", reference="https://x/a"), {"type": "image", "url": "https://x/a"}),
        (
            Media(kind="file", reference="data:application/pdf;base64,AAAA"),
            {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"},
        ),
        (Media(kind="file", reference="file-1"), {"type": "file", "file_id": "file-1"}),
        (
            Media(kind="image", reference="data:image/png;base64,!"),
            {"type": "text", "text": "[image left out: image/png, 23 characters]"},
        ),
    ],
)
def test_files_of_other_formats_are_sent_as_standard_blocks(media: Media, block: Any) -> None:
    """A note stands for what nobody could read."""
    said = Message(id="", role="user", parts=(Text(text="look"), media))

    assert encode([said]) == [message("human", [TEXT, block])]


def test_a_file_of_the_assistant_is_a_note_if_it_came_from_elsewhere() -> None:
    """No provider takes it from a message of the assistant, unless it made it itself."""
    drawn = Message(id="", role="assistant", parts=(Media(kind="image", reference="https://x/a.png"),))
    (own,) = decode([message("ai", [FILES[2]])], place)
    user = Message(id="", role="user", parts=(Text(text="Draw."),))

    lowered = lower(Request(messages=(user, drawn, own)))

    assert [raw["data"]["content"] for raw in lowered[1:]] == ["[image left out: https://x/a.png]", [FILES[2]]]


def test_recorded_cache_marks_are_not_sent_again() -> None:
    """They are kept in the log alone."""
    mark = {"cachePoint": {"type": "default"}}
    raw = message("human", [mark, TEXT, mark])
    messages = decode([raw], place)

    assert encode(messages) == [raw]
    assert lower(Request(messages=tuple(messages))) == [message("human", [TEXT])]


def test_thinking_of_other_formats_is_left_out() -> None:
    """Only the provider that signed it takes it back."""
    said = Message(id="", role="assistant", parts=(Thinking(text="hm", signature="s"), Text(text="ok")))

    assert encode([said]) == [message("ai", "ok")]


# --- refused ------------------------------------------------------------------------------------------------------


def _valid() -> list[dict[str, Any]]:
    session = foveate.Session(budget=4_000, system="Be kind.")
    session.extend(
        [
            message("human", [TEXT, FILES[0]]),
            message("ai", "Reading.", tool_calls=[called("a", p=1), called("b", p=2)]),
            answered("a", "one"),
            answered("b", "two"),
            message("ai", "Done."),
            message("human", "Thanks."),
        ]
    )
    return lower(session.compile().request)


def _set(index: int, **fields: Any) -> Callable[[list[Any]], Any]:
    return lambda raws: raws[index]["data"].update(fields)


MUTATIONS: dict[str, list[Callable[[list[Any]], Any]]] = {
    "is_a_conversation": [lambda raws: raws.clear()],
    "messages_are_of_a_type": [
        lambda raws: raws[0].update(type="robot"),
        lambda raws: raws[0].update(type=[]),
        lambda raws: raws[0].pop("data"),
        lambda raws: raws.append(7),
    ],
    "content_is_given": [_set(5, content=None), _set(5, content=[{"text": "x"}]), _set(5, content=[7])],
    "nothing_is_blank": [_set(5, content=""), _set(5, content=" "), _set(1, content=[{"type": "text", "text": ""}])],
    "system_comes_first": [lambda raws: raws.append(raws.pop(0))],
    "begins_with_the_user": [lambda raws: raws.pop(1)],
    "calls_are_whole": [
        lambda raws: raws[2]["data"]["tool_calls"][0].pop("name"),
        lambda raws: raws[2]["data"]["tool_calls"][0].update(args="{}"),
        lambda raws: raws[2]["data"]["tool_calls"].append(7),
    ],
    "call_ids_are_unique": [lambda raws: raws[2]["data"]["tool_calls"][1].update(id="a")],
    "only_the_assistant_calls": [_set(6, tool_calls=[called("z")])],
    "calls_are_answered": [
        lambda raws: raws.pop(3),
        lambda raws: raws.insert(3, raws[3]),
        lambda raws: raws.__delitem__(slice(3, None)),
        lambda raws: raws.insert(3, message("human", "wait")),
    ],
    "results_have_calls": [_set(3, tool_call_id="z"), lambda raws: raws.insert(3, message("human", "wait"))],
    "status_is_known": [_set(3, status="odd")],
}


@pytest.mark.parametrize(("rule", "mutate"), [(rule, one) for rule, some in MUTATIONS.items() for one in some])
def test_each_rule_refuses_what_breaks_it(rule: str, mutate: Callable[[list[Any]], Any]) -> None:
    """A compiled request has no problem until it is broken, and then this rule names one."""
    raws = copy.deepcopy(_valid())
    assert problems(raws) == []

    mutate(raws)

    assert [*getattr(langchain_rules, rule)(raws)]
    assert problems(raws)


def test_every_rule_is_broken_once_and_described() -> None:
    """A rule without its counterexample could be one that never refuses anything."""
    rules = {"is_a_conversation", "messages_are_of_a_type", *(rule.__name__ for rule in RULES)}

    assert rules == set(MUTATIONS)
    assert all(f"`{rule}`" in str(langchain_rules.__doc__) for rule in rules)


@given(JSON)
@settings(max_examples=100, deadline=None)
def test_any_json_can_be_checked(payload: Any) -> None:
    """A validator does not stumble over what it has to refuse."""
    assert problems(payload)
    assert problems([{"type": "ai", "data": {"content": payload, "tool_calls": payload}}])
    assert problems([{"type": "tool", "data": {"content": "x", "tool_call_id": payload, "status": payload}}])
