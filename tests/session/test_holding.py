"""What a store refuses is held if the caller asks for it, and written as soon as it can be."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.dialogue import says, user

from foveate import Session, StoreError
from foveate.budget.tokens import counter_for
from foveate.log.context import AgentContext
from foveate.log.events import DiagnosticRecorded, Event, MessageAppended, Pinned
from foveate.session.commit import EventWriter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with Session.open(path, "a", budget=4_000) as session:
        session.append(user("one"))
    return path


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


def stored(path: Path) -> tuple[list[str], list[str]]:
    """The texts of a store's messages, and the codes of what went wrong."""
    with Session.open(path, "a") as session:
        codes = [event.body.code for event in session.events if isinstance(event.body, DiagnosticRecorded)]
        return [message.text for message in session.messages], codes


def test_what_is_held_is_seen_at_once_and_written_with_what_comes_next(path: Path) -> None:
    """Requests have it, who listens is told why, once, and the store has all of it in order."""
    told: list[Event] = []
    with Session.open(path, "a", budget=4_000) as session:
        session.subscribe(told.append)
        with full(path):
            assert session.append(user("two"), hold=True) == "m2"
            session.reframe(system="Be kind.", hold=True)
            view = session.compile()
            assert session.append(says("three"), hold=True) == "m3"
            with pytest.raises(StoreError, match="the disk is full"):
                session.append(user("refused"))
        assert [message.text for message in view.messages] == ["one", "two"]
        assert view.system_prompt == "Be kind."
        assert [one.body.code for one in told if isinstance(one.body, DiagnosticRecorded)] == ["store_failed"]
        session.append(user("four"))
        dumped = session.dump()
    assert stored(path) == (["one", "two", "three", "four"], ["store_failed"])
    with Session.open(path, "a", budget=4_000) as again:
        assert again.dump() == dumped


def test_closing_writes_what_is_held_or_says_that_it_could_not(path: Path) -> None:
    session = Session.open(path, "a", budget=4_000)
    with full(path):
        session.append(user("two"), hold=True)
    assert session.close()
    assert stored(path)[0] == ["one", "two"]

    session = Session.open(path, "a", budget=4_000)
    with full(path):
        session.append(user("three"), hold=True)
        assert not session.close()
    assert stored(path)[0] == ["one", "two", "three"], "the next process that opens it writes it"
    assert not list(held_files(path))


def test_what_others_write_comes_behind_what_is_held(path: Path) -> None:
    """Each writer writes first what is held, also another's: nobody's words are lost, and a name is given once."""
    told: list[str] = []
    with Session.open(path, "a", budget=4_000) as mine, Session.open(path, "a", budget=4_000) as others:
        with full(path):
            assert mine.append(user("mine"), hold=True) == "m2"
        assert others.append(user("theirs")) == "m3"
        others.record(Pinned(message_id="m3"))
        mine.subscribe(lambda event: told.append(_named(event)))
        mine.append(user("last"), hold=True)
        assert [message.id for message in mine.messages] == ["m1", "m2", "m3", "m4"]
        assert mine.pins == ("m3",)
        assert [one for one in told if one] == ["theirs", "m3 pinned", "last"]
        assert [message.text for message in mine.compile().messages] == ["one", "mine", "theirs", "last"]
    assert stored(path)[0] == ["one", "mine", "theirs", "last"]


def _named(event: Event) -> str:
    match event.body:
        case MessageAppended(message=message):
            return message.text
        case Pinned(message_id=message_id):
            return f"{message_id} pinned"
        case _:
            return ""


def held_files(path: Path) -> list[Path]:
    """The files of a store in which events wait."""
    return sorted(path.with_name(f"{path.name}.held").glob("*.jsonl"))


def test_a_writer_without_a_journal_holds_nothing() -> None:
    writer = EventWriter(AgentContext())
    writer.commit(lambda context: context.with_events([Pinned(message_id="m1")]), hold=True)
    assert writer.close(counter_for(None))
