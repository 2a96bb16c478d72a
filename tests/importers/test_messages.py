"""Plain messages and requests, in any wire format."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.errors import LogError
from foveate.importers.detection import importer_for
from foveate.importers.entries import Usage, usage_of
from foveate.importers.messages import MESSAGES
from foveate.importers.recording import recordings
from foveate.wire.formats import FORMATS
from tests.importers.logs import (
    NEEDS_DATA,
    deep,
    entries_in,
    flipped,
    lines,
    log_of,
    mutated,
    openings,
    paired,
    recorded,
    spoken,
    survives,
    truncated,
)

FILES = recorded("litellm_logs/*llm-message.json")
OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "看 a.py"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "x"},
    {"role": "assistant", "content": "Done."},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "看 a.py"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
]
RESPONSES: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "看 a.py"}]},
    {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "x"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
]
GEMINI: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "看 a.py"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "x"}}}]},
    {"role": "model", "parts": [{"text": "Done."}]},
]
TOOL = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}
REQUESTS: dict[str, dict[str, Any]] = {
    "openai": {"messages": OPENAI, "model": "m-1", "tools": [{"type": "function", "function": TOOL}]},
    "anthropic": {
        "messages": ANTHROPIC,
        "system": [{"type": "text", "text": "Be kind."}],
        "model": "m-1",
        "tools": [TOOL],
    },
    "openai-responses": {"input": RESPONSES, "instructions": "Be kind.", "model": "m-1", "tools": [TOOL]},
    "gemini": {
        "contents": GEMINI,
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "model": "m-1",
        "tools": [{"functionDeclarations": [TOOL]}],
    },
}
ANSWERS: dict[str, dict[str, Any]] = {
    "openai": {
        "choices": [{"message": {"role": "assistant", "content": "Bye.", "refusal": None}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 6}},
    },
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Bye."}],
        "usage": {
            "input_tokens": 3,
            "cache_read_input_tokens": 6,
            "cache_creation_input_tokens": 1,
            "output_tokens": 2,
        },
    },
    "openai-responses": {
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Bye."}]},
        ],
        "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 6}, "output_tokens": 2},
    },
    "gemini": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Bye."}]}}],
        "usageMetadata": {"promptTokenCount": 10, "cachedContentTokenCount": 6, "candidatesTokenCount": 2},
    },
}


def read(content: bytes, name: str = "log.json") -> list[Any]:
    log = log_of(content, name)
    assert importer_for(log).name == "messages"
    return list(MESSAGES.read(log))


@NEEDS_DATA
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_of_a_recorded_list_is_lost(path: Path) -> None:
    raws = json.loads(path.read_text())
    (found,) = recordings(entries_in(MESSAGES, path))
    roles = Counter(raw["role"] for raw in raws)
    assert found.system == raws[0]["content"]
    assert Counter(message.role for message in found.messages) == roles - Counter(["system"])
    assert [call.id for message in found.messages for call in message.calls] == [
        call["id"] for raw in raws for call in raw.get("tool_calls") or ()
    ]
    assert paired(found.messages) == roles["tool"]
    assert entries_in(MESSAGES, path) == entries_in(MESSAGES, path)


@pytest.mark.parametrize("format", list(REQUESTS))
def test_requests_of_any_provider_are_sessions(format: str) -> None:
    """System prompt, tools, model and messages come out the same, however they were written; so does the response."""
    entries = read(json.dumps({**REQUESTS[format], "response": ANSWERS[format]}, indent=1).encode())
    (opening,) = openings(entries)
    assert (opening.session, opening.system, opening.model) == ("log", "Be kind.", "m-1")
    assert len(opening.tools) == 1
    messages = spoken(entries)
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant", "assistant"]
    assert messages[0].text == "看 a.py"
    assert messages[4].text == "Bye."
    assert paired(messages) == 1
    usage = usage_of(messages[4])
    assert usage is not None
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (10, 6, 2)


@pytest.mark.parametrize("format", list(REQUESTS))
def test_lists_and_lines_are_the_same(format: str) -> None:
    request = REQUESTS[format]
    raws = next(request[key] for key in ("messages", "input", "contents") if key in request)
    listed = spoken(read(json.dumps(raws).encode()))
    assert [message.role for message in listed] == ["user", "assistant", "tool", "assistant"]
    # A line alone may be of several formats, and is noted as each; in its own it is the same.
    lined = spoken(read(lines(*raws), "log.jsonl"))
    assert [(one.role, one.text, one.calls, one.meta) for one in lined] == [
        (one.role, one.text, one.calls, one.meta) for one in listed
    ]
    assert FORMATS[format].encode(lined) == FORMATS[format].encode(listed)


@pytest.mark.parametrize(
    "raws",
    [
        [
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi."}]},
            {"kind": "response", "parts": [{"part_kind": "text", "content": "Hello."}]},
        ],
        [
            {"type": "human", "data": {"content": "Hi.", "type": "human"}},
            {"type": "ai", "data": {"content": "Hello.", "type": "ai"}},
        ],
    ],
    ids=["pydantic-ai", "langchain"],
)
def test_messages_of_frameworks_are_read(raws: list[Any]) -> None:
    for content, name in ((json.dumps(raws).encode(), "log.json"), (lines(*raws), "log.jsonl")):
        assert [(message.role, message.text) for message in spoken(read(content, name))] == [
            ("user", "Hi."),
            ("assistant", "Hello."),
        ]


def test_a_leading_system_message_is_the_system_prompt() -> None:
    """Others stay where they were said."""
    late = {"role": "system", "content": "Be brief."}
    entries = read(json.dumps([*OPENAI, late]).encode())
    assert openings(entries)[0].system == "Be kind."
    assert [message.role for message in spoken(entries)][-1] == "system"


@pytest.mark.parametrize(
    "tool", [3, None, "look", {}, {"function": 1}, {"type": "function", "function": {}}, {"name": ""}, {"name": 3}]
)
def test_a_tool_that_defines_nothing_is_named_or_skipped(tool: Any) -> None:
    """It is never found out later, by somebody who looks for its name."""
    sound = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    content = json.dumps({"messages": OPENAI[:2], "tools": [tool, sound]}).encode()
    with pytest.raises(LogError, match="a tool needs a `name`"):
        list(MESSAGES.read(log_of(content, "a.json")))
    log = log_of(content, "a.json", lenient=True)
    assert openings(MESSAGES.read(log))[0].tools == (sound,)
    assert len(log.skipped) == 1


def test_requests_on_lines_are_sessions_by_their_number() -> None:
    """The first is called like the file: whether others follow may not be known yet."""
    entries = read(lines(REQUESTS["openai"], {"messages": OPENAI[:2]}), "train.jsonl")
    assert [opening.session for opening in openings(entries)] == ["train", "train/2"]
    assert len(spoken(entries, "train/2")) == 1
    assert openings(read(lines(REQUESTS["openai"]), "one.jsonl"))[0].session == "one"


def test_a_request_may_be_one_text() -> None:
    (message,) = spoken(read(json.dumps({"model": "m", "input": "Hi."}).encode()))
    assert (message.role, message.text) == ("user", "Hi.")


def test_a_broken_message_is_named_or_skipped() -> None:
    content = lines(OPENAI[1], {"role": "user", "content": 7}, OPENAI[4], [])
    with pytest.raises(LogError, match=r"a\.jsonl, line 2: message 0: `content` must be text"):
        list(MESSAGES.read(log_of(content, "a.jsonl")))
    log = log_of(content, "a.jsonl", lenient=True)
    assert len(spoken(MESSAGES.read(log))) == 2
    assert sorted(skipped.line for skipped in log.skipped) == [2, 4]
    listed = log_of(json.dumps([OPENAI[1], {"role": "user", "content": 7}, OPENAI[4]]).encode(), "a.json", lenient=True)
    assert len(spoken(MESSAGES.read(listed))) == 2
    assert len(listed.skipped) == 1


def test_thirty_thousand_messages_stream() -> None:
    """Lines are handed on as they are read."""
    content = lines(OPENAI[0]) + lines(OPENAI[1], OPENAI[4]) * 15_000
    entries = MESSAGES.read(log_of(content, "a.jsonl"))
    assert next(entries) == openings(read(lines(OPENAI[0], OPENAI[1]), "a.jsonl"))[0]
    assert len(spoken(entries)) == 30_000


def test_whatever_is_in_the_file_it_is_read_or_refused() -> None:
    random = Random(7)
    for whole in REQUESTS.values():
        for _ in range(100):
            survives(MESSAGES, json.dumps(mutated(whole, random, 0.1)).encode(), "a.json")
    for raws in (OPENAI, ANTHROPIC, RESPONSES, GEMINI):
        for _ in range(100):
            survives(MESSAGES, lines(*(mutated(raw, random, 0.1) for raw in raws)), "a.jsonl")
    content = FILES[0].read_bytes() if FILES else json.dumps(OPENAI).encode()
    for broken in (*truncated(content, random, 15), *flipped(content, random, 15)):
        survives(MESSAGES, broken, "a.json")
    survives(MESSAGES, b'[{"role": "user", "content": ' + deep(100_000).encode() + b"}]", "a.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "messages", "parts", "type", "input", "tool_calls", "response", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(json_values)
def test_any_json_is_read_or_refused(value: object) -> None:
    survives(MESSAGES, json.dumps(value).encode(), "a.json")


def test_a_usage_without_what_was_sent_is_none() -> None:
    answer = {**ANSWERS["openai"], "usage": {"completion_tokens": 2}}
    response = spoken(read(json.dumps({**REQUESTS["openai"], "response": answer}).encode()))[-1]
    assert usage_of(response) is None
    whole = {**ANSWERS["openai"], "usage": {"prompt_tokens": 10**400}}
    assert usage_of(spoken(read(json.dumps({**REQUESTS["openai"], "response": whole}).encode()))[-1]) is None
    assert usage_of(
        spoken(read(json.dumps({**REQUESTS["openai"], "response": ANSWERS["openai"]}).encode()))[-1]
    ) == Usage(input_tokens=10, cached_tokens=6, output_tokens=2)
