"""A log whose session has no row: it is told as what it is, nothing begins in its place, and it can be brought back."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from foveate import Session
from foveate.errors import StoreError
from foveate.store import Store
from foveate.store.check import Problem, check
from tests.dialogue import says, user


def lost(path: Path, *, compiled: bool) -> None:
    """A store whose only session was deleted by a program that knows no foreign keys."""
    with Session.open(path, "it's S") as session:
        session.extend([user("the zebra question"), says("an answer"), user("and now?")])
        if compiled:
            session.compile()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("DELETE FROM sessions")
        raw.commit()


def problems(path: Path) -> list[Problem]:
    with Store(path) as store:
        return check(store)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_whole_log_is_never_called_harmless(tmp_path: Path, *, compiled: bool) -> None:
    """Only rows of which no event is left may be deleted."""
    path = tmp_path / "a.db"
    lost(path, compiled=compiled)
    (found,) = [one for one in problems(path) if one.place == "events"]

    assert "whole log" in found.what and "row is missing" in found.what
    assert ("it's S" in found.what) == compiled, "only calls have the name beside them"
    assert not any("delete these rows" in one.remedy for one in problems(path))


@pytest.mark.parametrize("compiled", [True, False])
def test_nothing_begins_in_the_place_of_a_lost_session(tmp_path: Path, *, compiled: bool) -> None:
    """Its name is in the checksums of its events. The remedy brings it back; others can be begun beside it."""
    path = tmp_path / "a.db"
    lost(path, compiled=compiled)
    with Session.open(path, "another") as other:
        other.append(user("Hello"))
    with pytest.raises(StoreError, match="has no row in `sessions`") as raised:
        Session.open(path, "it's S")
    statement = re.search(r"INSERT INTO .*?;", str(raised.value))
    assert statement is not None
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(statement[0])
        raw.commit()

    assert problems(path) == []
    with Session.open(path, "it's S") as session:
        assert [message.text for message in session.messages] == ["the zebra question", "an answer", "and now?"]
        session.append(says("It goes on."))
    with Store(path) as store:
        assert {one.session_id for one in store.sessions()} == {"another", "it's S"}
