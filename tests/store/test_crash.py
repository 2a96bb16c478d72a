"""Processes that are killed while they write: what was acknowledged is there, nothing is there by half."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from foveate import Session
from foveate.budget.tokens import SplintrCounter
from foveate.compile.rebuild import rebuilt_calls
from foveate.log.events import CallRecorded
from foveate.store import Store
from tests.store import engines

store_url = engines.store_url
ROOT = Path(__file__).parents[2]
ROUNDS = 12


def test_a_killed_writer_loses_nothing_it_was_told_is_safe(store_url: str) -> None:
    """Killed at random moments, again and again, on one and the same session."""
    rng = random.Random(20_931)
    acknowledged: dict[str, list[str]] = {}
    compiled = 0
    with Session.open(store_url, "shared"):
        pass
    for round_number in range(ROUNDS):
        said, calls = _killed(store_url, f"w{round_number}", rng.uniform(0.0, 0.8))
        acknowledged |= said
        compiled = max([compiled, *calls])
        _check(store_url, acknowledged, compiled)
    assert len(acknowledged) >= ROUNDS // 2
    _check_calls(store_url)


def _killed(url: str, name: str, after: float) -> tuple[dict[str, list[str]], list[int]]:
    """What a writer acknowledged before it was killed, so many seconds after its first append could begin."""
    command = [sys.executable, "-m", "tests.store.writing", url, "shared", name, "10000"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        # The last line may be cut off: then its append had returned, but nobody was told.
        told = [line.split() for line in process.stdout if line.endswith("\n")]
    assert process.returncode == -signal.SIGKILL
    said = {mark: ids for kind, mark, *ids in told if kind == "acknowledged"}
    return said, [int(words[1]) for words in told if words[0] == "compiled"]


def _check(url: str, acknowledged: dict[str, list[str]], compiled: int) -> None:
    with Store(url) as store, Session.open(store, "shared", budget=4_000) as session:
        by_id = {message.id: message for message in session.messages}
        for mark, ids in acknowledged.items():
            assert [by_id[one].role for one in ids] == ["user", "assistant", "tool", "tool"], mark
            assert by_id[ids[0]].text == f"{mark} question"
            assert by_id[ids[2]].text.startswith(f"{mark} ")
            places = [list(by_id).index(one) for one in ids[1:]]
            assert places == list(range(places[0], places[0] + 3)), "a batch stands together"
        # A batch is there whole or not at all, also one that nobody was told of.
        pairs = [call.id for message in session.messages for call in message.calls]
        results = [message.result.call_id for message in session.messages if message.result is not None]
        assert results == pairs
        recorded = [event.body for event in session.events if isinstance(event.body, CallRecorded)]
        assert [body.number for body in recorded] == list(range(1, len(recorded) + 1))
        assert len(recorded) >= compiled
        assert [event.seq for event in session.events] == list(range(session.context.length))
        assert session.compile().number == len(recorded) + 1
        info = store.session("shared")
        assert (info.events, info.messages) == (session.context.length, len(session.messages))


def _check_calls(url: str) -> None:
    with Store(url) as store:
        for body, view in rebuilt_calls(store.reader(store.session("shared")).events(), SplintrCounter()):
            assert not isinstance(view, Exception), (body.number, view)
