"""Commands that read say what waits beside a store and is no part of what they print."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from foveate import Session
from foveate.cli.main import app
from tests.dialogue import says, user
from tests.store.locking import locked


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A locked store with a session of which two messages wait, and one of which nothing is in the store yet."""
    file = tmp_path / "agent.db"
    with Session.open(file, "a", budget=4_000) as session:
        session.append(user("one"))
    with Session.open(file, "other", budget=4_000) as session:
        session.append(user("two"))
    with locked(f"sqlite:///{file}"):
        for name in ("a", "new"):
            with Session.open(file, name, budget=4_000) as session:
                session.append(user("held one"), hold=True)
                session.append(says("held two"), hold=True)
        yield file


@pytest.mark.parametrize("command", ["show", "transcript", "export", "explain", "recall"])
def test_what_waits_is_said_by_commands_that_do_not_show_it(path: Path, command: str) -> None:
    """How many events, and in which file; also where the output itself is for machines."""
    given = [command, "a", *(["m1"] if command == "recall" else []), "--store", str(path)]
    ran = CliRunner().invoke(app, given)
    assert ran.exit_code == 0
    assert "of this session wait in " in ran.stderr
    assert f"{path}.held" in ran.stderr
    assert "are not shown; they are written once the store can be written" in ran.stderr
    assert "held one" not in ran.stdout


def test_what_waits_is_said_for_all_sessions(path: Path) -> None:
    """Also of those that are not in the store yet; what is printed for machines stays JSON."""
    ran = CliRunner().invoke(app, ["sessions", "--json", "--store", str(path)])
    assert {one["session_id"] for one in json.loads(ran.stdout)} == {"a", "other"}
    assert "events of session 'a' wait in" in ran.stderr
    assert "events of session 'new' wait in" in ran.stderr
    assert "'other'" not in ran.stderr


@pytest.mark.parametrize("command", ["show", "transcript", "export", "explain"])
def test_a_session_that_only_waits_is_not_called_unknown(path: Path, command: str) -> None:
    """It is said where it waits."""
    ran = CliRunner().invoke(app, [command, "new", "--store", str(path)])
    assert ran.exit_code == 1
    assert "no session" not in ran.stderr
    assert f"its events are held in {path}.held" in ran.stderr


def test_nothing_is_said_of_sessions_of_which_nothing_waits(path: Path) -> None:
    """A line that is always there is not read."""
    ran = CliRunner().invoke(app, ["export", "other", "--store", str(path)])
    assert ran.exit_code == 0
    assert "wait" not in ran.stderr
