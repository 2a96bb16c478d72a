"""Gemini CLI sessions as they were recorded."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.errors import LogError
from foveate.importers.detection import IMPORTERS, head_of
from foveate.importers.entries import Usage, model_of, usage_of
from foveate.importers.gemini_cli import GEMINI_CLI, recognises
from foveate.importers.reading import Recorded
from foveate.log.messages import Media, Text, Thinking, ToolCall
from tests.importers.logs import (
    ANYTHING,
    NEEDS_DATA,
    ODD,
    deep,
    entries_in,
    flipped,
    log_of,
    mutated,
    oddities,
    openings,
    paired,
    recorded,
    spoken,
    survives,
    truncated,
)

FILES = recorded("gemini_cli/*.json")


def session(*messages: Any, **fields: Any) -> bytes:
    head = {"sessionId": "id-1", "projectHash": "abc", "startTime": "2025-10-27T19:56:01.701Z"}
    return json.dumps({**head, "messages": list(messages), **fields}).encode()


def user(content: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "u", "timestamp": "2025-10-27T19:56:01.701Z", "type": "user", "content": content, **fields}


def says(text: str, *calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    tokens = {"input": 100, "output": 5, "cached": 40, "thoughts": 7, "tool": 3, "total": 115}
    body = {"id": "g", "timestamp": "2025-10-27T19:56:04Z", "type": "gemini", "content": text, "tokens": tokens}
    return {**body, "model": "gemini-2.5-pro", "toolCalls": list(calls), **fields}


def call(id: str, response: Any, status: str = "success", **fields: Any) -> dict[str, Any]:
    result = [{"functionResponse": {"id": id, "name": "read_file", "response": response}}]
    return {"id": id, "name": "read_file", "args": {"path": "a.py"}, "result": result, "status": status, **fields}


def entries_of(*messages: Any, path: str | None = "session-1.json") -> list[Any]:
    return list(GEMINI_CLI.read(log_of(session(*messages), path)))


def test_a_response_is_thoughts_text_and_calls_and_its_results_follow() -> None:
    thought = {"subject": "Reading", "description": "I look at it."}
    entries = entries_of(
        user("look"),
        says("I will read it.", call("c1", {"output": "x = 1"}), call("c2", {"output": "y"}), thoughts=[thought]),
    )

    messages = spoken(entries)
    assert [message.role for message in messages] == ["user", "assistant", "tool", "tool"]
    assert messages[1].parts[:2] == (Thinking(text="Reading\nI look at it."), Text(text="I will read it."))
    assert messages[1].parts[2] == ToolCall(id="c1", name="read_file", arguments='{"path": "a.py"}')
    assert messages[2].text == "x = 1"
    assert usage_of(messages[1]) == Usage(input_tokens=103, cached_tokens=40, output_tokens=12)
    assert model_of(messages[1]) == "gemini-2.5-pro"


def test_the_status_of_a_call_says_how_it_ended() -> None:
    entries = entries_of(
        says(
            "",
            call("c1", {"error": "no such file"}, "error"),
            call("c2", {"error": "[Operation Cancelled]"}, "cancelled"),
            call("c3", {"output": "Exit Code: 1"}),
        )
    )

    _, failed, cancelled, ran = spoken(entries)
    assert (failed.extra, failed.text) == ({"is_error": True}, "no such file")
    assert (cancelled.extra, cancelled.meta.outcome) == ({}, "interrupted")
    assert (ran.extra, ran.meta.outcome) == ({}, None)


def test_a_call_that_never_returned_has_no_result() -> None:
    entries = entries_of(says("", {"id": "c1", "name": "shell", "args": {}, "status": "executing"}))

    assert [message.role for message in spoken(entries)] == ["assistant"]


def test_results_of_any_shape_can_be_read() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    shown = call("c1", {})
    more = {"output": "one", "rows": [1]}
    shown["result"] = [{"functionResponse": {"response": more}}, {"text": "and"}, picture, "more", {"odd": 1}]
    result = spoken(entries_of(says("", shown)))[1].result

    assert result is not None
    assert result.text == '{"output": "one", "rows": [1]}\nand\nmore\n{"odd": 1}'
    assert result.media == (Media(kind="image", reference="data:image/png;base64,AAAA", media_type="image/png"),)


def test_notices_of_the_program_are_no_messages() -> None:
    entries = entries_of(
        user("go"), {"type": "info", "content": "Update available"}, {"type": "error", "content": "429"}
    )

    assert len(spoken(entries)) == 1
    assert oddities(entries, "notice_info")[0].text == "Update available"
    assert oddities(entries, "notice_error")[0].text == "429"


def test_a_session_is_called_like_its_file_or_by_its_id() -> None:
    assert openings(entries_of(path="mine.json"))[0].session == "mine"
    assert openings(entries_of(path="session-id-1.json"))[0].session == "id-1"
    assert openings(entries_of(path=None))[0].session == "id-1"
    assert openings(entries_of())[0].tags == {"project": "abc"}


def test_a_model_is_known_from_its_first_response_on() -> None:
    entries = entries_of(user("go"), says("a"), says("b"), says("c", model="gemini-2.5-flash"))

    assert [opening.model for opening in openings(entries)] == [None, "gemini-2.5-pro", "gemini-2.5-flash"]


def test_a_broken_message_is_refused_or_skipped() -> None:
    content = session(user("go"), {"type": "what"}, says("ok", {"id": "c1"}))

    with pytest.raises(LogError, match=r"s\.json: message 1: unknown `type` 'what'"):
        list(GEMINI_CLI.read(log_of(content, "s.json")))
    log = log_of(content, "s.json", lenient=True)
    assert [message.text for message in spoken(GEMINI_CLI.read(log))] == ["go", "ok"]
    assert [skipped.reason.partition(":")[0] for skipped in log.skipped] == ["message 1", "message 2, call 0"]


def test_only_sessions_of_gemini_cli_are_recognised() -> None:
    assert recognises(head_of(log_of(session(user("go")), "s.json")))
    assert not recognises(head_of(log_of(b'{"sessionId": "x", "messages": []}', "s.json")))
    assert not recognises(head_of(log_of(b"[]", "s.json")))


@NEEDS_DATA
def test_there_are_recorded_sessions() -> None:
    assert len(FILES) == 6


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[-8:])
def test_recorded_sessions_hold_what_a_plain_count_finds(path: Path) -> None:
    raws = json.loads(path.read_text())["messages"]
    answers = [raw for raw in raws if raw["type"] == "gemini"]
    calls = [called for raw in answers for called in raw.get("toolCalls", [])]

    entries = entries_in(GEMINI_CLI, path)
    messages = spoken(entries)
    roles = [message.role for message in messages]
    assert roles.count("user") == sum(raw["type"] == "user" for raw in raws)
    assert roles.count("assistant") == len(answers)
    assert roles.count("tool") == paired(messages) == sum("result" in called for called in calls)
    assert sum(len(message.calls) for message in messages) == len(calls)
    failed = sum(called["status"] == "error" for called in calls)
    assert sum(message.extra.get("is_error") is True for message in messages) == failed
    counted = [one for message in messages if (one := usage_of(message)) is not None]
    assert sum(one.input_tokens for one in counted) == sum(raw["tokens"]["input"] for raw in answers)
    assert sum(one.cached_tokens or 0 for one in counted) == sum(raw["tokens"]["cached"] for raw in answers)
    paid = sum(raw["tokens"]["output"] + raw["tokens"]["thoughts"] for raw in answers)
    assert sum(one.output_tokens or 0 for one in counted) == paid
    assert len({entry.session for entry in entries}) == 1
    assert entries_in(GEMINI_CLI, path) == entries


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[-8:])
def test_recorded_sessions_are_of_no_other_program(path: Path) -> None:
    with path.open("rb") as file:
        head = head_of(Recorded(name=path.name, file=file, path=path))
    assert [importer.name for importer in IMPORTERS.values() if importer.recognises(head)] == ["gemini-cli"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[-8:])
def test_broken_files_are_refused_or_skipped(path: Path) -> None:
    random = Random(4)
    content = path.read_bytes()
    for broken in [*truncated(content, random, 10), *flipped(content, random, 20)]:
        survives(GEMINI_CLI, broken, "s.json")
    document = json.loads(content)
    for _ in range(60):
        survives(GEMINI_CLI, json.dumps(mutated(document, random)).encode(), "s.json")


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_no_value_anywhere_breaks_the_reading(value: Any) -> None:
    made = call("c1", {"output": "x"})
    for key in (*made, "timestamp"):
        survives(GEMINI_CLI, session(says("x", {**made, key: value})), "s.json")
    answer = says("x", made, thoughts=[{"subject": "a", "description": "b"}])
    for key in answer:
        survives(GEMINI_CLI, session({**answer, key: value}), "s.json")
    for key in ("messages", "sessionId", "projectHash"):
        survives(GEMINI_CLI, session(user("x"), **{key: value}), "s.json")
    survives(GEMINI_CLI, session(value, user(value), user([value])), "s.json")


MESSAGE = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "gemini", "info"]), "content": ANYTHING},
    optional=dict.fromkeys(("toolCalls", "thoughts", "tokens", "model", "timestamp", "id"), ANYTHING),
)


@given(st.lists(MESSAGE | ANYTHING, max_size=4))
@settings(max_examples=150, deadline=None)
def test_any_messages_are_read_refused_or_skipped(messages: list[Any]) -> None:
    survives(GEMINI_CLI, session(*messages), "s.json")


@pytest.mark.parametrize("depth", [100, 900, 5_000])
def test_deep_nesting_is_refused_or_skipped(depth: int) -> None:
    for message in (
        user("HERE"),
        says("x", call("c1", {"deep": "HERE"})),
        says("x", {**call("c1", {}), "args": "HERE"}),
    ):
        survives(GEMINI_CLI, session(message).replace(b'"HERE"', deep(depth).encode()), "s.json")
