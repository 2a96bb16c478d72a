"""Claude Code sessions as they were recorded."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.errors import LogError
from foveate.importers.claude_code import CLAUDE_CODE, recognises
from foveate.importers.detection import IMPORTERS, head_of
from foveate.importers.entries import Opening, Spoken, Usage, model_of, usage_of
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

FILES = [
    path
    for path in recorded("claude_code/*.jsonl") + recorded("claude_code_subagents/**/*.jsonl")
    if path.name != "checkpoints_metadata.jsonl"
]


def record(uuid: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    place = {"sessionId": "s1", "cwd": "/src", "gitBranch": "main", "version": "2.1.0", "isSidechain": False}
    return {"uuid": uuid, "parentUuid": parent, "timestamp": "2026-01-16T13:30:46.385Z", **place, **fields}


def user(uuid: str, parent: str | None, content: Any, **fields: Any) -> dict[str, Any]:
    return record(uuid, parent, type="user", message={"role": "user", "content": content}, **fields)


def says(uuid: str, parent: str | None, id: str, *blocks: dict[str, Any], **message: Any) -> dict[str, Any]:
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 7}
    body = {"id": id, "role": "assistant", "model": "claude-opus-4-6", "usage": usage, "content": list(blocks)}
    return record(uuid, parent, type="assistant", message={**body, **message})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Read", "input": {"path": "a.py"}}


def result(id: str, words: str = "found", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": words, **fields}


def entries_of(*records: dict[str, Any], path: str | None = "s1.jsonl") -> list[Any]:
    return list(CLAUDE_CODE.read(log_of(lines(*records), path)))


def test_lines_of_one_response_are_one_message_that_is_counted_once() -> None:
    """Parts stand in the order of the lines, results behind the response, and the last line's usage holds."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    final = {"input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 90}
    entries = entries_of(
        user("u1", None, "look"),
        says("a1", "u1", "m1", thought),
        says("a2", "a1", "m1", text("reading")),
        says("a3", "a2", "m1", call("c1")),
        user("u2", "a3", [result("c1")]),
        says("a4", "a3", "m1", call("c2"), usage=final, stop_reason="tool_use"),
        user("u3", "a4", [result("c2", is_error=True)]),
        says("a5", "u3", "m2", text("done")),
    )

    messages = spoken(entries)
    assert [message.role for message in messages] == ["user", "assistant", "tool", "tool", "assistant"]
    response = messages[1]
    assert [type(part) for part in response.parts] == [Thinking, Text, ToolCall, ToolCall]
    assert isinstance(response.parts[0], Thinking)
    assert (response.parts[0].text, response.parts[0].signature) == ("hm", "sig")
    assert usage_of(response) == Usage(input_tokens=123, cached_tokens=100, written_tokens=20, output_tokens=90)
    assert model_of(response) == "claude-opus-4-6"
    assert response.meta.extra["response_id"] == "m1"
    assert response.meta.extra["stop_reason"] == "tool_use"
    assert messages[3].extra["is_error"] is True
    assert sum(usage_of(message) is not None for message in messages) == 2


@given(st.lists(st.sampled_from(["thinking", "text", "call"]), min_size=1, max_size=6), st.data())
@settings(max_examples=50, deadline=None)
def test_how_a_response_is_split_over_lines_changes_nothing(kinds: list[str], drawn: st.DataObject) -> None:
    """Wherever its lines end, and whenever the results of its calls come, it is the same message and the same order."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    blocks = [{"thinking": thought, "text": text("x"), "call": call(f"c{i}")}[kind] for i, kind in enumerate(kinds)]
    results = [user(f"r{i}", None, [result(f"c{i}")]) for i, kind in enumerate(kinds) if kind == "call"]
    whole = entries_of(says("a", None, "m1", *blocks), *results, says("b", None, "m2", text("done")))

    split: list[dict[str, Any]] = []
    line: list[dict[str, Any]] = []
    for index, block in enumerate(blocks):
        line.append(block)
        if index == len(blocks) - 1 or drawn.draw(st.booleans()):
            split.append(says(f"a{index}", None, "m1", *line))
            line = []
            while results and results[0]["uuid"] <= f"r{index}" and drawn.draw(st.booleans()):
                split.append(results.pop(0))
    assert spoken(entries_of(*split, *results, says("b", None, "m2", text("done")))) == spoken(whole)


def test_a_response_that_goes_on_after_another_is_counted_once() -> None:
    entries = entries_of(
        says("a1", None, "m1", text("one")), says("a2", "a1", "m2", text("two")), says("a3", "a2", "m1", text("three"))
    )

    assert [usage_of(message) is not None for message in spoken(entries)] == [True, True, False]


def test_a_response_is_not_waited_with_for_ever() -> None:
    content = lines(says("a1", None, "m1", text("one")), *(user(f"u{i}", None, "more") for i in range(2_000)))
    log = log_of(content)
    first = next(entry for entry in CLAUDE_CODE.read(log) if spoken([entry]))

    assert first.line == 1
    assert log.read < len(content) / 4


def test_the_time_to_live_of_the_cache_is_what_most_was_written_for() -> None:
    def ttl(five: int, hour: int) -> int | None:
        written = {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour}
        usage = {"input_tokens": 1, "cache_creation_input_tokens": five + hour, "cache_creation": written}
        counted = usage_of(spoken(entries_of(says("a", None, "m", text("x"), usage=usage)))[0])
        return None if counted is None else counted.ttl_seconds

    assert (ttl(10, 0), ttl(0, 10), ttl(1, 10), ttl(0, 0)) == (300, 3600, 3600, None)


@pytest.mark.parametrize("value", [-1, True, "7", 10**30, 1e308, None, [1]])
def test_what_is_no_count_is_not_counted(value: Any) -> None:
    (message,) = spoken(entries_of(says("a", None, "m", text("x"), usage={"input_tokens": value})))

    assert usage_of(message) is None


def test_text_of_the_program_is_told_from_the_users() -> None:
    entries = entries_of(
        user("u1", None, "Caveat: The messages below were generated by the user while running local commands."),
        user("u2", "u1", "<command-name>/clear</command-name>"),
        user("u3", "u2", "<local-command-stdout></local-command-stdout>"),
        user("u4", "u3", [text("expanded command")], isMeta=True),
        user("u5", "u4", [text("[Request interrupted by user]")]),
        user("u6", "u5", "what is <command-name>?"),
    )

    assert [is_program(message) for message in spoken(entries)] == [True, True, True, True, True, False]


def test_a_message_that_no_model_made_answers_no_call() -> None:
    entries = entries_of(says("a1", None, "x", text("No response requested."), model="<synthetic>"))

    (message,) = spoken(entries)
    assert is_program(message)
    assert usage_of(message) is None
    assert model_of(message) is None
    assert [opening.model for opening in openings(entries)] == [None]


def test_a_failed_call_is_an_oddity() -> None:
    error = record("e1", "u1", type="system", subtype="api_error", error={"status": 529, "message": "Overloaded"})
    said = says("a1", "e1", "x", text("API Error: 500"), model="<synthetic>")
    entries = entries_of(user("u1", None, "go"), error, {**said, "isApiErrorMessage": True})

    assert [odd.text for odd in oddities(entries, "api_error")] == ["529 Overloaded", "API Error: 500"]
    assert [odd.line for odd in oddities(entries, "api_error")] == [2, 3]


def test_a_compaction_is_its_summary_and_no_message() -> None:
    boundary = record("b1", None, type="system", subtype="compact_boundary", compactMetadata={"preTokens": 9})
    summary = user("u2", "b1", "This session is being continued. Summary: all good.", isCompactSummary=True)
    entries = entries_of(user("u1", None, "go"), says("a1", "u1", "m1", text("ok")), boundary, summary)

    (compaction,) = compactions(entries)
    assert compaction.text == "This session is being continued. Summary: all good."
    assert [message.text for message in spoken(entries)] == ["go", "ok"]
    assert entries.index(compaction) > entries.index(next(e for e in entries if getattr(e, "message", None)))


def test_a_compaction_without_a_summary_is_known() -> None:
    boundary = record("b1", None, type="system", subtype="compact_boundary")

    entries = entries_of(user("u1", None, "go"), boundary, user("u2", "b1", "on"))
    assert [getattr(entry, "code", None) for entry in entries[1:]] == [None, "compaction", None]
    assert len(oddities(entries_of(user("u1", None, "go"), boundary), "compaction")) == 1


def test_going_back_is_an_oddity_but_parallel_calls_are_not() -> None:
    entries = entries_of(
        user("u1", None, "go"),
        says("a1", "u1", "m1", call("c1")),
        says("a2", "a1", "m1", call("c2")),
        user("u2", "a1", [result("c1")]),
        user("u3", "a2", [result("c2")]),
        says("a3", "u3", "m2", text("done")),
        user("u4", "a3", "more"),
        user("u5", "a3", "no, less"),
    )

    (branch,) = oddities(entries, "branch")
    assert (branch.line, "line 7" in branch.text) == (8, True)
    assert spoken(entries)[-1].text == "no, less"


def test_going_back_is_seen_where_only_a_notice_followed() -> None:
    notice = record("n1", "a1", type="system", subtype="turn_duration")
    entries = entries_of(
        says("a1", None, "m1", text("done")), notice, user("u1", "n1", "more"), user("u2", "a1", "less")
    )

    assert [odd.line for odd in oddities(entries, "branch")] == [4]


def test_records_that_a_resumed_session_repeats_are_kept_once() -> None:
    first, second = user("u1", None, "go"), says("a1", "u1", "m1", text("ok"))
    log = log_of(lines(first, second, first, second, user("u2", "a1", "on")), "s1.jsonl")

    assert [message.text for message in spoken(CLAUDE_CODE.read(log))] == ["go", "ok", "on"]
    assert log.notes == ["2 records were there before and are left out"]


def test_what_was_typed_while_the_model_worked_is_a_message_of_the_user() -> None:
    def waiting(uuid: str, prompt: Any, **fields: Any) -> dict[str, Any]:
        return record(uuid, "a1", type="attachment", attachment={"type": "queued_command", "prompt": prompt, **fields})

    entries = entries_of(
        user("u1", None, "go"),
        says("a1", "u1", "m1", call("c1")),
        waiting("q1", "also the tests"),
        waiting("q2", [text("a task ended")], commandMode="task-notification"),
        waiting("q4", "from elsewhere", origin={"kind": "peer"}),
        record("q3", "a1", type="attachment", attachment={"type": "todo_reminder"}),
        user("u2", "a1", [result("c1")]),
    )

    assert [message.role for message in spoken(entries)] == ["user", "assistant", "tool", "user", "user", "user"]
    assert [is_program(message) for message in spoken(entries)[3:]] == [False, True, True]
    assert not oddities(entries, "branch")


def test_sidechains_are_sessions_of_their_own() -> None:
    """With the name of their agent, or else that of their first record."""
    entries = entries_of(
        user("u1", None, "go"),
        says("a1", "u1", "m1", call("c1")),
        user("5f2a7c1e-aaaa", None, "count the files", isSidechain=True),
        user("t1", None, "name the files", isSidechain=True, agentId="a9f"),
        record("p1", "5f2a7c1e-aaaa", type="progress", isSidechain=True),
        {**says("b1", "p1", "m2", text("seven")), "isSidechain": True},
        user("u2", "a1", [result("c1", "seven")]),
    )

    assert [(o.session, o.parent) for o in openings(entries) if o.model is None] == [
        ("s1", None),
        ("s1/5f2a7c1e", "s1"),
        ("s1/a9f", "s1"),
    ]
    assert [message.text for message in spoken(entries, "s1/5f2a7c1e")] == ["count the files", "seven"]
    assert [message.role for message in spoken(entries, "s1")] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(
    ("path", "session", "parent"),
    [
        ("2026-01-16-s1.jsonl", "2026-01-16-s1", None),
        (None, "s1", None),
        ("projects/top/subagents/agent-a1.jsonl", "top/a1", "top"),
        ("projects/agent-a1.jsonl", "s1/a1", "s1"),
    ],
)
def test_a_session_is_called_like_its_file(path: str | None, session: str, parent: str | None) -> None:
    opening = openings(entries_of(user("u1", None, "go"), path=path))[0]

    assert (opening.session, opening.parent) == (session, parent)
    assert opening.tags == {"cwd": "/src", "git_branch": "main", "version": "2.1.0"}


@pytest.mark.parametrize("path", [path for path in FILES if len(path.stem) == 36 or path.parent.name == "subagents"])
def test_a_recorded_session_has_the_same_name_through_a_pipe(path: Path) -> None:
    """The program calls a file by the id of its session; that is in the records too."""
    piped = list(CLAUDE_CODE.read(log_of(path.read_bytes(), None)))
    assert piped == entries_in(CLAUDE_CODE, path)


def test_what_is_no_message_is_counted() -> None:
    """Beside the log, not in it: the numbers change as a file grows."""
    snapshot = {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}}
    duration = record("d1", "u1", type="system", subtype="turn_duration", durationMs=4)
    progress = record("p", "u1", type="progress", data={})
    log = log_of(lines(snapshot, user("u1", None, "go"), duration, progress), "s1.jsonl")

    assert [type(entry) for entry in CLAUDE_CODE.read(log)] == [Opening, Spoken]
    assert log.notes == ["records that are no messages: file-history-snapshot 1, progress 1, turn_duration 1"]


def test_a_broken_record_is_refused_by_its_line_or_skipped() -> None:
    content = lines(user("u1", None, "go"), user("u2", "u1", [{"type": "tool_result"}]), user("u3", "u2", "on"))

    with pytest.raises(LogError, match=r"s1\.jsonl, line 2: .*tool_use_id"):
        list(CLAUDE_CODE.read(log_of(content, "s1.jsonl")))
    log = log_of(content, "s1.jsonl", lenient=True)
    assert [message.text for message in spoken(CLAUDE_CODE.read(log))] == ["go", "on"]
    assert [skipped.line for skipped in log.skipped] == [2]


def test_only_files_of_claude_code_are_recognised() -> None:
    assert recognises(head_of(log_of(lines(user("u1", None, "go")))))
    assert recognises(head_of(log_of(lines({"type": "summary", "summary": "x", "leafUuid": "y"}))))
    assert not recognises(head_of(log_of(lines({"type": "user", "message": {"role": "user", "content": "x"}}))))
    assert not recognises(head_of(log_of(b"")))


def test_a_long_log_takes_little_memory(tmp_path: Path) -> None:
    """What is kept grows with the number of records, not with what is in them."""
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        for index in range(2_000):
            words = f"{index} " * 1_500
            before = f"r{index - 1}" if index else None
            file.write(
                lines(user(f"q{index}", before, words), says(f"r{index}", f"q{index}", f"m{index}", text(words)))
            )
    assert path.stat().st_size > 25_000_000

    tracemalloc.start()
    with path.open("rb") as file:
        count = sum(1 for _ in CLAUDE_CODE.read(Recorded(name=path.name, file=file, path=path)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count > 4_000
    assert peak < 4_000_000


@NEEDS_DATA
def test_there_are_recorded_sessions() -> None:
    assert len(FILES) == 24


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[:36])
def test_recorded_sessions_hold_what_a_plain_count_finds(path: Path) -> None:
    users = summaries = results = calls = 0
    known: set[str] = set()
    answers = 0
    usage: dict[str, dict[str, Any]] = {}
    for line in path.read_text().splitlines():
        raw = json.loads(line)
        if raw["type"] not in ("user", "assistant"):
            continue
        content = raw["message"]["content"]
        blocks = [{"type": "text"}] if isinstance(content, str) else content
        kinds = [block["type"] for block in blocks]
        if raw.get("isCompactSummary"):
            summaries += 1
        elif raw["type"] == "user":
            results += kinds.count("tool_result")
            users += any(kind != "tool_result" for kind in kinds)
            answers += sum(block.get("tool_use_id") in known for block in blocks)
        else:
            calls += kinds.count("tool_use")
            known |= {block["id"] for block in blocks if block["type"] == "tool_use"}
            usage[raw["message"]["id"]] = raw["message"]["usage"] | {
                "synthetic": raw["message"]["model"] == "<synthetic>"
            }

    entries = entries_in(CLAUDE_CODE, path)
    messages = spoken(entries)
    roles = [message.role for message in messages]
    assert roles.count("user") == users
    assert roles.count("tool") == results
    assert roles.count("assistant") == len(usage)
    assert sum(len(message.calls) for message in messages) == calls
    assert paired(messages) == answers == results
    assert len(compactions(entries)) == summaries
    counted = [found for message in messages if (found := usage_of(message)) is not None]
    real = [found for found in usage.values() if not found["synthetic"]]
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    assert len(counted) == len(real)
    assert sum(one.input_tokens for one in counted) == sum(found[key] for found in real for key in keys)
    assert sum(one.cached_tokens or 0 for one in counted) == sum(found["cache_read_input_tokens"] for found in real)
    assert sum(one.output_tokens or 0 for one in counted) == sum(found["output_tokens"] for found in real)
    assert len({entry.session for entry in entries}) == 1
    assert entries_in(CLAUDE_CODE, path) == entries


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[:36])
def test_recorded_sessions_are_of_no_other_program(path: Path) -> None:
    with path.open("rb") as file:
        head = head_of(Recorded(name=path.name, file=file, path=path))
    assert [importer.name for importer in IMPORTERS.values() if importer.recognises(head)] == ["claude-code"]


@pytest.mark.parametrize("path", FILES[-6:], ids=lambda path: path.stem[:36])
def test_broken_files_are_refused_or_skipped(path: Path) -> None:
    random = Random(4)
    content = path.read_bytes()
    for broken in [*truncated(content, random, 15), *flipped(content, random, 15)]:
        survives(CLAUDE_CODE, broken, "s1.jsonl")
    records = [json.loads(line) for line in content.splitlines()]
    for _ in range(30):
        survives(CLAUDE_CODE, lines(*(mutated(one, random) for one in records)), "s1.jsonl")


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_no_value_anywhere_breaks_the_reading(value: Any) -> None:
    whole = [
        user("u1", None, [result("c1"), text("x")]),
        says("a1", "u1", "m1", call("c1"), text("y")),
        record("b1", "a1", type="system", subtype="compact_boundary"),
        user("u2", "b1", "summary", isCompactSummary=True),
        record("e1", "u2", type="system", subtype="api_error", error={"status": 1}, cause={"code": "x"}),
        record("q1", "e1", type="attachment", attachment={"type": "queued_command", "prompt": "p", "origin": {}}),
    ]
    for index, one in enumerate(whole):
        for key in one:
            survives(CLAUDE_CODE, lines(*whole[:index], {**one, key: value}), "s1.jsonl")
    for key in ("role", "content", "id", "model", "usage", "stop_reason"):
        broken = {**whole[1], "message": {**whole[1]["message"], key: value}}
        survives(CLAUDE_CODE, lines(whole[0], broken), "s1.jsonl")


@given(
    st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["user", "assistant", "system", "attachment"]) | ANYTHING},
            optional={
                "uuid": ANYTHING,
                "parentUuid": ANYTHING,
                "sessionId": ANYTHING,
                "timestamp": ANYTHING,
                "isSidechain": st.booleans(),
                "isCompactSummary": st.booleans(),
                "subtype": st.sampled_from(["api_error", "compact_boundary"]) | ANYTHING,
                "message": st.fixed_dictionaries({"content": ANYTHING}, optional={"id": ANYTHING, "usage": ANYTHING})
                | ANYTHING,
            },
        ),
        max_size=4,
    )
)
@settings(max_examples=150, deadline=None)
def test_any_records_are_read_refused_or_skipped(records: list[dict[str, Any]]) -> None:
    survives(CLAUDE_CODE, lines(*records), "s1.jsonl")


@pytest.mark.parametrize("depth", [100, 900, 5_000])
def test_deep_nesting_is_refused_or_skipped(depth: int) -> None:
    for template in ('{{"type": {0}}}', '{{"type": "user", "message": {{"role": "user", "content": {0}}}}}'):
        survives(CLAUDE_CODE, template.format(deep(depth)).encode(), "s1.jsonl")
    inside = lines(says("a1", None, "m1", {**call("c1"), "input": {"deep": "HERE"}}))
    survives(CLAUDE_CODE, inside.replace(b'"HERE"', deep(depth).encode()), "s1.jsonl")
