"""Held events: locks that are stuck, drains that meet appends, folders of other users, stores that can only be read."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from foveate import Session
from foveate.errors import StoreError
from foveate.log.events import DiagnosticRecorded, Event
from foveate.store import Store, draining
from foveate.store.check import check
from foveate.store.engine import tell_waits
from foveate.store.held import HeldEvents
from foveate.store.held_files import fitting, in_order
from foveate.store.held_lines import Batch
from foveate.store.housekeeping import delete
from tests.dialogue import says, user
from tests.store.locking import locked

# Seconds: what is held is held within two, and machines are slow.
_WITHIN = 4.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a session of one message."""
    path = tmp_path / "a.db"
    with Session.open(path, "a") as session:
        session.append(user("one"))
    return path


@pytest.fixture
def undrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread drains."""
    monkeypatch.setattr(draining.Drainer, "start", lambda _drainer: None)


def texts(session: Session) -> list[str]:
    return [message.text for message in session.messages]


def noted(number: int, text: str) -> Event:
    return Event(session="a", seq=number, body=DiagnosticRecorded(code="x", phase="record", text=text))


def held_texts(held: HeldEvents) -> list[str]:
    return [event.body.text for batch in held.read() for event in batch.events]  # type: ignore[union-attr]


def append_elsewhere(store: Store) -> None:
    """Another machine, which does not see what is held, appends an event."""
    info = store.session("a")
    store.append(store.writer(info), [noted(info.events, "theirs")])


@contextmanager
def lock_kept(store: Store, name: str) -> Iterator[None]:
    """Another process was stopped while it had the lock of a session."""
    assert store.held.path is not None
    initial = store.held.of(name).name[0]
    with (store.held.path / f"lock-{initial}").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_forked_child_keeps_no_lock(path: Path) -> None:
    """A child that is forked while another thread appends neither has its lock nor keeps it from being freed."""
    with Store(path) as store:
        held = store.held.of("a")
        inside, done = threading.Event(), threading.Event()

        def keep() -> None:
            with held.locked(alone=True):
                inside.set()
                done.wait(10)

        thread = threading.Thread(target=keep)
        thread.start()
        inside.wait(10)
        child = os.fork()
        if not child:
            time.sleep(30)
            os._exit(0)
        try:
            done.set()
            thread.join()
            with held.locked(alone=True, wait=1.0):
                pass
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_what_is_held_during_a_drain_is_not_forgotten_with_it(
    path: Path, undrained: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A drain forgets the appends it wrote, and no other."""
    with Store(path) as store:
        session = Session.open(store, "a")
        with locked(f"sqlite:///{path}"):
            session.append(user("two"), hold=True)
        real = draining._written

        def write_slowly(*given: Any) -> list[Batch]:
            # Somebody else has the lock here, and the store seems busy.
            store.held.note_busy()
            began = time.monotonic()
            session.append(user("three"), hold=True)
            assert time.monotonic() - began < _WITHIN
            return real(*given)

        monkeypatch.setattr(draining, "_written", write_slowly)
        draining.drain_waiting(store)
        monkeypatch.setattr(draining, "_written", real)
        assert session.held_in is not None
        store.held.note_free()
        assert session.close()
        with Session.open(store, "a") as again:
            assert texts(again) == ["one", "two", "three"]
        assert check(store) == []


def test_a_stuck_lock_costs_less_than_two_seconds_and_no_safety(path: Path, undrained: None) -> None:
    """What cannot wait for the lock is a file of its own, read by all, and written in its order."""
    with Store(path) as store, Session.open(store, "a") as session:
        with locked(f"sqlite:///{path}"):
            with lock_kept(store, "a"):
                began = time.monotonic()
                session.append(user("two"), hold=True)
                view = session.compile()
                assert time.monotonic() - began < _WITHIN
                assert view.recorded_in == "held"
                assert session.held_in is not None and ".jsonl" in session.held_in
            session.append(says("three"), hold=True)
            with Session.open(store, "a") as other:
                assert texts(other) == ["one", "two", "three"]
        store.held.note_free()
        session.append(user("four"))
        assert session.held_in is None
        assert texts(session) == ["one", "two", "three", "four"]
        assert session.call(view.number).payload == view.payload
        assert check(store) == []


def test_a_delete_that_waits_keeps_nobody_from_holding(path: Path, undrained: None) -> None:
    """It waits for the store in turns, and has the lock only in between."""
    with Store(path, wait=6) as store, Session.open(store, "a") as session:
        with locked(f"sqlite:///{path}"):
            thread = threading.Thread(target=lambda: delete(store, store.session("a")))
            thread.start()
            began = time.monotonic()
            session.append(user("two"), hold=True)
            assert time.monotonic() - began < _WITHIN
        thread.join()
        assert store.find("a") is None


def test_batches_follow_those_they_go_on_from() -> None:
    """A number alone is no place: what another writer put there is another log."""
    first, other = Batch.of([noted(5, "a")]), Batch.of([noted(5, "b")])
    second, third = Batch.of([noted(6, "c")], first.id), Batch.of([noted(6, "d")], other.id)
    assert fitting([second, third, other, first], 5) == [other, third]
    assert fitting([second, first], 5) == [first, second]
    assert fitting([second, first], 6) == []
    assert fitting([second], 6, last=first.id) == [second]
    assert fitting([second], 6, last=17) == []
    assert in_order([second, third, other, first]) == [other, third, first, second]


def test_a_session_that_was_begun_by_the_drain_rebuilds_its_calls(path: Path, undrained: None) -> None:
    """Its calls are in the store by then, under a key that it did not have when it was opened."""
    with Store(path) as store:
        with locked(f"sqlite:///{path}"):
            session = Session.open(store, "new")
            session.append(user("one"), hold=True)
            view = session.compile()
        assert draining.drain_waiting(store)
        store.held.note_free()
        assert session.call(view.number).payload == view.payload
        assert session.close()
        assert store.session("new").indexed == 1


def test_the_drainer_does_not_end_while_something_is_held(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held during its last pass is written by it, or by one that is started."""
    with Store(path) as store, Session.open(store, "a") as one, Session.open(store, "b") as two:
        real, is_late = draining.drain_waiting, threading.Event()

        def drain_and_be_late(given: Store, wait: float) -> bool:
            is_done = real(given, wait)
            if is_done and not is_late.is_set():
                is_late.set()
                store.held.note_busy()
                two.append(user("late"), hold=True)
            return is_done

        monkeypatch.setattr(draining, "drain_waiting", drain_and_be_late)
        with locked(f"sqlite:///{path}"):
            one.append(user("two"), hold=True)
        assert is_late.wait(20)
        deadline = time.monotonic() + 20
        while two.held_in is not None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert two.held_in is None


def test_a_full_disk_in_a_drain_is_an_error_of_the_store(path: Path, undrained: None) -> None:
    """Events that need another place stay where they are, once; the session goes on, and so do stores that open."""
    with Store(path) as store:
        session = Session.open(store, "a")
        with locked(f"sqlite:///{path}"):
            session.append(user("two"), hold=True)
        append_elsewhere(store)
        store.held.note_free()
        held = store.held.of("a")
        assert held.path is not None
        half = held.path.with_suffix(".half")
        half.mkdir()
        with pytest.raises(StoreError, match="cannot be written"):
            held.replace(held.read(), [Batch.of([noted(9, "moved")])])
        assert session.append(user("three"), hold=True)
        with Store(path) as other:
            assert not draining.drain_waiting(other)
        half.rmdir()
        session.append(user("four"))
        assert sorted(texts(session)) == ["four", "one", "three", "two"]
        session.close()
        assert check(store) == []


def test_memory_and_file_are_replaced_together(tmp_path: Path) -> None:
    """If the file cannot be written, memory is as it was."""
    held = HeldEvents(tmp_path / "held", "a", "default")
    held.add(Batch.of([noted(3, "file")]))
    held.keep_in_memory(Batch.of([noted(4, "memory")]))
    assert held.path is not None
    half = held.path.with_suffix(".half")
    half.mkdir()
    with pytest.raises(StoreError):
        held.replace(held.read(), [Batch.of([noted(5, "moved")])])
    assert held_texts(held) == ["file", "memory"]
    half.rmdir()
    held.add_apart(Batch.of([noted(5, "apart")]))
    held.replace(held.read(), [Batch.of([noted(6, "moved")])])
    assert held_texts(held) == ["moved"]
    held.remove(held.read())
    assert held.is_empty


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_a_folder_of_another_user_is_in_nobodys_way(caplog: pytest.LogCaptureFixture, undrained: None) -> None:
    """What it holds is not seen, which is logged; the store is written all the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.db")
        with Session.open(path, "a") as session:
            session.append(user("one"))
        Path(folder).chmod(0o777)
        path.chmod(0o666)
        os.seteuid(65534)
        try:
            with Session.open(path, "a") as session:
                session.append(user("two"))
                with locked(f"sqlite:///{path}"):
                    session.append(user("three"), hold=True)
                    assert session.held_in is not None
                    assert f"{path.name}.held of held events cannot be used" in session.held_in
                session.append(user("four"))
        finally:
            os.seteuid(0)
        assert "what other users hold there is not seen" in caplog.text
        with Session.open(path, "a") as session:
            assert texts(session) == ["one", "two", "three", "four"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files for others")
def test_what_root_makes_belongs_to_the_owner_of_the_store(path: Path) -> None:
    """Who owns the store can hold events, whoever opened it first."""
    folder = Path(f"{path}.held")
    shutil.rmtree(folder)
    os.chown(path, 65534, 65534)
    with Session.open(path, "a") as session, locked(f"sqlite:///{path}"):
        session.append(user("two"), hold=True)
        assert {one.stat().st_uid for one in (folder, *folder.iterdir())} == {65534}


def test_a_locked_store_opens_soon_however_much_waits(path: Path, undrained: None) -> None:
    """The first append that is held takes one wait, the others none, and neither does opening wait for each of them."""
    with Store(path) as store:
        sessions = [Session.open(store, f"s{number}") for number in range(12)]
        with locked(f"sqlite:///{path}"):
            began = time.monotonic()
            for session in sessions:
                session.append(user("one"), hold=True)
            assert time.monotonic() - began < _WITHIN
            began = time.monotonic()
            Store(path).close()
            assert time.monotonic() - began < 2.0


@pytest.mark.parametrize("content", [b"", b'{"held":1,"sess'])
def test_a_file_without_a_first_line_holds_nothing(path: Path, undrained: None, content: bytes) -> None:
    """A process may be killed as it makes the file: nothing was acknowledged, and nothing is damaged."""
    with Store(path) as store:
        file = store.held.of("a").path
        assert file is not None
        file.write_bytes(content)
        store.held.note_busy()
        with Session.open(store, "a") as session:
            assert session.held_in is None
            session.append(user("two"), hold=True)
            store.held.note_free()
            session.append(user("three"))
            assert texts(session) == ["one", "two", "three"]
        assert check(store) == []


def test_nothing_is_made_beside_a_store_that_can_only_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call is kept in memory, which the view says, and no thread tries to write it."""
    shutil.rmtree(f"{path}.held")
    real = os.access
    monkeypatch.setattr(
        os, "access", lambda file, mode: (str(file) != str(path) and real(file, mode)) or mode != os.W_OK
    )
    with Store(path) as store:
        assert store.read_only
        threads = threading.active_count()
        with Session.open(store, "a", budget=4_000) as session:
            assert session.compile().recorded_in == "memory"
            assert session.held_in is not None and "the store can only be read" in session.held_in
        assert threading.active_count() == threads
    assert not Path(f"{path}.held").exists()


def test_a_session_that_another_process_deleted_begins_anew(path: Path) -> None:
    """It has what was said since, and nobody is said to have deleted rows."""
    with Store(path) as store, Session.open(store, "a") as session:
        with Store(path) as other:
            delete(other, other.session("a"))
        for number in range(3):
            session.append(user(f"after {number}"), hold=True)
            deadline = time.monotonic() + 20
            while session.held_in is not None and time.monotonic() < deadline:
                time.sleep(0.05)
        assert texts(session) == ["after 0", "after 1", "after 2"]
        assert session.compile().recorded_in == "store"
        assert check(store) == []


@pytest.mark.parametrize("is_busy", [True, False])
def test_a_refresh_takes_one_log(path: Path, undrained: None, *, is_busy: bool) -> None:
    """If others were first, what is held comes behind; observers hear of each number that is another one now."""
    with Store(path) as store, Session.open(store, "a") as session:
        first = session.context.length
        with locked(f"sqlite:///{path}"):
            session.append(user("mine"), hold=True)
        append_elsewhere(store)
        if not is_busy:
            store.held.note_free()
        heard: list[Event] = []
        session.subscribe(heard.append)
        session.refresh()
        assert heard[0].seq == first
        assert heard == list(session.events)[first:]
        store.held.note_free()
        session.append(user("next"))
        assert texts(session) == ["one", "mine", "next"]
        stored: Sequence[Event] = list(store.reader(store.session("a")).events())
        assert list(session.events) == stored


def test_an_append_that_waits_says_so(path: Path) -> None:
    with Store(path, wait=3) as store, Session.open(store, "a") as session, locked(f"sqlite:///{path}"):
        told: list[str] = []
        with tell_waits(told.append), pytest.raises(StoreError, match="locked"):
            session.append(user("two"))
        assert len(told) == 1 and "waiting up to 3 s" in told[0]
