"""Every recorded log comes in whole, and every request compiled from it is one its provider accepts."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bench.logs import data_root
from typer.testing import CliRunner

from foveate import BudgetError, Session
from foveate.cli.main import app
from foveate.importers.finding import LogFile, logs_in
from foveate.importers.recording import Recording, recording_of, recordings
from foveate.log.codec import load_events
from foveate.log.integrity import findings
from foveate.session.replaying import taken
from foveate.wire.formats import FORMATS

ROOT = data_root()
if ROOT is None and not os.environ.get("CI"):
    pytest.skip("no recorded logs: set FOVEATE_DATA to a directory of them", allow_module_level=True)

FOUND = logs_in([ROOT]) if ROOT is not None else None
LOGS = FOUND.logs if FOUND is not None else []
# What the program of each log spoke; all others chat with OpenAI's format.
PROVIDERS = {"claude-code": "anthropic", "cline": "anthropic", "codex": "openai-responses", "gemini-cli": "gemini"}
SAMPLED = 7


def sessions_of(log: LogFile) -> list[Recording]:
    with log.open() as recorded:
        return recordings(log.importer.read(recorded), log.importer.name)


def name_of(log: LogFile) -> str:
    return str(Path(log.name).relative_to(ROOT)) if ROOT is not None else log.name


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_every_file_of_the_data_is_a_log_but_for_those_that_list_them() -> None:
    """In CI missing logs are a failure, not a skip."""
    assert FOUND is not None
    assert {path.name for path in FOUND.others} == {"MANIFEST.json", "NOTICE.md", "checkpoints_metadata.jsonl"}
    read = {path for log in LOGS for path in log.paths}
    assert len(read) == 91
    assert set(Counter(log.importer.name for log in LOGS)) >= {
        "aider", "claude-code", "cline", "codex", "gemini-cli", "litellm", "mini-swe-agent", "openhands", "swe-agent",
        "tau-bench",
    }  # fmt: skip


def test_all_of_it_imports_and_comes_out_the_same(tmp_path: Path) -> None:
    """File → store → export → another store → export: the same log, and the same messages as in the file."""
    first, second = str(tmp_path / "a.db"), str(tmp_path / "b.db")
    done = run("import", str(ROOT), "--store", first, "--json")
    assert done.exit_code == 0, done.output
    listed = [one for log in json.loads(done.stdout) for one in log["sessions"]]
    expected = {recording.session: recording for log in LOGS for recording in sessions_of(log) if recording.messages}
    assert {one["session_id"] for one in listed} == set(expected)
    for one in listed:
        exported = run("export", one["session_id"], "--store", first)
        assert exported.exit_code == 0
        recording = recording_of(one["session_id"], load_events(exported.stdout_bytes))
        said = [(m.role, m.parts, m.extra) for m in recording.messages]
        assert said == [(m.role, m.parts, m.extra) for m in expected[one["session_id"]].messages]
        assert recording.times == expected[one["session_id"]].times
        path = tmp_path / "one.jsonl"
        path.write_bytes(exported.stdout_bytes)
        assert run("import", str(path), "--store", second).exit_code == 0
        assert run("export", one["session_id"], "--store", second).stdout_bytes == exported.stdout_bytes


GROWING = [log for log in LOGS if log.importer.name in ("claude-code", "codex", "aider") and log.size < 400_000]


@pytest.mark.parametrize("log", GROWING, ids=name_of)
def test_a_log_that_grows_is_taken_in_again_and_again(log: LogFile, tmp_path: Path) -> None:
    """Cut at any line and imported, then longer, then whole: the store has what one import of the whole gives."""
    rows = log.paths[0].read_bytes().splitlines(keepends=True)
    path, store, fresh = tmp_path / log.paths[0].name, str(tmp_path / "a.db"), str(tmp_path / "b.db")
    for share in (0.3, 0.55, 0.8, 1.0):
        path.write_bytes(b"".join(rows[: max(1, int(len(rows) * share))]))
        done = run("import", str(path), "--store", store, "--json")
        assert done.exit_code == 0 or "there is no message" in done.output, done.output
    whole = json.loads(run("import", str(path), "--store", fresh, "--json").stdout)
    for one in whole[0]["sessions"]:
        name = one["session_id"]
        grown, at_once = (run("export", name, "--store", place).stdout_bytes for place in (store, fresh))
        assert grown == at_once


@pytest.mark.parametrize("budget", [8_000, 32_000])
@pytest.mark.parametrize("format", sorted({log.importer.name for log in LOGS}))
def test_every_compiled_request_passes_its_providers_rules(format: str, budget: int) -> None:
    """At every recorded call in the log's own provider's format, at every seventh in all formats."""
    calls = refused = 0
    for recording in (one for log in LOGS if log.importer.name == format for one in sessions_of(log)):
        session = Session(budget=budget, system=recording.system, tools=recording.tools)
        done = 0
        for index in [*recording.calls(), len(recording.messages)]:
            taken(session, recording, done, index)
            done = index
            try:
                view = session.compile()
            except BudgetError as error:
                # Only what must be sent may be too large, and then the error says so in numbers.
                assert sum(error.parts.values()) > error.limit
                refused += 1
                continue
            calls += 1
            for target in FORMATS if calls % SAMPLED == 0 else (PROVIDERS.get(format, "openai"),):
                found = FORMATS[target].problems(FORMATS[target].lower(view.request))
                assert not found, (recording.session, view.number, target, found)
    print(f"{format} at {budget}: {calls} calls, {refused} too large")
    assert calls
    # Some agents' instructions alone are more than 8,000 tokens.
    assert budget == 8_000 or not refused


@pytest.mark.parametrize("log", LOGS, ids=name_of)
def test_a_log_that_was_cut_off_is_refused_whole_or_read_up_to_there(log: LogFile, tmp_path: Path) -> None:
    """Never a traceback, never a partial import; `--lenient` leaves out what is broken and says how much."""
    chance = random.Random(name_of(log))
    path = tmp_path / Path(log.paths[0]).name
    whole = Path(log.paths[0]).read_bytes()
    for cut in (chance.randrange(1, len(whole)), chance.randrange(1, len(whole)), len(whole) - 3):
        path.write_bytes(whole[:cut])
        for options in ((), ("--lenient",)):
            store = tmp_path / f"{cut}{len(options)}.db"
            done = run("import", str(path), "--store", str(store), "--json", *options)
            assert done.exit_code in (0, 1), done.output
            assert not isinstance(done.exception, Exception) or isinstance(done.exception, SystemExit)
            kept = json.loads(run("sessions", "--store", str(store), "--json").stdout)
            if done.exit_code:
                assert kept == []
            else:
                assert {one["session_id"] for one in kept} == {
                    one["session_id"] for log in json.loads(done.stdout) for one in log["sessions"]
                }


@pytest.mark.parametrize("log", LOGS, ids=name_of)
def test_the_integrity_of_every_log_can_be_told(log: LogFile) -> None:
    """Findings name a message that is there, and pairs that are found agree with a plain count."""
    for recording in sessions_of(log):
        found = list(findings(recording.messages))
        made = [call.id for message in recording.messages for call in message.calls]
        unanswered = sum(one.code == "orphan_tool_call" for one in found)
        answered = Counter(m.result.call_id for m in recording.messages if m.result is not None)
        pairs = sum(min(count, answered[call_id]) for call_id, count in Counter(made).items())
        assert len(made) - unanswered == pairs
        assert all(1 <= one.position <= len(recording.messages) for one in found)


def test_a_log_that_is_not_there_is_refused() -> None:
    ((name, reason),) = logs_in([Path("nowhere.jsonl")]).refused
    assert name == "nowhere.jsonl"
    assert "cannot read" in reason
