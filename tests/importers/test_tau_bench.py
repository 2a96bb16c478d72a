"""Results of tau-bench as they were recorded."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from foveate.errors import LogError
from foveate.importers.recording import recordings
from foveate.importers.tau_bench import TAU_BENCH
from tests.importers.logs import (
    NEEDS_DATA,
    entries_in,
    flipped,
    log_of,
    mutated,
    openings,
    paired,
    recorded,
    spoken,
    survives,
    truncated,
)

FILES = recorded("openai_chat/*.json")
CALL = {"id": "c1", "type": "function", "function": {"name": "get_user", "arguments": '{"id": "李雷"}'}}


def run(**fields: Any) -> dict[str, Any]:
    said = [
        {"role": "system", "content": "Be fair."},
        {"role": "user", "content": "你好"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "name": "get_user", "content": "{}"},
        {"role": "assistant", "content": "Done."},
    ]
    return {"task_id": 3, "trial": 1, "reward": 1.0, "info": {"user_cost": 0.5}, "traj": said, **fields}


@NEEDS_DATA
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_of_a_recorded_run_is_lost(path: Path) -> None:
    """Messages by role, calls, paired results and rewards are those that a plain loop over the file finds."""
    runs = json.loads(path.read_text())
    roles = Counter(raw["role"] for one in runs for raw in one["traj"])
    calls = [call["id"] for one in runs for raw in one["traj"] for call in raw.get("tool_calls") or ()]
    found = recordings(entries_in(TAU_BENCH, path))

    assert len(found) == len(runs) == 60
    assert [one.session for one in found] == [f"{path.stem}-{one['task_id']}/{one['trial']}" for one in runs]
    assert [one.tags["reward"] for one in found] == [str(one["reward"]) for one in runs]
    assert all(one.system == raw["traj"][0]["content"] for one, raw in zip(found, runs, strict=True))
    messages = [message for one in found for message in one.messages]
    assert Counter(message.role for message in messages) == roles - Counter(system=len(runs))
    assert [call.id for message in messages for call in message.calls] == calls
    assert sum(paired(one.messages) for one in found) == roles["tool"]
    words = [raw["content"] for one in runs for raw in one["traj"] if raw["role"] == "user"]
    assert [message.text for message in messages if message.role == "user"] == words


@NEEDS_DATA
def test_reading_twice_gives_the_same() -> None:
    assert entries_in(TAU_BENCH, FILES[0]) == entries_in(TAU_BENCH, FILES[0])


def test_a_run_is_a_session_with_its_framing() -> None:
    entries = list(TAU_BENCH.read(log_of(json.dumps([run()]).encode(), "air.json")))
    (opening,) = openings(entries)
    assert (opening.session, opening.system) == ("air-3/1", "Be fair.")
    assert opening.tags == {"task_id": "3", "trial": "1", "reward": "1.0", "user_cost": "0.5"}
    assert [message.role for message in spoken(entries)] == ["user", "assistant", "tool", "assistant"]
    assert spoken(entries)[1].calls[0].arguments == '{"id": "李雷"}'


def test_a_repeated_trial_gets_a_name_of_its_own() -> None:
    entries = list(TAU_BENCH.read(log_of(json.dumps([run(), run()]).encode(), "air.json")))
    assert [opening.session for opening in openings(entries)] == ["air-3/1", "air-3/1-1"]


def test_a_broken_run_is_named_or_skipped() -> None:
    """One run without a conversation does not take the others with it, if it may be left out."""
    content = json.dumps([run(), {"task_id": 4}, run(trial=2)]).encode()
    with pytest.raises(LogError, match=r"air\.json: run 1: expected an object with a list `traj`"):
        list(TAU_BENCH.read(log_of(content, "air.json")))
    log = log_of(content, "air.json", lenient=True)
    assert len(openings(TAU_BENCH.read(log))) == 2
    assert len(log.skipped) == 1


def test_a_broken_message_is_named_or_skipped() -> None:
    raws = [*run()["traj"], {"role": "oracle", "content": "?"}, {"role": "user", "content": "Thanks."}]
    content = json.dumps([run(traj=raws)]).encode()
    with pytest.raises(LogError, match="run 0, message 5: unknown `role` 'oracle'"):
        list(TAU_BENCH.read(log_of(content, "air.json")))
    log = log_of(content, "air.json", lenient=True)
    assert spoken(TAU_BENCH.read(log))[-1].text == "Thanks."
    (skipped,) = log.skipped
    assert skipped.reason.startswith("run 0, message 5: unknown `role` 'oracle'; known are system, developer, user")


def test_whatever_is_in_the_file_it_is_read_or_refused() -> None:
    random = Random(7)
    whole = [run(), run(trial=2)]
    for _ in range(300):
        survives(TAU_BENCH, json.dumps(mutated(whole, random, 0.1)).encode(), "air.json")
    content = FILES[0].read_bytes() if FILES else json.dumps(whole).encode()
    for broken in (*truncated(content, random, 10), *flipped(content, random, 10)):
        survives(TAU_BENCH, broken, "air.json")
