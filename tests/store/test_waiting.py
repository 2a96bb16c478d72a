"""Nobody waits long without being told: a store that cannot be opened at this moment says so within two seconds."""

from __future__ import annotations

import lzma
import time
from pathlib import Path
from threading import Timer

import pytest
from typer.testing import CliRunner

from foveate import Session, StoreError
from foveate.cli.main import app
from foveate.store import Store
from foveate.store.engine import is_busy
from tests.dialogue import user
from tests.store import engines
from tests.store.locking import locked, locked_whole

postgresql_url = engines.postgresql_url
# In seconds: two, and what a slow machine takes for the rest.
SOON = 6.0
OLD_STORE = Path(__file__).parents[1] / "fixtures" / "stores" / "store-0.1.db.xz"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one session of one message."""
    file = tmp_path / "agent.db"
    with Session.open(file, "a", budget=4_000) as session:
        session.append(user("one"))
    return file


@pytest.fixture
def old_path(tmp_path: Path) -> Path:
    """A store that 0.1 wrote."""
    file = tmp_path / "old.db"
    file.write_bytes(lzma.decompress(OLD_STORE.read_bytes()))
    return file


def refused(store: str | Path, session_id: str) -> StoreError:
    """The error of a session that cannot be opened, which comes soon."""
    began = time.monotonic()
    with pytest.raises(StoreError, match="try again") as raised:
        Session.open(store, session_id, budget=4_000)
    assert time.monotonic() - began < SOON
    return raised.value


@pytest.mark.parametrize("session_id", ["a", "new"])
def test_a_store_that_cannot_even_be_read_is_refused_soon(path: Path, session_id: str) -> None:
    """Somebody waits for a session: it says that the store is busy, and opens once it is free."""
    with locked_whole(path):
        assert is_busy(refused(path, session_id))
    Session.open(path, session_id).close()


def test_an_old_store_that_cannot_be_migrated_is_refused_soon(old_path: Path) -> None:
    """Its schema must be written before anything else; that another process locks it is said at once."""
    with locked(f"sqlite:///{old_path}"):
        assert is_busy(refused(old_path, "new"))
    Session.open(old_path, "new").close()


@pytest.mark.parametrize("table", ["sessions", "events", "alembic_version"])
@pytest.mark.parametrize("session_id", ["a", "new"])
def test_a_table_that_cannot_be_read_is_said_soon(postgresql_url: str, table: str, session_id: str) -> None:
    """A server, too, may have locked what a session needs."""
    with Session.open(postgresql_url, "a", budget=4_000) as session:
        session.append(user("one"))
    with locked(postgresql_url, f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"):
        assert is_busy(refused(postgresql_url, session_id))


def test_a_command_says_that_it_waits_for_a_store(path: Path) -> None:
    """It is told while it waits, and goes on by itself once the store is free."""
    with locked_whole(path) as connection:
        timer = Timer(2.5, connection.close)
        timer.start()
        ran = CliRunner().invoke(app, ["sessions", "--store", str(path)])
        timer.join()
    assert ran.exit_code == 0
    assert "is locked by another process; waiting up to 30 s for it" in ran.stderr
    assert ran.stdout.startswith("session")


def test_a_program_that_waits_for_a_store_finds_it_in_its_log(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Who opens a store by itself waits as long as it said, and not in silence."""
    with locked_whole(path), pytest.raises(StoreError, match="try again"):
        Store(path, wait=1.8)
    assert "is locked by another process; waiting up to 2 s for it" in caplog.text


def test_a_store_that_is_locked_is_not_called_broken(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check says that it waits, then that it did not check, with an exit code of its own and no advice to rebuild."""
    monkeypatch.setattr("foveate.store.engine.WAIT_SECONDS", 2.0)
    for lock in (locked(f"sqlite:///{path}"), locked_whole(path)):
        with lock:
            ran = CliRunner().invoke(app, ["db", "check", "--store", str(path)])
        assert ran.exit_code == 5
        assert ran.stdout == ""
        assert "waiting up to 2 s for it" in ran.stderr
        assert "not checked: the store is busy (locked by another process); run it again when it is free" in ran.stderr
    ran = CliRunner().invoke(app, ["db", "check", "--store", str(path)])
    assert ran.exit_code == 0 and "is whole" in ran.stdout


def test_a_search_does_not_wait_for_a_store_that_is_locked(path: Path) -> None:
    """Who searches only reads: what is indexed is found, and how many messages are not is said."""
    with Session.open(path, "a", budget=4_000) as session:
        session.append(user("the lighthouse is indexed"))
    session = Session.open(path, "a", budget=4_000)
    session.append(user("the lighthouse is not"))
    with locked(f"sqlite:///{path}"):
        began = time.monotonic()
        ran = CliRunner().invoke(app, ["search", "lighthouse", "--store", str(path)])
        assert time.monotonic() - began < SOON
    session.close()
    assert ran.exit_code == 0
    assert ran.stdout.startswith("a m2")
    assert "1 message was not searched: it is not indexed yet" in ran.stderr
    assert "is locked by another process; search again when it is free" in ran.stderr
