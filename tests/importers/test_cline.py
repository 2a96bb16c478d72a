"""Cline sessions and tasks as they were recorded."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.errors import LogError
from foveate.importers.cline import CLINE, recognises
from foveate.importers.detection import IMPORTERS, head_of, importer_for
from foveate.importers.entries import Usage, model_of, usage_of
from foveate.importers.reading import Recorded
from tests.importers.logs import (
    ANYTHING,
    NEEDS_DATA,
    ODD,
    compactions,
    deep,
    entries_in,
    flipped,
    is_program,
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

FILES = recorded("cline/*.json")
HISTORY = "tasks/1784/api_conversation_history.json"


def session(*messages: Any, **fields: Any) -> bytes:
    head = {"version": 1, "agent": "lead", "sessionId": "id-1", "system_prompt": "You are Cline."}
    return json.dumps({**head, "messages": list(messages), **fields}).encode()


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(*blocks: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "u", "role": "user", "content": list(blocks), "ts": 1783376868634, **fields}


def says(*blocks: Any, **fields: Any) -> dict[str, Any]:
    metrics = {"inputTokens": 100, "outputTokens": 7, "cacheReadTokens": 60, "cacheWriteTokens": 9, "cost": 0.1}
    known = {"modelInfo": {"id": "anthropic/claude-opus"}, "metrics": metrics}
    return {"id": "a", "role": "assistant", "content": list(blocks), "ts": 1783376873493, **known, **fields}


def call(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "editor", "input": {"path": "a.py"}}


def result(id: str, content: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "name": "editor", "content": content}


def entries_of(*messages: Any, path: str | None = "id-1.messages.json") -> list[Any]:
    return list(CLINE.read(log_of(session(*messages), path)))


def test_messages_come_with_what_was_recorded_of_them() -> None:
    entries = entries_of(user(text("go")), says(text("editing"), call("c1")), user(result("c1", "done")))

    messages = spoken(entries)
    assert [message.role for message in messages] == ["user", "assistant", "tool"]
    counted = Usage(input_tokens=100, cached_tokens=60, written_tokens=9, output_tokens=7)
    assert usage_of(messages[1]) == counted
    assert model_of(messages[1]) == "anthropic/claude-opus"
    assert messages[1].meta.extra["response_id"] == "a"
    assert openings(entries)[0].system == "You are Cline."
    assert next(entry.time for entry in entries if hasattr(entry, "message")) == 1783376868.634


def test_attached_files_and_results_of_cline_are_text() -> None:
    rows = [{"query": "a.py:1", "result": "x = 1"}]
    entries = entries_of(
        user(text("see"), {"type": "file", "path": "/src/a.py", "content": "x = 1"}),
        says(call("c1")),
        user(result("c1", rows)),
        says(call("c2")),
        user(result("c2", {"ok": True})),
        says(call("c3")),
        user(result("c3", [text("plain")])),
    )

    messages = spoken(entries)
    assert not any(message.result.extra for message in messages[:3] if message.result is not None)
    assert messages[0].text == "see\n/src/a.py\nx = 1"
    assert [message.text for message in messages if message.role == "tool"] == [
        '[{"query":"a.py:1","result":"x = 1"}]',
        '{"ok":true}',
        "plain",
    ]


def test_a_summary_is_a_compaction_and_messages_taken_out_are_known() -> None:
    summary = user(text("Context summary: all good."), metadata={"kind": "compaction_summary"})
    taken = user(text("go"), metadata={"kind": "compaction", "messagesRemoved": 22, "reason": "manual"})
    entries = entries_of(summary, taken, path="id-1.compaction.json")

    assert [compaction.text for compaction in compactions(entries)] == ["Context summary: all good."]
    assert oddities(entries, "compaction")[0].text == "messages taken out of the following: 22 (manual)"
    assert [message.text for message in spoken(entries)] == ["go"]
    assert (openings(entries)[0].session, openings(entries)[0].parent) == ("id-1/compaction", "id-1")


def test_what_the_program_wrote_in_the_users_name_is_told() -> None:
    entries = entries_of(
        user(text("[read_file for 'a.py'] Result:\nx = 1"), text("<environment_details>\n</environment_details>")),
        user(text("fix it"), text("<environment_details>\n</environment_details>")),
    )

    assert [is_program(message) for message in spoken(entries)] == [True, False]


def test_a_history_of_a_task_is_called_like_its_folder() -> None:
    history = json.dumps([user(text("<task>go</task>")), says(text("ok"))]).encode()
    log = log_of(history, HISTORY)

    assert importer_for(log).name == "cline"
    entries = list(CLINE.read(log))
    assert openings(entries)[0].session == "1784"
    assert [message.role for message in spoken(entries)] == ["user", "assistant"]


@pytest.mark.parametrize(("path", "name"), [("id-1.messages.json", "id-1"), ("mine.json", "mine"), (None, "id-1")])
def test_a_session_is_called_by_its_id_or_its_file(path: str | None, name: str) -> None:
    assert openings(entries_of(path=path))[0].session == name


def test_only_files_of_cline_are_recognised() -> None:
    def is_ours(value: Any, path: str = "x.json") -> bool:
        return recognises(head_of(log_of(json.dumps(value).encode(), path)))

    chat = {"role": "assistant", "content": "", "tool_calls": []}
    assert recognises(head_of(log_of(session(user(text("go"))), "x.json")))
    assert is_ours([{"role": "user", "content": "go"}], HISTORY)
    assert is_ours([user(text("go")), says(call("c1"))])
    assert not is_ours([{"role": "user", "content": "go"}])
    assert not is_ours([{"role": "user", "content": "go"}, chat], HISTORY)
    assert not is_ours({"sessionId": "x", "system_prompt": "y", "messages": [chat]})
    assert not is_ours([])


def test_a_broken_message_is_refused_or_skipped() -> None:
    content = session(user(text("go")), user({"type": "tool_result"}), 7, says(text("ok")))

    with pytest.raises(LogError, match=r"s\.json: message 1.*tool_use_id"):
        list(CLINE.read(log_of(content, "s.json")))
    log = log_of(content, "s.json", lenient=True)
    assert [message.text for message in spoken(CLINE.read(log))] == ["go", "ok"]
    assert len(log.skipped) == 2


@NEEDS_DATA
def test_there_are_recorded_sessions() -> None:
    assert len(FILES) == 3


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[30:])
def test_recorded_sessions_hold_what_a_plain_count_finds(path: Path) -> None:
    raws = json.loads(path.read_text())["messages"]
    kept = [raw for raw in raws if raw.get("metadata", {}).get("kind") != "compaction_summary"]
    kinds = [block["type"] for raw in kept for block in raw["content"]]
    metrics = [raw["metrics"] for raw in kept if "metrics" in raw]

    entries = entries_in(CLINE, path)
    messages = spoken(entries)
    roles = [message.role for message in messages]
    spoken_by_users = [raw for raw in kept if raw["role"] == "user" and raw["content"][0]["type"] != "tool_result"]
    assert roles.count("user") == len(spoken_by_users)
    assert roles.count("assistant") == sum(raw["role"] == "assistant" for raw in kept)
    assert roles.count("tool") == paired(messages) == kinds.count("tool_result")
    assert sum(len(message.calls) for message in messages) == kinds.count("tool_use")
    counted = [one for message in messages if (one := usage_of(message)) is not None]
    assert sum(one.input_tokens for one in counted) == sum(found["inputTokens"] for found in metrics)
    assert sum(one.cached_tokens or 0 for one in counted) == sum(found["cacheReadTokens"] for found in metrics)
    assert len(compactions(entries)) == len(raws) - len(kept)
    assert len({entry.session for entry in entries}) == 1
    assert entries_in(CLINE, path) == entries


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[30:])
def test_recorded_sessions_are_of_no_other_program(path: Path) -> None:
    """Files of plain messages are told last, and these have such too."""
    with path.open("rb") as file:
        head = head_of(Recorded(name=path.name, file=file, path=path))
    found = [importer.name for importer in IMPORTERS.values() if importer.recognises(head)]
    assert [name for name in found if name != "messages"] == ["cline"]
    assert found[0] == "cline"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[30:])
def test_broken_files_are_refused_or_skipped(path: Path) -> None:
    random = Random(4)
    content = path.read_bytes()
    for broken in [*truncated(content, random, 10), *flipped(content, random, 20)]:
        survives(CLINE, broken, "s.json")
    document = json.loads(content)
    for _ in range(60):
        survives(CLINE, json.dumps(mutated(document, random)).encode(), "s.json")


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_no_value_anywhere_breaks_the_reading(value: Any) -> None:
    answer = says(text("x"), call("c1"), metadata={"kind": "compaction", "messagesRemoved": 1})
    for key in answer:
        survives(CLINE, session({**answer, key: value}), "s.json")
    for key in ("messages", "sessionId", "system_prompt", "agent"):
        survives(CLINE, session(answer, **{key: value}), "s.json")
    survives(CLINE, session(value, user(value), user(result("c1", value)), user(text("x"), metadata=value)), "s.json")
    survives(CLINE, json.dumps(value).encode(), HISTORY)


MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": ANYTHING | st.lists(ANYTHING, max_size=2)},
    optional=dict.fromkeys(("ts", "metadata", "metrics", "modelInfo", "id"), ANYTHING),
)


@given(st.lists(MESSAGE | ANYTHING, max_size=4))
@settings(max_examples=150, deadline=None)
def test_any_messages_are_read_refused_or_skipped(messages: list[Any]) -> None:
    survives(CLINE, session(*messages), "s.json")


@pytest.mark.parametrize("depth", [100, 900, 5_000])
def test_deep_nesting_is_refused_or_skipped(depth: int) -> None:
    for message in (user("HERE"), user(result("c1", "HERE")), user(result("c1", {"deep": "HERE"})), says(call("HERE"))):
        survives(CLINE, session(message).replace(b'"HERE"', deep(depth).encode()), "s.json")
