"""What a store could not take waits in a file, and is written once, in order, by whoever comes first."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.dialogue import says, user
from tests.store import engines
from tests.store.locking import locked

from foveate import Session, UnknownReferenceError
from foveate.compile.compiled import CompiledContext
from foveate.log.events import CallRecorded, DiagnosticRecorded
from foveate.store import Store, draining
from foveate.store.check import check, held_problems
from foveate.store.held import HeldEvents
from foveate.store.housekeeping import delete

store_url = engines.store_url
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def url(store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a session that has a message and a call."""
    # Again: a server that was started for this test has set it for all.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Session.open(store_url, "a", budget=4_000) as session:
        session.append(user("one"))
        session.compile()
    return store_url


def texts(session: Session) -> list[str]:
    return [message.text for message in session.messages]


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.jsonl"))


def numbers(session: Session) -> list[int]:
    return [event.body.number for event in session.events if isinstance(event.body, CallRecorded)]


def codes(session: Session) -> list[str]:
    return [event.body.code for event in session.events if isinstance(event.body, DiagnosticRecorded)]


def whole(url: str) -> None:
    with Store(url) as store:
        assert check(store) == []


_KILLED = """
import os, sys
from foveate import Session
from tests.dialogue import says, user
session = Session.open(sys.argv[1], sys.argv[2], budget=4_000)
session.append(user("two"), hold=True)
view = session.compile()
session.append(says("three"), hold=True)
print(view.number, view.recorded_in, view.payload_sha256, flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("name", ["a", "new"])
def test_a_killed_process_leaves_what_it_held(url: str, tmp_path: Path, name: str) -> None:
    """The next one that opens the store writes it, and every call can be rebuilt byte for byte."""
    with locked(url):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        ran = subprocess.run(
            [sys.executable, "-c", _KILLED, url, name],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=environment,
        )
        assert ran.returncode == -9, ran.stderr
        number, place, sha256 = ran.stdout.split()
        assert place == "held"
        assert len(files(tmp_path)) == 1
        # Others see it while it cannot be written.
        with Session.open(url, name, budget=4_000) as session:
            assert texts(session)[-2:] == ["two", "three"]
            assert session.call(int(number)).payload_sha256 == sha256
    with Store(url) as store:
        assert not files(tmp_path)
        with Session.open(store, name, budget=4_000) as session:
            assert texts(session) == [*(["one"] if name == "a" else []), "two", "three"]
            assert session.call(int(number)).payload_sha256 == sha256
            assert session.compile().number == int(number) + 1
    whole(url)


def test_two_processes_hold_in_one_order(url: str, tmp_path: Path) -> None:
    """Names of messages and numbers of calls are given once, also while nobody can write."""
    with Session.open(url, "a", budget=4_000) as one, Session.open(url, "a", budget=4_000) as two:
        with locked(url):
            ids = [one.append(user("two"), hold=True), two.append(user("three"), hold=True)]
            views = [one.compile(), two.compile(), one.compile()]
        ids.append(one.append(user("four"), hold=True))
        assert ids == ["m2", "m3", "m4"]
        assert [view.number for view in views] == [2, 3, 4]
        assert texts(two) == ["one", "two", "three"]
        assert [message.text for message in views[0].messages] == ["one", "two", "three"]
        for view in views:
            assert two.call(view.number).payload == view.payload
    whole(url)


def test_a_crash_before_the_file_is_removed_writes_nothing_twice(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reached the store is recognized, also if more is held behind it."""
    with Session.open(url, "a", budget=4_000) as session:
        with locked(url):
            session.append(user("two"), hold=True)
        with monkeypatch.context() as patch:
            patch.setattr(HeldEvents, "remove", lambda _held, _batches: None)
            deadline = time.monotonic() + 60
            while _stored(url) < 2 and time.monotonic() < deadline:
                time.sleep(0.05)
            session.close()
        assert len(files(tmp_path)) == 1
    with Session.open(url, "a", budget=4_000) as again, locked(url):
        again.append(user("three"), hold=True)
        assert texts(again) == ["one", "two", "three"]
    with Session.open(url, "a", budget=4_000) as again:
        assert texts(again) == ["one", "two", "three"]
    assert not files(tmp_path)
    whole(url)


def _stored(url: str) -> int:
    with Store(url) as store:
        return store.session("a").messages


def test_a_line_that_was_cut_off_was_never_acknowledged(tmp_path: Path) -> None:
    """A process may be killed in the middle of a write; what came before is read, what comes behind is whole."""
    url = str(tmp_path / "a.db")
    with Session.open(url, "a", budget=4_000) as session:
        with locked(f"sqlite:///{url}"):
            session.append(user("one"), hold=True)
            with files(tmp_path)[0].open("ab") as file:
                file.write(b'{"id":1,"events":[{"sess')
            session.append(user("two"), hold=True)
            assert files(tmp_path)[0].read_bytes().count(b"sess\n") == 0
        session.append(user("three"))
        assert texts(session) == ["one", "two", "three"]


def test_a_file_that_cannot_be_read_is_put_aside(tmp_path: Path) -> None:
    """It keeps nobody from going on, nothing of it is thrown away, and the check names it."""
    url = str(tmp_path / "a.db")
    with Session.open(url, "a", budget=4_000) as session:
        session.append(user("one"))
    folder = tmp_path / "a.db.held"
    with Session.open(url, "a", budget=4_000) as session, locked(f"sqlite:///{url}"):
        session.append(user("two"), hold=True)
        path = files(folder)[0]
        path.write_bytes(path.read_bytes().replace(b"user", b"us\xffr"))
    with Session.open(url, "a", budget=4_000) as session:
        session.append(user("three"))
        assert texts(session) == ["one", "three"]
    with Store(url) as store:
        (problem,) = check(store)
        assert ".damaged was put aside" in problem.what


def test_the_check_names_what_waits(tmp_path: Path) -> None:
    """Also while the store is locked, and nothing in it can be checked."""
    url = str(tmp_path / "a.db")
    with Session.open(url, "a", budget=4_000) as session, locked(f"sqlite:///{url}"):
        session.append(user("one"), hold=True)
        with Store(url, wait=0.1) as store:
            (problem,) = held_problems(store)
            assert problem.session_id == "a"
            assert "wait in" in problem.what and ".jsonl" in problem.what


def test_a_deleted_session_does_not_come_back(tmp_path: Path) -> None:
    """What waits of it is deleted with it."""
    url = str(tmp_path / "a.db")
    with Session.open(url, "a", budget=4_000) as session:
        session.append(user("one"))
    with Session.open(url, "a", budget=4_000) as session, full(tmp_path / "a.db"):
        session.append(user("two"), hold=True)
        with Store(url) as store:
            delete(store, store.session("a"))
    assert not files(tmp_path)
    with Store(url) as store:
        assert store.find("a") is None


@contextmanager
def full(path: Path) -> Iterator[None]:
    """A store that takes no event."""
    with closing(sqlite3.connect(path)) as connection:
        with connection:
            connection.execute(
                "CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
            )
        yield
        with connection:
            connection.execute("DROP TRIGGER full")


# --- another machine --------------------------------------------------------------------------------------------------


def test_what_is_held_comes_behind_what_another_machine_wrote(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, calls are rebuilt byte for byte under a number of their own, and the log says what changed."""
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    session = Session.open(url, "a", budget=4_000, system=system)
    monkeypatch.setattr(draining.Drainer, "start", lambda _drainer: None)
    with locked(url):
        session.append(user("mine"), hold=True)
        view = session.compile()
        session.append(says("answer"), hold=True)
        session.report_usage(50, call=view.number)
    file = files(tmp_path)[0]
    aside = file.rename(file.with_suffix(".elsewhere"))
    with Session.open(url, "a", budget=4_000) as other:
        assert other.append(user("theirs")) == "m2"
        theirs = other.compile()
    aside.rename(file)
    assert session.append(user("last")) == "m5"
    assert texts(session) == ["one", "theirs", "mine", "answer", "last"]
    assert session.compile().number == 4
    assert numbers(session) == [1, 2, 3, 4]
    assert session.call(2).payload == theirs.payload
    assert session.call(3).payload == view.payload
    assert session.call(3).to("anthropic") == view.to("anthropic")
    assert codes(session) == ["store_failed", "held_moved"]
    moved = next(event.body for event in session.events if getattr(event.body, "code", "") == "held_moved")
    assert isinstance(moved, DiagnosticRecorded)
    assert "m2 is m3 now" in moved.text and "call 2 is call 3" in moved.text
    session.close()
    assert not files(tmp_path)
    whole(url)


def test_every_new_number_of_a_call_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls first, none left out, however many there are; so each is found by the number that it was given."""
    url = str(tmp_path / "a.db")
    session = Session.open(url, "a", budget=4_000)
    monkeypatch.setattr(draining.Drainer, "start", lambda _drainer: None)
    views: list[CompiledContext] = []
    with locked(f"sqlite:///{url}"):
        for number in range(12):
            session.append(user(f"mine {number}"), hold=True)
            views.append(session.compile())
    (file,) = files(tmp_path)
    aside = file.rename(file.with_suffix(".elsewhere"))
    with Session.open(url, "a", budget=4_000) as other:
        other.append(user("theirs"))
        other.compile()
    aside.rename(file)
    session.refresh()
    session.append(user("last"))
    (moved,) = [
        event.body.text
        for event in session.events
        if isinstance(event.body, DiagnosticRecorded) and event.body.code == "held_moved"
    ]
    numbers_now = dict(re.findall(r"call (\d+) is call (\d+)", moved))
    assert [session.call(int(numbers_now[str(view.number)])).payload for view in views] == [
        view.payload for view in views
    ]
    names_now = dict(re.findall(r"(m\d+) is (m\d+) now", moved))
    assert names_now == {f"m{number}": f"m{number + 1}" for number in range(1, 13)}
    assert moved.index("is call") < moved.index("m1 is m2")
    session.close()


def test_a_call_that_cannot_be_rebuilt_is_said_to_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number is not given to another, and asking for it says why it is not there."""
    url = str(tmp_path / "a.db")
    with Session.open(url, "a", budget=4_000) as session:
        session.extend([user("one"), says("two")])
        session.compile()
    session = Session.open(url, "a", budget=4_000)
    monkeypatch.setattr(draining.Drainer, "start", lambda _drainer: None)
    with locked(f"sqlite:///{url}"):
        view = session.compile()
        session.close()
    for path in tmp_path.glob("a.db*"):
        if path.is_file():
            path.unlink()
    with Session.open(url, "a", budget=4_000) as session:
        with pytest.raises(UnknownReferenceError, match="call 2 was made while the store could not be written"):
            session.call(view.number)
        session.append(user("three"))
        assert session.compile().number == 3


# --- full disks -------------------------------------------------------------------------------------------------------

_FULL = """
import resource, sys
from pathlib import Path
from foveate import Session
from foveate.store.engine import limit_wait
from tests.dialogue import says, user
path = Path(sys.argv[1])
session = Session.open(path, "a", budget=4_000)
size = max(one.stat().st_size for one in path.parent.iterdir() if one.is_file())
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]) or size, resource.RLIM_INFINITY))
for number in range(20):
    session.append(user(f"message {number} " + "x" * 2_000), hold=True)
view = session.compile()
print(view.recorded_in, len(session.messages), flush=True)
if sys.argv[2] != "0":
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    session.append(user("last"), hold=True)
    print(session.close(), flush=True)
"""


@pytest.mark.parametrize(("limit", "place"), [(0, "held"), (1, "memory")])
def test_a_full_disk_loses_nothing(tmp_path: Path, limit: int, place: str) -> None:
    """It is held in the file; if not even that can be written, in memory, until there is room again."""
    path = tmp_path / "a.db"
    with Session.open(path, "a", budget=4_000) as session:
        # The store's own files are the largest: the file of held events has room where they have none.
        session.append(user("x" * 100_000))
        session.append(user("".join(chr(33 + number * 7919 % 90) for number in range(300_000))))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", _FULL, str(path), str(limit)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment,
    )
    assert ran.stdout.split()[:2] == [place, "22"], ran.stderr
    if place == "memory":
        assert ran.stdout.split()[2:] == ["True"]
    with Session.open(path, "a", budget=4_000) as session:
        assert [text[:10] for text in texts(session)[2:12]] == [f"message {number}".ljust(10) for number in range(10)]
        assert len(session.messages) == (23 if place == "memory" else 22)
        assert session.call(1).tokens > 0
        assert "store_failed" in codes(session)
    assert not files(tmp_path)
    whole(str(path))
