"""Logs of calls through LiteLLM as they were recorded."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from foveate.errors import LogError
from foveate.importers.detection import importer_for
from foveate.importers.entries import Usage, model_of, usage_of
from foveate.importers.litellm import LITELLM
from foveate.importers.recording import recordings
from foveate.log.messages import Thinking
from tests.importers.logs import (
    NEEDS_DATA,
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

FILES = recorded("litellm_logs/litellm*.json")
TOOLS = [{"type": "function", "function": {"name": "bash"}}]
SYSTEM = {"role": "system", "content": "Be kind."}


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def says(content: Any, *ids: str) -> dict[str, Any]:
    calls = [{"id": one, "type": "function", "function": {"name": "bash", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


def result(id: str, content: str = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "name": "bash", "content": content}


def call(answer: dict[str, Any], *messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    usage = {
        "prompt_tokens": 10 * len(messages),
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 3},
        "cache_creation_input_tokens": 2,
    }
    body = {"id": "r", "model": "m-1", "choices": [{"message": answer, "index": 0}], "usage": usage}
    known = {"kwargs": {"tools": TOOLS}, "timestamp": 1757015025.9, "latency_sec": 4.5, "cost": 0.25}
    return {"messages": [SYSTEM, *messages], "response": body, **known, **fields}


def read(*calls: dict[str, Any]) -> list[Any]:
    return list(LITELLM.read(log_of(lines(*calls), "calls.jsonl")))


@NEEDS_DATA
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[-30:])
def test_nothing_of_a_recorded_call_is_lost(path: Path) -> None:
    document = json.loads(path.read_text())
    raws = document.get("raw_messages") or document["messages"]
    answer = document["response"]["choices"][0]["message"]
    (found,) = recordings(entries_in(LITELLM, path))
    assert found.session == path.stem
    assert found.tools == tuple(document["kwargs"]["tools"])
    roles = Counter(raw["role"] for raw in raws)
    assert Counter(message.role for message in found.messages) == roles - Counter(["system"]) + Counter(["assistant"])
    calls = [one["id"] for raw in [*raws, answer] for one in raw.get("tool_calls") or ()]
    assert [one.id for message in found.messages for one in message.calls] == calls
    assert paired(found.messages) == roles["tool"]
    usage = document["response"]["usage"]
    counted = usage_of(found.messages[-1])
    assert counted is not None
    assert (counted.input_tokens, counted.cached_tokens) == (
        usage["prompt_tokens"],
        usage["prompt_tokens_details"]["cached_tokens"],
    )
    assert found.times[-1] == document["timestamp"]


@NEEDS_DATA
def test_recorded_calls_of_a_conversation_are_one_session() -> None:
    """Together they hold each message once, and each call's usage."""
    documents = [json.loads(path.read_text()) for path in FILES]
    random = Random(3)
    # Conversations may run at the same time; only the order within each counts.
    mixed = [*documents]
    while [one["timestamp"] for one in mixed] == [one["timestamp"] for one in documents]:
        names = [document["response"]["model"] for document in documents]
        random.shuffle(names)
        left = {name: iter([one for one in documents if one["response"]["model"] == name]) for name in set(names)}
        mixed = [next(left[name]) for name in names]
    for order in (documents, mixed):
        found = recordings(read(*order))
        assert len(found) == 2
        for one in found:
            calls = [document for document in documents if document["response"]["model"] == one.model]
            last = calls[-1].get("raw_messages") or calls[-1]["messages"]
            assert len(one.messages) == len(last)  # the system prompt is none of them, the last response is
            usages = [usage_of(message) for message in one.messages if message.role == "assistant"]
            assert [usage.input_tokens for usage in usages if usage] == [
                document["response"]["usage"]["prompt_tokens"] for document in calls
            ]
            assert paired(one.messages) == sum(raw["role"] == "tool" for raw in last)


@NEEDS_DATA
def test_reading_twice_gives_the_same() -> None:
    assert all(entries_in(LITELLM, path) == entries_in(LITELLM, path) for path in FILES)


def test_a_call_is_a_session_with_its_response() -> None:
    entries = read(call(says("Hi.", "c1"), user("Go.")))
    (opening,) = openings(entries)
    assert (opening.session, opening.system, opening.tools, opening.model) == ("calls", "Be kind.", tuple(TOOLS), "m-1")
    asked, response = spoken(entries)
    assert asked.text == "Go."
    assert usage_of(response) == Usage(input_tokens=10, cached_tokens=3, written_tokens=2, output_tokens=5)
    assert model_of(response) == "m-1"
    assert (response.meta.extra["cost"], response.meta.extra["seconds"]) == (0.25, 4.5)


def test_calls_that_continue_each_other_are_one_session() -> None:
    """Clients send responses back with other text and without what only responses say."""
    first = {**says(None, "c1"), "function_call": None, "provider_specific_fields": {"x": 1}}
    entries = read(
        call(first, user("Go.")),
        call(says("Done."), user("Go."), says("", "c1"), result("c1")),
        call(says("Bye."), user("Go."), says("", "c1"), result("c1"), says(" Done.\n"), user("Thanks.")),
    )
    assert [message.role for message in spoken(entries)] == [
        *("user", "assistant", "tool", "assistant", "user", "assistant")
    ]
    assert {entry.session for entry in entries} == {"calls"}
    # What is noted is the form it came in, and nothing that only responses say.
    assert spoken(entries)[1].extra == {"@openai": {"form": "absent"}}
    assert [message.text for message in spoken(entries)[3:]] == ["Done.", "Thanks.", "Bye."]


def test_other_conversations_and_branches_are_sessions_of_their_own() -> None:
    """Each goes on where its own last response was."""
    one, other = says(None, "a"), says(None, "b")
    entries = read(
        call(one, user("Go.")),
        call(other, user("Go.")),
        call(says("B."), user("Go."), other, result("b")),
        call(says("A."), user("Go."), one, result("a")),
        call(says("Again."), user("Go."), one, result("a")),
    )
    found = {one.session: [message.text for message in one.messages] for one in recordings(entries)}
    assert found == {
        "calls": ["Go.", "", "ok", "A."],
        "calls/2": ["Go.", "", "ok", "B."],
        "calls/3": ["Go.", "", "ok", "Again."],
    }


def test_a_failed_call_is_gone_on_from() -> None:
    """A retry is no second conversation."""
    failed = call(says(""), user("Go."), response={"error": "overloaded"}, call_type="completion")
    entries = read(failed, call(says("Hi."), user("Go.")))
    assert [message.text for message in spoken(entries)] == ["Go.", "Hi."]
    assert {entry.session for entry in entries} == {"calls"}


def test_spend_logs_hold_json_text() -> None:
    """Records of callbacks and of the proxy's tables, with counts beside the response."""
    asked = call(says("Hi."), user("Go."))
    body = {"choices": [{"message": says("Hi.")}]}
    row = {
        "request_id": "r",
        "call_type": "acompletion",
        "spend": 0.5,
        "prompt_tokens": 7,
        "completion_tokens": 2,
        "model": "gpt-x",
        "startTime": "2025-09-04T19:43:45Z",
        "messages": json.dumps(asked["messages"]),
        "response": json.dumps(body),
    }
    log = log_of(lines(row, {**row, "messages": "{}"}), "spend.jsonl", lenient=True)
    assert importer_for(log).name == "litellm"
    (found,) = recordings(LITELLM.read(log))
    assert found.model == "gpt-x"
    assert usage_of(found.messages[1]) == Usage(input_tokens=7, output_tokens=2)
    assert found.messages[1].meta.extra["cost"] == 0.5
    assert found.times[1] == 1757015025
    assert [skipped.line for skipped in log.skipped] == [2]


def test_reasoning_beside_a_response_is_kept() -> None:
    answer = {**says("Hi."), "reasoning_content": "Hm.", "thinking_blocks": None}
    assert isinstance(spoken(read(call(answer, user("Go."))))[1].parts[0], Thinking)


def test_a_broken_call_is_named_or_skipped() -> None:
    content = lines(call(says("Hi."), user("Go.")), call(says("Hi."), {"role": "oracle"}), {"messages": []})
    with pytest.raises(LogError, match=r"calls\.jsonl, line 2: message 1: unknown `role` 'oracle'"):
        list(LITELLM.read(log_of(content, "calls.jsonl")))
    log = log_of(content, "calls.jsonl", lenient=True)
    list(LITELLM.read(log))
    assert [skipped.line for skipped in log.skipped] == [2, 3]


def test_whatever_is_in_the_file_it_is_read_or_refused() -> None:
    random = Random(7)
    whole = [
        call(says(None, "c1"), user("Go.")),
        call(says("Done."), user("Go."), says("", "c1"), result("c1"), raw_messages=[user("Go.")]),
    ]
    for _ in range(300):
        survives(LITELLM, lines(*(mutated(one, random, 0.1) for one in whole)), "a.jsonl")
        survives(LITELLM, json.dumps(mutated(whole[1], random, 0.1), indent=1).encode(), "a.json")
    content = FILES[0].read_bytes() if FILES else json.dumps(whole[1]).encode()
    for broken in (*truncated(content, random, 15), *flipped(content, random, 15)):
        survives(LITELLM, broken, "a.json")
