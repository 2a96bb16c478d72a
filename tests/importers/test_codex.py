"""Codex rollouts as they were recorded."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.errors import LogError
from foveate.importers.codex import CODEX, recognises
from foveate.importers.detection import IMPORTERS, head_of
from foveate.importers.entries import Usage, model_of, usage_of
from foveate.importers.reading import Recorded
from foveate.log.messages import Text, Thinking, ToolCall
from tests.importers.logs import (
    ANYTHING,
    NEEDS_DATA,
    ODD,
    compactions,
    deep,
    entries_in,
    flipped,
    is_program,
    lines,
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

FILES = [path for path in recorded("codex/*.jsonl") if path.name != "checkpoints_metadata.jsonl"]
META = {"id": "id-1", "cwd": "/src", "cli_version": "0.136.0", "git": {"branch": "main"}, "instructions": "Be brief."}


def wrapped(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-05-31T11:07:41.112Z", "type": kind, "payload": payload}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return wrapped("response_item", type=kind, **fields)


def said(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts])


def thought(text: str) -> dict[str, Any]:
    return item("reasoning", summary=[{"type": "summary_text", "text": text}], encrypted_content="gAAA")


def call(id: str) -> dict[str, Any]:
    return item("function_call", name="shell", arguments='{"command": ["ls"]}', call_id=id)


def output(id: str, text: str = "a.py") -> dict[str, Any]:
    return item("function_call_output", call_id=id, output=text)


def count(input_tokens: int, total: int | None = None) -> dict[str, Any]:
    last = {"input_tokens": input_tokens, "cached_input_tokens": 5, "output_tokens": 2}
    info = {"last_token_usage": last, "total_token_usage": {"input_tokens": total or input_tokens}}
    return wrapped("event_msg", type="token_count", info=info)


def entries_of(*records: dict[str, Any], path: str | None = "rollout-id-1.jsonl") -> list[Any]:
    return list(CODEX.read(log_of(lines(*records), path)))


def inputs(entries: list[Any]) -> list[int | None]:
    """The recorded input of each response."""
    counted = [usage_of(message) for message in spoken(entries) if message.role == "assistant"]
    return [None if usage is None else usage.input_tokens for usage in counted]


def test_items_up_to_an_output_are_one_response() -> None:
    entries = entries_of(
        wrapped("session_meta", **META),
        wrapped("turn_context", model="gpt-5.5"),
        said("user", "look"),
        thought("hm"),
        said("assistant", "reading"),
        call("c1"),
        call("c2"),
        output("c1"),
        output("c2"),
        count(100),
        thought("so"),
        said("assistant", "done"),
        count(120),
    )

    messages = spoken(entries)
    assert [message.role for message in messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [type(part) for part in messages[1].parts] == [Thinking, Text, ToolCall, ToolCall]
    assert usage_of(messages[1]) == Usage(input_tokens=100, cached_tokens=5, output_tokens=2)
    assert [model_of(message) for message in messages if message.role == "assistant"] == ["gpt-5.5", "gpt-5.5"]
    assert inputs(entries) == [100, 120]


def test_counts_before_the_response_belong_to_what_follows() -> None:
    """As older versions wrote them."""
    first = (count(100), thought("hm"), call("c1"), output("c1"))
    entries = entries_of(said("user", "look"), *first, count(120, 220), thought("so"), call("c2"), output("c2"))

    assert inputs(entries) == [100, 120]


def test_a_count_that_repeats_the_last_or_counts_nothing_is_no_call() -> None:
    entries = entries_of(
        count(0, 0),
        said("user", "look"),
        said("assistant", "one"),
        count(100),
        count(100),
        wrapped("event_msg", type="token_count", info=None),
        said("assistant", "two"),
        count(100),
        count(130, 230),
    )

    assert inputs(entries) == [100, 130]


def test_a_session_may_be_resumed_by_a_version_that_counts_elsewhere() -> None:
    older = (wrapped("session_meta", **META), count(100), call("c1"), output("c1"))
    entries = entries_of(*older, wrapped("session_meta", **META), said("assistant", "done"), count(120, 220))

    assert inputs(entries) == [100, 120]


def test_a_response_is_not_waited_with_for_ever() -> None:
    content = lines(said("assistant", "one"), *(said("user", "more") for _ in range(2_000)))
    log = log_of(content)
    first = next(entry for entry in CODEX.read(log) if spoken([entry]))

    assert first.line == 1
    assert log.read < len(content) / 4


def test_a_response_without_a_count_does_not_take_that_of_the_next() -> None:
    entries = entries_of(
        said("user", "look"), call("c1"), output("c1"), call("c2"), output("c2"), count(9), said("user", "on")
    )

    assert inputs(entries) == [None, 9]
    assert [message.role for message in spoken(entries)] == ["user", "assistant", "tool", "assistant", "tool", "user"]


def test_what_comes_between_a_call_and_its_output_stands_behind_it() -> None:
    entries = entries_of(call("c1"), said("developer", "Approved."), output("c1"), said("assistant", "done"))

    assert [message.role for message in spoken(entries)] == ["assistant", "tool", "system", "assistant"]


def test_what_the_program_sent_is_told_from_the_users() -> None:
    entries = entries_of(
        said("developer", "<permissions instructions>"),
        said("user", "# AGENTS.md instructions for /src", "<environment_context>"),
        said("user", "<environment_context>", "and my question"),
        said("user", "# Context from my IDE setup:\n\n## My request for Codex:\nfix it"),
    )

    assert [is_program(message) for message in spoken(entries)] == [True, True, False, False]


def test_a_session_has_its_framing_and_the_name_of_its_id() -> None:
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "id-0"}}}
    first = openings(entries_of(wrapped("session_meta", **META, source=spawned)))[0]

    assert (first.session, first.system, first.parent) == ("id-1", "Be brief.", "id-0")
    assert first.tags == {"cwd": "/src", "version": "0.136.0", "git_branch": "main"}
    assert openings(entries_of(wrapped("session_meta", **META), path="mine.jsonl"))[0].session == "mine"
    assert openings(entries_of(wrapped("session_meta", **META), path=None))[0].session == "id-1"
    assert openings(entries_of(said("user", "x"), path="mine.jsonl"))[0].session == "mine"


def test_files_without_envelopes_are_read() -> None:
    entries = entries_of(
        {"id": "id-1", "timestamp": "2025-05-01T10:00:00Z", "instructions": "Be brief."},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    )

    assert openings(entries)[0].system == "Be brief."
    assert [message.role for message in spoken(entries)] == ["user", "assistant", "tool"]


def test_a_compaction_is_its_message_or_what_can_be_read_of_its_history() -> None:
    history = [said("user", "the task")["payload"], {"type": "compaction", "encrypted_content": "gAAA"}]
    entries = entries_of(
        wrapped("compacted", message="In short."),
        wrapped("compacted", message="", replacement_history=history),
        wrapped("compacted"),
    )

    assert [compaction.text for compaction in compactions(entries)] == ["In short.", "the task", ""]


def test_interruptions_failures_and_turns_taken_back_are_oddities() -> None:
    content = lines(
        said("user", "look"),
        wrapped("event_msg", type="turn_aborted", reason="interrupted"),
        wrapped("event_msg", type="error", message="no network"),
        wrapped("event_msg", type="thread_rolled_back", num_turns=2),
        wrapped("event_msg", type="agent_message", message="copy"),
    )
    log = log_of(content)
    entries = list(CODEX.read(log))

    assert oddities(entries, "interrupted")[0].text == "the turn was ended: interrupted"
    assert oddities(entries, "api_error")[0].text == "no network"
    assert oddities(entries, "branch")[0].text == "turns taken back: 2"
    assert log.notes == ["records that are no messages: agent_message 1"]
    assert len(spoken(entries)) == 1


def test_a_broken_item_is_refused_by_its_line_or_skipped() -> None:
    content = lines(said("user", "go"), item("function_call", name="shell"), said("user", "on"))

    with pytest.raises(LogError, match=r"r\.jsonl, line 2: item: `call_id`"):
        list(CODEX.read(log_of(content, "r.jsonl")))
    log = log_of(content, "r.jsonl", lenient=True)
    assert [message.text for message in spoken(CODEX.read(log))] == ["go", "on"]
    assert [skipped.line for skipped in log.skipped] == [2]


def test_only_rollouts_are_recognised() -> None:
    old = {"id": "x", "timestamp": "2025-05-01T10:00:00Z", "instructions": None}
    message = {"type": "message", "role": "user", "content": []}
    assert recognises(head_of(log_of(lines(wrapped("session_meta", **META)))))
    assert recognises(head_of(log_of(lines(old, message))))
    assert not recognises(head_of(log_of(lines(old, {"role": "user", "content": "x"}))))
    assert not recognises(head_of(log_of(lines(message))))
    assert not recognises(head_of(log_of(lines({"type": "event_msg", "payload": 1, "timestamp": "x"}))))


def test_a_long_log_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        for index in range(2_000):
            words = f"{index} " * 1_500
            file.write(lines(said("user", words), call(f"c{index}"), output(f"c{index}", words), count(index + 1)))
    assert path.stat().st_size > 25_000_000

    tracemalloc.start()
    with path.open("rb") as file:
        found = sum(1 for _ in CODEX.read(Recorded(name=path.name, file=file, path=path)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found > 6_000
    assert peak < 2_000_000


@NEEDS_DATA
def test_there_are_recorded_rollouts() -> None:
    assert len(FILES) == 7


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[-12:])
def test_recorded_rollouts_hold_what_a_plain_count_finds(path: Path) -> None:
    kinds: list[str] = []
    known: set[str] = set()
    answers = compacted = 0
    usage: list[dict[str, int]] = []
    for line in path.read_text().splitlines():
        raw = json.loads(line)
        body = raw["payload"]
        compacted += raw["type"] == "compacted"
        if raw["type"] == "response_item":
            kinds.append(body["type"] if body["type"] != "message" else body["role"])
            if body["type"].endswith("_output"):
                answers += body["call_id"] in known
            elif body.get("call_id"):
                known.add(body["call_id"])
        elif body.get("type") == "token_count" and body["info"]["last_token_usage"]["input_tokens"]:
            usage.append(body["info"]["last_token_usage"])

    entries = entries_in(CODEX, path)
    messages = spoken(entries)
    roles = [message.role for message in messages]
    assert roles.count("user") == kinds.count("user")
    assert roles.count("system") == kinds.count("developer")
    assert roles.count("tool") == sum(kind.endswith("_output") for kind in kinds)
    assert sum(len(message.calls) for message in messages) == len(known)
    assert paired(messages) == answers == roles.count("tool")
    assert roles.count("assistant") == len(usage)
    assert len(compactions(entries)) == compacted
    counted = [usage_of(message) for message in messages if message.role == "assistant"]
    assert [(one.input_tokens, one.cached_tokens, one.output_tokens) for one in counted if one is not None] == [
        (found["input_tokens"], found["cached_input_tokens"], found["output_tokens"]) for found in usage
    ]
    assert len({entry.session for entry in entries}) == 1
    assert entries_in(CODEX, path) == entries


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[-12:])
def test_recorded_rollouts_are_of_no_other_program(path: Path) -> None:
    with path.open("rb") as file:
        head = head_of(Recorded(name=path.name, file=file, path=path))
    assert [importer.name for importer in IMPORTERS.values() if importer.recognises(head)] == ["codex"]


@pytest.mark.parametrize("path", FILES[:3] + FILES[-1:], ids=lambda path: path.stem[-12:])
def test_broken_files_are_refused_or_skipped(path: Path) -> None:
    random = Random(4)
    content = path.read_bytes()
    for broken in [*truncated(content, random, 10), *flipped(content, random, 10)]:
        survives(CODEX, broken, "r.jsonl")
    records = [json.loads(line) for line in content.splitlines()]
    for _ in range(10):
        survives(CODEX, lines(*(mutated(one, random) for one in records)), "r.jsonl")


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_no_value_anywhere_breaks_the_reading(value: Any) -> None:
    whole = [
        wrapped("session_meta", **META, source={"subagent": {}}, base_instructions={"text": "x"}),
        wrapped("turn_context", model="m"),
        said("user", "look"),
        thought("hm"),
        call("c1"),
        output("c1"),
        count(3),
        wrapped("compacted", message="", replacement_history=[]),
        wrapped("event_msg", type="error", message="x"),
    ]
    for index, one in enumerate(whole):
        for key in one:
            survives(CODEX, lines(*whole[:index], {**one, key: value}), "r.jsonl")
        for key in one["payload"]:
            survives(CODEX, lines(*whole[:index], {**one, "payload": {**one["payload"], key: value}}), "r.jsonl")


KINDS = st.sampled_from(["session_meta", "turn_context", "response_item", "event_msg", "compacted", "message"])
PAYLOAD = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["message", "reasoning", "function_call", "function_call_output", "token_count"])
        | ANYTHING
    },
    optional=dict.fromkeys(("role", "content", "call_id", "output", "info", "message", "summary", "name"), ANYTHING),
)


@given(st.lists(st.fixed_dictionaries({"type": KINDS}, optional={"payload": PAYLOAD | ANYTHING}), max_size=5))
@settings(max_examples=150, deadline=None)
def test_any_records_are_read_refused_or_skipped(records: list[dict[str, Any]]) -> None:
    survives(CODEX, lines(*records), "r.jsonl")


@pytest.mark.parametrize("depths", [(100, 5_000), range(900, 1_000)], ids=["some", "at the limit"])
def test_deep_nesting_is_refused_or_skipped(depths: Iterable[int]) -> None:
    for depth in depths:
        for one in (
            item("message", role="user", content="HERE"),
            item("function_call", call_id="HERE"),
            wrapped("HERE"),
        ):
            survives(CODEX, lines(one).replace(b'"HERE"', deep(depth).encode()), "r.jsonl")
