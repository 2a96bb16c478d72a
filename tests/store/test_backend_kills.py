"""Connections that are cut, and stores that are locked, at random moments: every number that was given stands for a call.

The first test is small; `ROUNDS` has more of it for who wants to look harder.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import NamedTuple

import pytest
from sqlalchemy import create_engine, make_url, text

from foveate import Session
from foveate.log.events import CallRecorded
from foveate.store import Store
from foveate.store.check import check
from tests.dialogue import says, user
from tests.store import engines
from tests.store.locking import locked

postgresql_url = engines.postgresql_url
ROUNDS = int(os.environ.get("FOVEATE_KILL_ROUNDS", "12"))


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


class Acknowledged(NamedTuple):
    """What a writer was told: the ids of messages, and the numbers of calls with their hashes."""

    messages: list[tuple[str, str]]
    calls: list[tuple[int, str]]


def test_no_call_number_is_lost_or_given_twice_when_backends_die(postgresql_url: str) -> None:
    """Two processes' worth of writers on one session, whose server connections are terminated again and again."""
    engine = create_engine(make_url(postgresql_url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    terminate = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )

    def kill() -> None:
        with engine.connect() as connection:
            connection.execute(terminate)

    try:
        _attacked(postgresql_url, kill, random.Random(8))
    finally:
        engine.dispose()


def test_no_call_number_is_lost_or_given_twice_when_a_file_is_locked(tmp_path: Path) -> None:
    """The same in a SQLite file that somebody else locks, now and then for longer than anybody waits."""
    url = engines.fresh_sqlite(tmp_path)
    rng = random.Random(9)

    def lock() -> None:
        with locked(url):
            time.sleep(rng.choice((0.05, 0.05, 0.3, 1.6)))

    _attacked(url, lock, rng)


def _attacked(url: str, attack: Callable[[], None], rng: random.Random) -> None:
    with Session.open(url, "shared", budget=4_000) as session:
        session.append(user("one"))
    over, ready = Event(), Barrier(3)
    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(_write, url, name, ready, over) for name in ("a", "b")]
        try:
            ready.wait(60)
            for _ in range(ROUNDS):
                time.sleep(rng.uniform(0, 0.25))
                attack()
        finally:
            over.set()
    told = [_result(writer) for writer in writers]
    _check(url, told)


def _result(writer: Future[Acknowledged]) -> Acknowledged:
    return writer.result(timeout=60)


def _write(url: str, name: str, ready: Barrier, over: Event) -> Acknowledged:
    told = Acknowledged([], [])
    with Session.open(url, "shared", budget=4_000) as session:
        number = 0
        ready.wait(60)
        while not over.is_set():
            number += 1
            said = f"{name} {number}"
            told.messages.append((session.append(user(said), hold=True), said))
            view = session.compile()
            told.calls.append((view.number, view.payload_sha256))
            told.messages.append((session.append(says(f"{said} answered"), hold=True), f"{said} answered"))
    return told


def _check(url: str, told: list[Acknowledged]) -> None:
    messages = [one for writer in told for one in writer.messages]
    calls = [one for writer in told for one in writer.calls]
    assert len(calls) > 4
    assert len({number for number, _ in calls}) == len(calls), "a number was given twice"
    assert len({name for name, _ in messages}) == len(messages), "a name was given twice"
    with Store(url) as store:
        with Session.open(store, "shared", budget=4_000) as session:
            by_id = {message.id: message.text for message in session.messages}
            assert {name: by_id.get(name) for name, _ in messages} == dict(messages)
            recorded = [event.body for event in session.events if isinstance(event.body, CallRecorded)]
            assert [body.number for body in recorded] == list(range(1, len(recorded) + 1))
            hashes = {body.number: body.payload_sha256 for body in recorded}
            assert {number: hashes.get(number) for number, _ in calls} == dict(calls)
            for number, sha256 in calls[:: max(1, len(calls) // 20)]:
                assert session.call(number).payload_sha256 == sha256
        assert check(store) == []
