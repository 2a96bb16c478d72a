"""Engines: how each database is opened, and what its errors mean."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from foveate.errors import ConfigError, NoStoreError, StoreError

# How long a writer waits for another one, in seconds.
WAIT_SECONDS: Final = 30
_WRITES: Final = "foveate_writes"


def url_of(store: str | Path) -> URL:
    """The address of a store: a file's path, or `sqlite:///…` or `postgresql://…`."""
    given = str(store)
    if not given.strip():
        raise ConfigError(
            "`store` is empty; give a file such as agent.db, or an address such as postgresql://host/name"
        )
    if re.match(r"(sqlite|postgres(ql)?)\S*:/*[^/]", given) and "://" not in given:
        raise ConfigError(f"`store` {given!r} is no address; after the scheme stands ://, as in postgresql://host/name")
    if "://" not in given:
        return URL.create("sqlite", database=str(Path(given).expanduser()))
    try:
        url = make_url(given)
    except ArgumentError as error:
        raise ConfigError(f"`store` {given!r} is no address: {error}") from error
    match url.get_backend_name():
        case "sqlite":
            return url
        case "postgresql" | "postgres":
            return url.set(drivername="postgresql+psycopg")
        case other:
            raise ConfigError(f"`store` {shown(url)} has an unknown scheme {other!r}; known are sqlite and postgresql")


def shown(url: URL) -> str:
    """An address as it may be shown: a file by its path, a server without the password."""
    if url.get_backend_name() == "sqlite":
        return repr(url.database or ":memory:")
    plain = url.set(drivername="postgresql") if url.get_backend_name() == "postgresql" else url
    return repr(plain.render_as_string(hide_password=True))


def opened(url: URL, *, create: bool) -> Engine:
    """The engine of a store; a SQLite file that is not there is made only if `create` says so."""
    if url.get_backend_name() == "sqlite":
        return _sqlite(url, create=create)
    try:
        return create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": WAIT_SECONDS})
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise ConfigError(
            f"`store` {shown(url)} needs psycopg, which is not installed; pip install 'foveate[postgresql]'"
        ) from error


def writing(engine: Engine) -> Engine:
    """The engine for transactions that write: on SQLite they take the lock when they begin, not half-way through."""
    return engine.execution_options(**{_WRITES: True})


@contextmanager
def translated(url: URL) -> Generator[None, None, None]:
    """Raise `StoreError` for what a database complains of."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreError(_said(url, error)) from error


def _sqlite(url: URL, *, create: bool) -> Engine:
    database = url.database
    # An address of SQLite's own (`file:…?mode=ro&uri=true`) says itself what is to be made.
    if database and database != ":memory:" and not database.startswith("file:"):
        path = Path(database)
        if not create and not path.exists():
            raise NoStoreError(f"no store at {shown(url)}; name another with `--store`, or append to a session first")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make the folder of {shown(url)}: {error}") from error
    engine = create_engine(url, connect_args={"timeout": WAIT_SECONDS, "check_same_thread": False})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    # Transactions begin where we say, not where the driver guesses.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {WAIT_SECONDS * 1_000}")
    connection.execute("PRAGMA foreign_keys = ON")
    # In WAL mode readers never wait for a writer; FULL makes a commit that returned survive a power cut.
    mode: Any = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if mode != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # A file that cannot be written can still be read.
            if "readonly" not in str(error) and "unable to open" not in str(error):
                raise
    connection.execute("PRAGMA synchronous = FULL")
    # Moved to the file 16 MB at a time: pages of an index that are written often are moved once then.
    connection.execute("PRAGMA wal_autocheckpoint = 4000")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def insert_ignoring(connection: Connection, table: Table) -> Any:
    """An insert that leaves rows alone that are there: two writers may want the same at the same moment."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def insert_rows(connection: Connection, table: Table, rows: list[tuple[Any, ...]]) -> None:
    """Insert rows as they are, values in the order of the columns; of many this takes half the time."""
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    columns = ", ".join(column.name for column in table.columns)
    marks = ", ".join([mark] * len(table.columns))
    connection.exec_driver_sql(f"INSERT INTO {table.name} ({columns}) VALUES ({marks})", rows)  # noqa: S608


def storable(text: str) -> str:
    """A text as every engine can store it: PostgreSQL's has no NUL character."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}")


def stored_time(connection: Connection, moment: datetime) -> datetime | str:
    """A moment as the engine stores it when nobody converts it."""
    return moment if connection.dialect.name == "postgresql" else moment.strftime("%Y-%m-%d %H:%M:%S.%f")


_REMEDIES: Final = (
    ("database is locked", f"another process holds it for more than {WAIT_SECONDS} s; end that process and try again"),
    ("readonly database", "the file or its folder cannot be written; change its permissions or name another `store`"),
    ("disk is full", "free some space and try again; nothing that was stored before is lost"),
    ("disk i/o error", "the disk failed or is full; nothing that was stored before is lost"),
    ("unable to open database", "the folder is missing or cannot be written; name another `store`"),
    ("not a database", "the file is something else; name another `store`"),
    ("malformed", "the file is damaged; `foveate db check` says what can still be read"),
    ("could not connect", "is the server running, and does the address name it?"),
    ("connection refused", "is the server running, and does the address name it?"),
    ("does not exist", "create the database first, or correct the address"),
    ("password authentication", "correct the user or password in the address"),
)


def _said(url: URL, error: SQLAlchemyError) -> str:
    cause = str(error.orig if isinstance(error, DBAPIError) and error.orig is not None else error)
    lowered = cause.lower()
    remedy = next((remedy for sign, remedy in _REMEDIES if sign in lowered), None)
    line = " ".join(cause.split())
    said = f"store {shown(url)}: {line if len(line) <= 300 else line[:297] + '...'}"
    return f"{said}; {remedy}" if remedy else said
