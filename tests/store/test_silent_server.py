"""A server that answers nothing: what is said is held on disk soon, and written once when it answers again."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from foveate import Session
from foveate.errors import StoreError
from foveate.log.events import DiagnosticRecorded
from foveate.store import Store
from foveate.store.check import check
from foveate.store.engine import limit_wait
from foveate.store.silence import answered_within
from foveate.store.writer import Writer
from tests.dialogue import says, user
from tests.store import engines
from tests.store.freezing import frozen

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found as on Linux")
postgresql_url = engines.postgresql_url
# Seconds: what is held is held within two, and machines are slow.
_WITHIN = 4.0


@pytest.fixture
def url(postgresql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a session of one message."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Session.open(postgresql_url, "a", budget=4_000) as session:
        session.append(user("one"))
    return postgresql_url


def texts(session: Session) -> list[str]:
    return [message.text for message in session.messages]


def wait_until_written(session: Session) -> None:
    deadline = time.monotonic() + 30
    while session.held_in is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert session.held_in is None


@pytest.mark.parametrize("first", ["append", "compile"])
def test_a_silent_server_costs_less_than_two_seconds(url: str, tmp_path: Path, first: str) -> None:
    """Whatever is asked first, all of it is on disk soon, and in the store once the server answers."""
    with Session.open(url, "a", budget=4_000) as session:
        with frozen(url):
            began = time.monotonic()
            if first == "append":
                session.append(user("two"), hold=True)
                assert time.monotonic() - began < _WITHIN
            view = session.compile()
            assert time.monotonic() - began < _WITHIN
            assert view.recorded_in == "held"
            session.append(says("three"), hold=True)
            assert time.monotonic() - began < _WITHIN
            assert session.held_in is not None and "held in " in session.held_in
            assert list(tmp_path.rglob("*.jsonl"))
        wait_until_written(session)
        said = next(event.body.text for event in session.events if isinstance(event.body, DiagnosticRecorded))
        assert "did not answer" in said and "try again when it answers" in said
        assert texts(session) == ["one", *(["two"] if first == "append" else []), "three"]
        assert session.call(view.number).payload == view.payload
    with Store(url) as store:
        assert check(store) == []


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_server_that_falls_silent_in_a_transaction(url: str, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """Nobody knows whether the commit comes through; the events are there once."""
    real = Writer.append
    with ExitStack() as stack, Session.open(url, "a", budget=4_000) as session:

        def freeze_within(writer: Writer, connection: Connection, *given: Any) -> None:
            monkeypatch.setattr(Writer, "append", real)
            if moment == "before":
                stack.enter_context(frozen(url))
            real(writer, connection, *given)
            if moment == "after":
                stack.enter_context(frozen(url))

        monkeypatch.setattr(Writer, "append", freeze_within)
        began = time.monotonic()
        session.append(user("two"), hold=True)
        assert time.monotonic() - began < _WITHIN
        assert session.held_in is not None
        stack.close()
        wait_until_written(session)
        session.append(user("three"))
        assert texts(session) == ["one", "two", "three"]
    with Store(url) as store:
        assert check(store) == []
        assert store.session("a").messages == 3


def test_a_long_statement_is_not_taken_for_silence(url: str) -> None:
    """Who waits a moment for a lock waits longer for an answer; who said by when, only until then."""
    with Store(url) as store:
        with limit_wait(0.1), store.writing() as connection:
            connection.exec_driver_sql("SELECT pg_sleep(1.5)")
            assert connection.exec_driver_sql("SELECT 1").scalar() == 1
        with answered_within(0.2), pytest.raises(StoreError), store.reading() as connection:
            connection.exec_driver_sql("SELECT pg_sleep(5)")
        with store.reading() as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar() == 1


@pytest.fixture
def deaf_port() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def test_connecting_ends_in_time(deaf_port: int) -> None:
    """Also a server that takes a connection and says no more is given up, and said to be silent."""
    began, threads = time.monotonic(), threading.active_count()
    with answered_within(0.5), pytest.raises(StoreError, match=r"did not answer .*; it is stopped"):
        Store(f"postgresql://127.0.0.1:{deaf_port}/a")
    assert time.monotonic() - began < 2.0
    while threading.active_count() > threads and time.monotonic() - began < 20:
        time.sleep(0.05)
    assert threading.active_count() <= threads
