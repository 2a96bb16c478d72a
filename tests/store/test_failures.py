"""What goes wrong with stores is said clearly, and loses nothing."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from foveate import ConfigError, LogError, Session, StoreError, StoreVersionError
from foveate.log.events import DiagnosticRecorded
from foveate.store import Store, engine
from foveate.store.engine import is_damage
from foveate.store.schema import artifacts
from tests.dialogue import lines, says, user
from tests.store import engines

store_url = engines.store_url
postgresql_url = engines.postgresql_url


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one session of two messages."""
    file = tmp_path / "agent.db"
    with Session.open(file, "a", budget=4_000) as session:
        session.extend([user("one"), says("two")])
    return file


def texts(file: Path) -> list[str]:
    """What the session in a store says."""
    with Session.open(file, "a") as session:
        return [message.text for message in session.messages]


@contextmanager
def full(store: Store) -> Iterator[None]:
    """A disk without room for another page."""
    with store.reading() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    with closing(sqlite3.connect(str(store.url.database))) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    changed = engine._prepare

    def prepare(connection: sqlite3.Connection, record: object) -> None:
        changed(connection, record)
        connection.execute(f"PRAGMA max_page_count = {pages}")

    from sqlalchemy import event

    event.listen(store._engine, "connect", prepare)
    yield
    event.remove(store._engine, "connect", prepare)
    store.close()


def test_a_full_disk_refuses_an_append_and_not_a_call(path: Path) -> None:
    """The call goes on without its record, which says so once there is room again; what was there stays."""
    with Store(path) as store, Session.open(store, "a", budget=4_000) as session:
        with full(store):
            with pytest.raises(StoreError, match="full; free some space"):
                session.append(user(random.Random(1).randbytes(200_000).hex()))
            assert [message.text for message in session.messages] == ["one", "two"]
            store_texts = [message["content"] for message in session.compile().to("openai")]
        assert store_texts == ["one", "two"]
        session.append(user("three"))
        assert session.compile().number >= 1
    assert texts(path) == ["one", "two", "three"]


def test_a_call_whose_record_cannot_be_written_is_made_all_the_same(path: Path) -> None:
    """Fail open, visibly: the request comes back and says where its record is, and a diagnostic follows."""
    with Session.open(path, "a", budget=4_000) as session:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            view = session.compile()
            assert view.recorded_in == "held"
            with engine.limit_wait(0.01), pytest.raises(StoreError, match="database is locked"):
                session.append(user("three"))
        assert [message["content"] for message in view.to("openai")] == ["one", "two"]
        session.append(user("three"))
        assert session.call(view.number).payload == view.payload
    with Session.open(path, "a") as again:
        said = [event.body for event in again.events if isinstance(event.body, DiagnosticRecorded)]
        assert [one.code for one in said] == ["store_failed"]
        assert "database is locked" in said[0].text
        assert again.call(view.number).payload == view.payload
    assert texts(path) == ["one", "two", "three"]


def test_a_file_that_cannot_be_written_can_be_read(path: Path) -> None:
    """Messages and past calls are there; appending is refused with the remedy."""
    with Session.open(path, "a", budget=4_000) as session:
        session.compile()
    with Session.open(f"sqlite:///file:{path}?mode=ro&uri=true", "a", budget=4_000) as session:
        assert [message.text for message in session.messages] == ["one", "two"]
        assert session.call(1).tokens > 0
        assert session.compile().tokens > 0
        with pytest.raises(StoreError, match="permissions or name another `store`"):
            session.append(user("three"))
    assert texts(path) == ["one", "two"]


def test_a_damaged_row_is_named_and_the_others_are_there(store_url: str) -> None:
    """The error says which event of which session; another session is not touched by it."""
    with Store(store_url) as store:
        for name in ("a", "b"):
            with Session.open(store, name) as session:
                session.extend([user("one"), user("two")])
        with store.writing() as connection:
            connection.exec_driver_sql('UPDATE events SET body = \'{"kind": "mess\' WHERE session = 1 AND seq = 2')
        with pytest.raises(LogError, match=r"event 2 of session 'a' cannot be read.*db check"):
            Session.open(store, "a")
        with Session.open(store, "b") as session:
            assert len(session.messages) == 2


def test_a_missing_row_is_named(store_url: str) -> None:
    """A log with a hole is not passed off as a shorter one."""
    with Store(store_url) as store:
        with Session.open(store, "a") as session:
            session.extend([user("one"), user("two"), user("three")])
        with store.writing() as connection:
            connection.exec_driver_sql("DELETE FROM events WHERE seq = 3")
        with pytest.raises(LogError, match="event 3 of session 'a' is missing"):
            Session.open(store, "a")


def test_a_damaged_artifact_is_named(store_url: str) -> None:
    """Its content must have the hash that is its name."""
    with Store(store_url) as store:
        with Session.open(store, "a") as session:
            session.append(user(lines(500)))
        with store.writing() as connection:
            connection.execute(artifacts.update().values(data=b"rubbish"))
        with pytest.raises(StoreError, match=r"artifact .* is damaged"):
            Session.open(store, "a")


@pytest.mark.parametrize(
    "content", [b"this is a letter, and no database at all" * 50, b"SQLite format 3\x00" + b"\xff" * 4_096]
)
def test_a_file_that_is_something_else_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """It may be somebody's letter."""
    file = tmp_path / "letter.txt"
    file.write_bytes(content)
    with pytest.raises(StoreError, match=r"letter\.txt"):
        Session.open(file, "a")
    assert file.read_bytes() == content


def test_damage_in_the_names_of_tables_is_an_error_of_ours(path: Path) -> None:
    """SQLite cites the damaged name in its message, in which it is no text; the error is clear all the same."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(b"tablesessionssessions") + len(b"table")] = 0x9E
    damaged[damaged.index(b"CREATE TABLE sessions")] = ord("X")
    path.write_bytes(damaged)
    with pytest.raises(StoreError) as raised:
        Store(path, create=False)
    assert is_damage(raised.value)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    """Its `sessions` are not ours."""
    file = tmp_path / "theirs.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE sessions (token TEXT)")
    with pytest.raises(StoreError, match="tables of another program"):
        Session.open(file, "a")
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("sessions",)]


def test_a_store_of_a_newer_version_is_not_touched(store_url: str) -> None:
    """The error names both versions; not a byte changes."""
    with Store(store_url) as store:
        with Session.open(store, "a") as session:
            session.append(user("one"))
        with store.writing() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    file = Path(store_url.removeprefix("sqlite:///"))
    before = file.read_bytes() if file.exists() else b""
    with pytest.raises(StoreVersionError, match="schema 9999, this Foveate knows up to"):
        Session.open(store_url, "a")
    assert (file.read_bytes() if file.exists() else b"") == before


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    """The address is shown, what to look at is said, the secret is not."""
    with pytest.raises(StoreError, match="is the server running") as caught:
        Session.open("postgresql://me:secret@127.0.0.1:1/agents", "a")
    assert "secret" not in str(caught.value)


def test_a_connection_that_was_cut_is_made_again(postgresql_url: str) -> None:
    """A server that restarted costs nothing but the time to connect."""
    with Session.open(postgresql_url, "a") as session:
        session.append(user("one"))
        with Store(postgresql_url) as other, other.writing() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        session.append(user("two"))
        assert session.compile().number == 1


@pytest.mark.parametrize(
    ("store", "problem"),
    [
        ("", "`store` is empty"),
        ("mysql://host/name", "unknown scheme 'mysql'"),
        ("http://", "is no address|unknown scheme"),
    ],
)
def test_an_address_that_cannot_work_is_refused(store: str, problem: str) -> None:
    """With what would."""
    with pytest.raises(ConfigError, match=problem):
        Session.open(store, "a")


def test_the_folder_of_a_new_store_is_made(tmp_path: Path) -> None:
    """A path that is given is a path that is wanted."""
    file = tmp_path / "deep" / "down" / "agent.db"
    with Session.open(file, "a") as session:
        session.append(user("one"))
    assert texts(file) == ["one"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make the folder"):
        Session.open(tmp_path / "file" / "agent.db", "a")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE passages SET words = 'many'", "its search index is damaged"),
        ("UPDATE alembic_version SET version_num = 1", "has a damaged version of its schema, '1'"),
    ],
)
def test_values_that_nobody_wrote_are_damage_and_no_crash(tmp_path: Path, statement: str, said: str) -> None:
    """Whatever stands where a number or a version should."""
    file = tmp_path / "agent.db"
    with Session.open(file, "a") as session:
        session.append({"role": "user", "content": "the quick brown fox"})
    with Store(file) as store:
        assert store.search("fox")
    with sqlite3.connect(file) as connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(StoreError, match=said), Store(file) as store:
        store.search("fox")
