"""A held file that is damaged loses what is damaged and nothing else, and the log says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.dialogue import says, user
from tests.store.locking import locked

from foveate import Session
from foveate.log.events import CallRecorded, DiagnosticRecorded, Event
from foveate.store import Store, draining
from foveate.store.check import check
from foveate.store.held import HeldEvents
from foveate.store.held_lines import Batch


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a session of one message, and three that are held behind it."""
    path = tmp_path / "a.db"
    with Session.open(path, "a", budget=4_000) as session:
        session.append(user("one"))
    monkeypatch.setattr(draining.Drainer, "start", lambda _drainer: None)
    with locked(f"sqlite:///{path}"), Session.open(path, "a", budget=4_000) as session:
        assert [session.append(user(text), hold=True) for text in ("two", "three", "four")] == ["m2", "m3", "m4"]
    return path


def held_files(path: Path) -> list[Path]:
    return list(Path(f"{path}.held").glob("*.jsonl"))


def held_file(path: Path) -> Path:
    (file,) = held_files(path)
    return file


def aside(path: Path) -> list[Path]:
    return list(Path(f"{path}.held").glob("*.damaged"))


def texts(session: Session) -> list[str]:
    return [message.text for message in session.messages]


def said(session: Session, code: str) -> list[str]:
    bodies = [event.body for event in session.events]
    return [body.text for body in bodies if isinstance(body, DiagnosticRecorded) and body.code == code]


def numbers(session: Session) -> list[int]:
    return [event.body.number for event in session.events if isinstance(event.body, CallRecorded)]


def unsealed(data: bytes) -> bytes:
    """What an earlier version would have written."""
    return re.sub(rb',"sum":"[0-9a-f]{8}"', b"", data)


def break_line(path: Path, word: bytes) -> bytes:
    """Damage the line that has a word."""
    file = held_file(path)
    lines = file.read_bytes().split(b"\n")
    (number,) = [number for number, line in enumerate(lines) if b'"' + word + b'"' in line]
    broken = lines[number] = lines[number].replace(b'"events"', b'"evAnts"')
    file.write_bytes(b"\n".join(lines))
    return broken


@pytest.mark.parametrize("word", ["two", "three", "four"])
def test_one_damaged_line_loses_that_line_alone(path: Path, word: str, caplog: pytest.LogCaptureFixture) -> None:
    """All others are written, it is put aside, and the log of the session and that of the program say so."""
    broken = break_line(path, word.encode())
    with Session.open(path, "a", budget=4_000) as session:
        kept = [text for text in ("one", "two", "three", "four") if text != word]
        assert texts(session) == kept
        assert session.held_in is None
        (file,) = aside(path)
        assert broken + b"\n" in file.read_bytes()
        (text,) = said(session, "held_damaged")
        assert str(file) in text and "checksum does not match" in text
        assert str(file) in caplog.text
        session.append(user("five"))
        assert texts(session) == [*kept, "five"]
    with Session.open(path, "a", budget=4_000) as again:
        assert len(said(again, "held_damaged")) == 1
    with Store(path) as store:
        (problem,) = check(store)
        assert ".damaged was put aside" in problem.what


def test_a_changed_text_is_not_believed(path: Path) -> None:
    """Nobody could tell later that it was never said so."""
    file = held_file(path)
    file.write_bytes(file.read_bytes().replace(b'"three"', b'"thrice"'))
    with Session.open(path, "a", budget=4_000) as session:
        assert texts(session) == ["one", "two", "four"]
    assert b'"thrice"' in aside(path)[0].read_bytes()


def test_what_an_earlier_version_held_is_read(path: Path) -> None:
    """Its lines have no checksum."""
    file = held_file(path)
    file.write_bytes(unsealed(file.read_bytes()))
    with Session.open(path, "a", budget=4_000) as session:
        assert texts(session) == ["one", "two", "three", "four"]
        assert not said(session, "held_damaged")
    assert not aside(path)


def test_a_damaged_first_line_loses_nothing(path: Path) -> None:
    """Each line says itself whose it is."""
    file = held_file(path)
    file.write_bytes(file.read_bytes().replace(b'{"held"', b'["held"', 1))
    with Store(path), Session.open(path, "a", budget=4_000) as session:
        assert texts(session) == ["one", "two", "three", "four"]
        assert "line 1" in said(session, "held_damaged")[0]


@pytest.mark.parametrize(
    ("pattern", "put"),
    [
        (rb'"events":\[.*\]', b'"events":[]'),
        (rb'"id":\d+', b'"id":99999999999999999999'),
        (rb'"id":\d+', b'"id":9223372036854775808'),
        (rb'"seq":\d+', b'"seq":-4'),
        (rb'"seq":\d+', b'"seq":9223372036854775807'),
        (rb'"seq":\d+', b'"seq":1e300'),
        (rb'"session":"a"', b'"session":"b"'),
        (rb"two", b"t\xff\x00o"),
        (rb'"events":\[', b'"events":[' + b"[" * 5_000),
    ],
)
@pytest.mark.parametrize("is_sealed", [True, False])
def test_whatever_a_line_says_the_store_opens(path: Path, pattern: bytes, put: bytes, *, is_sealed: bool) -> None:
    """It is damaged, and the others are written; also if there is no checksum that tells."""
    file = held_file(path)
    data = file.read_bytes() if is_sealed else unsealed(file.read_bytes())
    header, _, lines = data.partition(b"\n")
    file.write_bytes(header + b"\n" + re.sub(pattern, lambda _: put, lines, count=1))
    Store(path).close()
    with Session.open(path, "a", budget=4_000) as session:
        assert texts(session) == ["one", "three", "four"]
        assert len(said(session, "held_damaged")) == 1
        session.append(says("five"))
    with Store(path) as store:
        assert [problem.place for problem in check(store)] == ["held events"]


def noted(session_id: str, number: int, text: str) -> Event:
    return Event(session=session_id, seq=number, body=DiagnosticRecorded(code="x", phase="record", text=text))


def test_a_file_of_one_append_that_is_damaged_is_put_aside(path: Path) -> None:
    """Also what was held without the lock loses only what is damaged."""
    held = HeldEvents(held_file(path).parent, "a", "default")
    last = held.read()[-1]
    held.add_apart(Batch.of([noted("a", last.end, "apart")], last.id))
    (apart,) = [file for file in held_files(path) if b"apart" in file.read_bytes()]
    apart.write_bytes(apart.read_bytes().replace(b"apart", b"aport"))
    with Session.open(path, "a", budget=4_000) as session:
        assert texts(session) == ["one", "two", "three", "four"]
        assert not said(session, "x")
        assert len(said(session, "held_damaged")) == 1
        assert session.held_in is None


def test_one_sessions_trouble_is_not_that_of_the_others(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is raised for one, the store opens, and the others are written."""
    with locked(f"sqlite:///{path}"), Session.open(path, "b", budget=4_000) as session:
        session.append(user("other"), hold=True)
    real = HeldEvents.read

    def fail(held: HeldEvents) -> list[Batch]:
        if held.session_id == "a":
            raise IndexError
        return real(held)

    monkeypatch.setattr(HeldEvents, "read", fail)
    with Store(path) as store:
        assert store.session("b").messages == 1


def test_a_line_of_another_session_is_noticed(path: Path, tmp_path: Path) -> None:
    """A checksum is that of a line in the file of its own session."""
    held = HeldEvents(tmp_path / "other", "b", "default")
    held.add(Batch.of([noted("b", 0, "mine")]))
    assert held.path is not None
    line = held_file(path).read_bytes().split(b"\n")[1]
    with held.path.open("ab") as file:
        file.write(line.replace(b'"session":"a"', b'"session":"b"') + b"\n")
    assert [batch.events for batch in held.read()] == [(noted("b", 0, "mine"),)]
    assert held.is_damaged


@pytest.mark.parametrize("word", ["two", "three", "four"])
def test_what_is_said_before_the_damage_can_be_put_aside_is_kept(path: Path, word: str) -> None:
    """While the store is locked nothing has its place yet; once it is not, all has one."""
    break_line(path, word.encode())
    with locked(f"sqlite:///{path}"), Session.open(path, "a", budget=4_000) as session:
        session.append(user("five"), hold=True)
        view = session.compile()
    with Session.open(path, "a", budget=4_000) as session:
        assert sorted(texts(session)) == sorted({"one", "two", "three", "four", "five"} - {word})
        assert session.call(numbers(session)[-1]).payload == view.payload
        assert len(said(session, "held_damaged")) == 1
        assert session.held_in is None
    with Store(path) as store:
        assert [problem.place for problem in check(store)] == ["held events"]
