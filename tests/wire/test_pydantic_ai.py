"""pydantic-ai's messages as data: both ways, lowered, and what is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foveate
from foveate import MessageError
from foveate.log.messages import Media, Message, Text, Thinking, ToolCall, ToolResult
from foveate.wire import pydantic_ai_rules
from foveate.wire.format import OPENING, Request
from foveate.wire.pydantic_ai import decode, recognises
from foveate.wire.pydantic_ai_encoding import encode, lower
from foveate.wire.pydantic_ai_rules import RULES, problems


def place(index: int) -> str:
    return f"message {index}"


def request(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kind": "request", "parts": list(parts), **fields}


def response(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kind": "response", "parts": list(parts), **fields}


def asks(content: Any, **fields: Any) -> dict[str, Any]:
    return {"part_kind": "user-prompt", "content": content, **fields}


def says(content: str, **fields: Any) -> dict[str, Any]:
    return {"part_kind": "text", "content": content, **fields}


def calls(id: str, name: str = "read", args: Any = None, **fields: Any) -> dict[str, Any]:
    given = {} if args is None else {"args": args}
    return {"part_kind": "tool-call", "tool_name": name, "tool_call_id": id, **given, **fields}


def returns(id: str, content: Any, name: str = "read", **fields: Any) -> dict[str, Any]:
    return {"part_kind": "tool-return", "tool_name": name, "tool_call_id": id, "content": content, **fields}


IMAGE = {"kind": "image-url", "url": "https://example.org/a.png", "media_type": "image/png", "identifier": "a1"}
BINARY = {"kind": "binary", "data": "_-8=", "media_type": "image/png", "vendor_metadata": None, "identifier": "b2"}
UPLOADED = {"kind": "uploaded-file", "file_id": "file-1", "provider_name": "openai", "media_type": "application/pdf"}
CACHE = {"kind": "cache-point", "ttl": "5m"}


@pytest.mark.parametrize(
    "raw",
    [
        request(asks("hi", timestamp="2026-01-01T00:00:00Z"), instructions="Be brief.", run_id="r1"),
        request({"part_kind": "system-prompt", "content": "Be kind.", "dynamic_ref": "f"}, asks("你好，世界")),
        request(asks(["look", IMAGE, "and", BINARY, UPLOADED])),
        request(asks([IMAGE])),
        request(asks([])),
        request(asks("")),
        request(asks([CACHE, "a", CACHE, CACHE, "b", CACHE])),
        request(asks([{"kind": "text-content", "content": "tagged", "metadata": {"a": 1}}])),
        request(asks([{"kind": "structured-content", "content": "v: 1", "value": {"v": 1}, "tag": "state"}])),
        request(
            asks([{"kind": "audio-url", "url": "https://x/a.mp3"}, {"kind": "video-url", "url": "https://x/a.mp4"}])
        ),
        request(asks([{"kind": "image-url", "url": "data:image/png;base64,AAAA"}])),
        request(returns("a", "out"), returns("b", {"x": [1, 2.5, None]}), asks("go on"), state="interrupted"),
        request(returns("a", None), returns("b", []), returns("c", [1, "two"]), returns("d", 0), returns("e", False)),
        request(returns("a", ["see", IMAGE, "and", BINARY], content_file_digests=["d1"])),
        request(returns("a", [IMAGE, {"not": "a file"}]), returns("b", BINARY), returns("c", [BINARY, IMAGE])),
        request(returns("a", [{"kind": "binary", "data": "no base64!"}, {"kind": "image-url"}])),
        request(returns("a", "no", outcome="failed"), returns("b", "x", outcome="denied", metadata={"k": 1})),
        request({"part_kind": "retry-prompt", "content": "again", "tool_name": "read", "tool_call_id": "a"}),
        request({"part_kind": "retry-prompt", "content": [{"type": "missing", "loc": ["x"]}]}),
        request({"part_kind": "retry-feedback", "content": "again", "retry": {"cause": "model_retry"}}),
        request({"part_kind": "compaction", "content": "What was said."}, asks("and now?")),
        request({"part_kind": "instruction-delta", "id": "agent", "content": "x"}, asks("a")),
        request(
            asks("a"), {"part_kind": "model-settings-delta", "settings": {}}, {"part_kind": "tool-availability-delta"}
        ),
        request({"part_kind": "instruction-baseline", "instructions": []}),
        request({"part_kind": "some-future-part", "content": "words", "more": 1}),
        request({"part_kind": "some-future-part", "value": 1}),
        request(),
        response(
            says("ok", id="t1", provider_name="openai"), model_name="m", usage={"input_tokens": 3}, finish_reason="stop"
        ),
        response(
            {"part_kind": "thinking", "content": "hm", "signature": "s", "provider_name": "anthropic"}, says("ok")
        ),
        response({"part_kind": "thinking", "content": "hm"}, says("ok")),
        response(
            calls("a", args={"b": 1, "名": "值"}), calls("b", args='{"b": 1}'), calls("c"), calls("d", args="{bro")
        ),
        response(says("one"), calls("a", args={}), says("two")),
        response({"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {"q": 1}, "tool_call_id": "n"}),
        response({"part_kind": "builtin-tool-return", "tool_name": "web_search", "content": {}, "tool_call_id": "n"}),
        response({"part_kind": "file", "content": BINARY, "id": "f"}),
        response({"part_kind": "compaction", "provider_name": "openai", "provider_details": {"encrypted": "x"}}),
        response({"part_kind": "speech", "speaker": "assistant", "transcript": "Hello."}),
        response({"part_kind": "speech", "speaker": "assistant", "audio": BINARY}),
        response(),
    ],
)
def test_what_came_in_goes_out(raw: dict[str, Any]) -> None:
    """Unknown parts and fields included."""
    assert encode(decode([raw], place)) == [raw]
    assert encode(decode([raw, raw], place)) == [raw, raw], "requests in a row stay apart"


def test_a_request_is_a_message_for_each_part() -> None:
    """System prompt, results and prompt are told apart; a response is one message, in its own order."""
    raws = [
        request({"part_kind": "system-prompt", "content": "Be kind."}, asks(["look", BINARY])),
        response({"part_kind": "thinking", "content": "hm", "signature": "s"}, says("ok"), calls("a", args={"p": "x"})),
        request(returns("a", {"x": 1}, outcome="failed"), asks("go on")),
    ]
    system, user, said, result, after = decode(raws, place)

    assert [message.role for message in (system, user, said, result, after)] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert isinstance(user.parts[1], Media)
    assert user.parts[1].reference == "data:image/png;base64,/+8="
    assert [type(part) for part in said.parts] == [Thinking, Text, ToolCall]
    assert said.calls[0].arguments == '{"p": "x"}'
    assert result.text == '{"x":1}'
    assert result.extra["is_error"] is True


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"kind": "request"}, "`parts` must be a list, got NoneType"),
        ({"kind": "other", "parts": []}, "`kind` must be 'request' or 'response', got 'other'"),
        (request({"content": "x"}), "part 0: `part_kind` must be a non-empty string"),
        (request(asks(7)), "part 0: `content` must be text or a list, got int"),
        (request(asks([7])), "part 0, item 0: expected a mapping, got int"),
        (request(asks([{"kind": "binary", "data": "!"}])), "item 0: `data` must be base64"),
        (request(returns("", "x")), "`tool_call_id` must be a non-empty string, got ''"),
        (request(returns("a", "x", name="")), "`tool_name` must be a non-empty string"),
        (request({"part_kind": "system-prompt", "content": 1}), "`content` must be text, got int"),
        (response(calls("a", args=[1])), "`args` must be JSON text or an object, got list"),
        (response({"part_kind": "text"}), "`content` must be text, got NoneType"),
        (response({"part_kind": "file", "content": IMAGE}), "`content` must be of the kind 'binary'"),
        (7, "expected a mapping, got int"),
    ],
)
def test_malformed_messages_are_refused_by_name(raw: Any, said: str) -> None:
    """The error says where, which field, and what it was."""
    with pytest.raises(MessageError, match="message 1") as error:
        decode([request(asks("fine")), raw], place)
    assert said in str(error.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=6,
)
KINDS = st.sampled_from(
    [
        "system-prompt",
        "user-prompt",
        "tool-return",
        "retry-prompt",
        "text",
        "thinking",
        "tool-call",
        "builtin-tool-call",
        "file",
        "compaction",
        "x",
    ]
)
FIELDS = st.sampled_from(
    ["content", "tool_name", "tool_call_id", "args", "kind", "outcome", "signature", "data", "url", "media_type"]
)
PARTS = st.builds(lambda kind, fields: {**fields, "part_kind": kind}, KINDS | JSON, st.dictionaries(FIELDS, JSON))


@given(
    st.lists(
        st.fixed_dictionaries(
            {"kind": st.sampled_from(["request", "response"]), "parts": st.lists(PARTS | JSON, max_size=3)}
        )
        | JSON,
        max_size=3,
    )
)
@settings(max_examples=120, deadline=None)
def test_any_json_is_read_or_refused(raws: list[Any]) -> None:
    """Nothing but a `MessageError` comes out of the worst data; what is read is written again and read the same."""
    try:
        messages = decode(raws, place)
    except MessageError:
        return
    assert decode(encode(messages), place) == messages


# --- lowered ------------------------------------------------------------------------------------------------------


def test_everything_between_two_responses_is_one_request() -> None:
    """Results come first in it, whatever came when."""
    messages = decode(
        [
            request(asks("one")),
            response(calls("a", args={})),
            request(asks("meanwhile"), instructions="old"),
            request(returns("a", "out"), instructions="new"),
            request(asks("two")),
        ],
        place,
    )
    lowered = lower(Request(messages=tuple(messages), system="Be kind."))

    assert [[part["part_kind"] for part in raw["parts"]] for raw in lowered] == [
        ["system-prompt", "user-prompt"],
        ["tool-call"],
        ["tool-return", "user-prompt", "user-prompt"],
    ]
    assert lowered[2]["instructions"] == "new"
    assert problems(lowered) == []


def test_the_user_comes_first() -> None:
    """Providers refuse a conversation that the assistant begins."""
    lowered = lower(Request(messages=(Message(id="", role="assistant", parts=(Text(text="Hello"),)),), system="S"))

    assert [part["content"] for part in lowered[0]["parts"]] == ["S", OPENING]
    assert problems(lowered) == []


def test_marks_are_cache_points_and_recorded_ones_are_not_sent_again() -> None:
    """At most as many as the provider takes."""
    messages = decode([request(asks(["a", CACHE, " ", "b"])), response(says("ok")), request(asks("c"))], place)

    first, _, last = lower(Request(messages=tuple(messages), marks=(1, 2)))

    assert first["parts"][0]["content"] == ["a", "b"]
    assert last["parts"][0]["content"] == ["c", {"kind": "cache-point"}]


def test_a_changed_result_is_sent_as_text() -> None:
    """What described the old content does not go along."""
    (message,) = decode([request(returns("a", {"x": 1}, tool_kind="tool-search", content_file_digests=[]))], place)
    result = message.result
    assert result is not None
    changed = Message(id="", role="tool", parts=(ToolResult(call_id="a", text="[left out]", extra=result.extra),))

    assert encode([changed]) == [request(returns("a", "[left out]"))]


def test_thinking_goes_back_only_where_it_came_from() -> None:
    """Without the name of a provider its signature is worth nothing."""
    unknown = Thinking(text="hm", signature="s")
    known = Thinking(text="hm", signature="s", extra={"@anthropic": {"x": 1}})
    message = Message(id="", role="assistant", parts=(unknown, known, Text(text="ok")))

    (raw,) = encode([message])

    assert raw["parts"] == [
        {"part_kind": "thinking", "content": "hm", "signature": "s", "provider_name": "anthropic"},
        says("ok"),
    ]


@pytest.mark.parametrize(
    ("media", "item"),
    [
        (Media(kind="image", reference="https://x/a"), {"kind": "image-url", "url": "https://x/a", "media_type": None}),
        (
            Media(kind="file", reference="https://x/a", media_type="video/mp4"),
            {"kind": "video-url", "url": "https://x/a", "media_type": "video/mp4"},
        ),
        (
            Media(kind="image", reference="data:image/png;base64,/+8="),
            {"kind": "binary", "data": "_-8=", "media_type": "image/png"},
        ),
        (
            Media(kind="file", reference="file-1", extra={"@openai": {"x": 1}}),
            {"kind": "uploaded-file", "file_id": "file-1", "provider_name": "openai"},
        ),
        (Media(kind="file", reference="file-1"), "[file left out: file-1]"),
        (Media(kind="image", reference="data:image/png;base64,!"), "[image left out: image/png, 23 characters]"),
    ],
)
def test_files_of_other_formats_are_sent_as_what_they_are(media: Media, item: Any) -> None:
    """A note stands for what pydantic-ai cannot name."""
    message = Message(id="", role="user", parts=(Text(text="see"), media))

    assert encode([message]) == [request(asks(["see", item]))]


# --- refused ------------------------------------------------------------------------------------------------------


def _valid() -> list[dict[str, Any]]:
    session = foveate.Session(budget=4_000, system="Be kind.")
    session.extend(
        [
            request(asks(["Read both.", IMAGE])),
            response(says("Reading."), calls("a", args={"p": 1}), calls("b", args={"p": 2})),
            request(returns("a", "one"), returns("b", "two"), asks("Go on.")),
            response(says("Done.")),
            request(asks("Thanks.")),
        ]
    )
    return lower(session.compile().request)


def _set(index: int, **fields: Any) -> Callable[[list[Any]], Any]:
    return lambda raws: raws[index].update(fields)


def _set_part(index: int, part: int, **fields: Any) -> Callable[[list[Any]], Any]:
    return lambda raws: raws[index]["parts"][part].update(fields)


MUTATIONS: dict[str, list[Callable[[list[Any]], Any]]] = {
    "is_a_history": [lambda raws: raws.clear()],
    "messages_are_of_a_kind": [
        _set(0, kind="other"),
        _set(1, parts=[]),
        _set(1, parts=["text"]),
        lambda raws: raws.append(7),
    ],
    "parts_are_of_a_kind": [_set_part(0, 1, part_kind="text"), _set_part(3, 0, part_kind="user-prompt")],
    "parts_are_whole": [
        lambda raws: raws[1]["parts"][1].pop("tool_name"),
        _set_part(2, 0, tool_name=""),
        lambda raws: raws[2]["parts"][0].pop("content"),
        lambda raws: raws[4]["parts"][0].pop("content"),
        _set_part(0, 0, content=7),
    ],
    "nothing_is_blank": [_set_part(3, 0, content=" "), _set_part(4, 0, content=[]), _set_part(4, 0, content=["a", ""])],
    "begins_with_the_user": [lambda raws: raws.pop(0), lambda raws: raws[0]["parts"].pop(1)],
    "requests_are_joined": [lambda raws: raws.pop(3)],
    "call_ids_are_unique": [_set_part(1, 2, tool_call_id="a")],
    "calls_are_answered": [
        lambda raws: raws[2]["parts"].pop(0),
        lambda raws: raws[2]["parts"].insert(0, raws[2]["parts"][0]),
        lambda raws: raws.__delitem__(slice(2, None)),
    ],
    "results_have_calls": [_set_part(2, 0, tool_call_id="z"), lambda raws: raws[1]["parts"].pop(1)],
    "results_come_first": [lambda raws: raws[2]["parts"].reverse()],
    "cache_points_follow_content": [_set_part(4, 0, content=[CACHE, "a"])],
}


@pytest.mark.parametrize(("rule", "mutate"), [(rule, one) for rule, some in MUTATIONS.items() for one in some])
def test_each_rule_refuses_what_breaks_it(rule: str, mutate: Callable[[list[Any]], Any]) -> None:
    """A compiled request has no problem until it is broken, and then this rule names one."""
    raws = copy.deepcopy(_valid())
    assert problems(raws) == []

    mutate(raws)

    assert [*getattr(pydantic_ai_rules, rule)(raws)]
    assert problems(raws)


def test_every_rule_is_broken_once_and_described() -> None:
    """A rule without its counterexample could be one that never refuses anything."""
    rules = {"is_a_history", "messages_are_of_a_kind", *(rule.__name__ for rule in RULES)}

    assert rules == set(MUTATIONS)
    assert all(f"`{rule}`" in str(pydantic_ai_rules.__doc__) for rule in rules)


@given(JSON)
@settings(max_examples=100, deadline=None)
def test_any_json_can_be_checked(payload: Any) -> None:
    """A validator does not stumble over what it has to refuse."""
    assert problems(payload)
    assert problems([{"kind": "request", "parts": [{"part_kind": payload, "content": payload}]}]) is not None


def test_recognition_needs_kind_and_parts() -> None:
    """Nothing of another format is taken for pydantic-ai's."""
    assert recognises(request())
    assert not any(recognises(raw) for raw in (None, [], {"kind": "request"}, {"role": "user", "parts": []}))


def test_a_system_message_with_pictures_says_that_it_is_no_users() -> None:
    """Only prompts of the user have pictures; a call that 0.1 recorded is shown as it was sent."""
    picture = Media(kind="image", reference="https://x.org/y.png")
    shown = Message(id="", role="system", parts=(Text(text="Look."), picture))

    for wire, words in ((2, "<system>\nLook.\n</system>"), (1, "Look.")):
        (raw,) = lower(Request(messages=(shown,), wire=wire))
        assert raw["parts"][0]["part_kind"] == "user-prompt"
        assert raw["parts"][0]["content"][0] == words
