"""Engines: how each database is opened, and what its errors mean."""

from __future__ import annotations

import logging
import re
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any, Final, NamedTuple

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from foveate.errors import ConfigError, FoveateError, NoStoreError, StoreError
from foveate.store.access import Access, access_to, create_store_file
from foveate.store.silence import NO_ANSWER, each_answered_within, is_time_up, watch

# How long a writer waits for another one, in seconds; and where a person waits for the answer of a model.
WAIT_SECONDS: Final = 30.0
INTERACTIVE_WAIT: Final = 1.5
_WRITES: Final = "foveate_writes"
_logger: Final = logging.getLogger("foveate")
# After so many seconds of waiting it is said: within two, with the time that a command takes to begin.
PATIENCE: Final = 1.0
# In seconds: for so long at a time a store is waited for, so that those who must hold something come in between.
_TURN: Final = 0.2
# In seconds: a server that answers nothing for so long has no more to say to somebody who waits for no lock.
_LONGEST: Final = 30.0
_tell: Final[ContextVar[Callable[[str], None] | None]] = ContextVar("foveate_tell_waits", default=None)
_wait_limit: Final[ContextVar[float | None]] = ContextVar("foveate_wait_limit", default=None)


@contextmanager
def limit_wait(seconds: float) -> Generator[None, None, None]:
    """Have the transactions that begin inside wait no longer than this for a lock, whatever their store says.

    Who has so little time that it is no more than `INTERACTIVE_WAIT` is also not kept by a server that says nothing.
    """
    with each_answered_within(_LONGEST if seconds <= INTERACTIVE_WAIT else None), _limited(seconds):
        yield


@contextmanager
def _limited(seconds: float) -> Generator[None, None, None]:
    token = _wait_limit.set(seconds)
    try:
        yield
    finally:
        _wait_limit.reset(token)


@contextmanager
def tell_waits(tell: Callable[[str], None]) -> Generator[None, None, None]:
    """Have somebody told, inside, when a transaction has to wait long for another process."""
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)


def tell_wait(url: URL, wait: float) -> None:
    """Tell those who want to know that a store is waited for; if nobody said so, the log."""
    tell = _tell.get() or _logger.warning
    tell(f"store {shown(url)} is locked by another process; waiting up to {wait:.0f} s for it")


def wait_in_turns(url: URL, attempt: Callable[[], None], wait: float) -> None:
    """Attempt something until a store is no longer busy, for `wait` seconds; in short turns, with all let go between.

    Raises the error of the last attempt, or what else goes wrong.
    """
    began, is_told = time.monotonic(), False
    while True:
        left = max(0.0, began + wait - time.monotonic())
        try:
            with _limited(min(_TURN, left)):
                attempt()
        except StoreError as error:
            waited = time.monotonic() - began
            if not is_busy(error) or waited >= wait or is_time_up():
                raise
            if waited >= PATIENCE and wait > INTERACTIVE_WAIT and not is_told:
                is_told = True
                tell_wait(url, wait)
            if is_silent(error):
                # It was not waited for: there is no use in asking at once.
                time.sleep(_TURN)
        else:
            return


def wait_limit(default: float) -> float:
    """How long a transaction that begins here waits for a lock."""
    limit = _wait_limit.get()
    return default if limit is None else limit


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


class Opened(NamedTuple):
    """The engine of a store, and how its file is accessed if it has one."""

    engine: Engine
    access: Access | None = None


def opened(url: URL, *, create: bool, wait: float = WAIT_SECONDS) -> Opened:
    """The engine of a store; a SQLite file that is not there is made only if `create` says so.

    `wait` is how long a transaction waits for a lock, in seconds.
    """
    if url.get_backend_name() == "sqlite":
        return _sqlite(url, create=create, wait=wait)
    try:
        # What the address says of these goes before.
        signs = {name: value for name, value in _SIGNS_OF_LIFE.items() if name not in url.query}
        engine = create_engine(url, connect_args=signs)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise ConfigError(
            f"`store` {shown(url)} needs psycopg, which is not installed; pip install 'foveate[postgresql]'"
        ) from error
    watch(engine, partial(wait_limit, wait))
    event.listen(engine, "begin", partial(_begin_postgresql, wait))
    return Opened(engine)


def writing(engine: Engine) -> Engine:
    """The engine for transactions that write: on SQLite they take the lock when they begin, not half-way through."""
    return engine.execution_options(**{_WRITES: True})


@contextmanager
def translated(url: URL) -> Generator[None, None, None]:
    """Raise `StoreError` for what a database complains of, and for values that SQLite gives back and we cannot read."""
    try:
        yield
    except FoveateError:
        raise
    except SQLAlchemyError as error:
        raise StoreError(_said(url, error)) from error
    except _UNREADABLE as error:
        # The text of an error, too, may have bytes of the file in it that are no text: then our frame is the last one.
        if not isinstance(error, UnicodeDecodeError) and not _is_from_driver(error):
            raise
        # SQLite columns can hold values of any type, and its texts any bytes; PostgreSQL refuses both.
        raise StoreError(f"store {shown(url)}: {_line(str(error))}; {_DAMAGED_VALUE}") from error


@contextmanager
def reading_within(connection: Connection) -> Generator[Connection, None, None]:
    """A transaction that is open already, to read with; errors are those of a reader of its own."""
    with translated(connection.engine.url):
        yield connection


def is_damage(error: StoreError) -> bool:
    """Whether a store was found damaged, as opposed to locked, full or out of reach."""
    cause = error.__cause__
    if isinstance(cause, StoreError):
        # It was said once more, in other words.
        return is_damage(cause)
    if isinstance(cause, DBAPIError):
        return any(sign in str(cause.orig).lower() for sign in _DAMAGE_SIGNS)
    return isinstance(cause, _UNREADABLE)


def is_busy(error: StoreError) -> bool:
    """Whether another writer held a lock for longer than this one waited, or the server said nothing for as long."""
    cause = error.__cause__
    if isinstance(cause, StoreError):
        return is_busy(cause)
    if isinstance(cause, PoolTimeoutError) or is_silent(error):
        return True
    original = cause.orig if isinstance(cause, DBAPIError) else None
    return getattr(original, "sqlstate", None) == "55P03" or "database is locked" in str(original)


def is_silent(error: StoreError) -> bool:
    """Whether a server did not answer in time."""
    cause = error.__cause__
    return isinstance(cause, DBAPIError) and NO_ANSWER in str(cause.orig)


def may_pass(error: StoreError) -> bool:
    """Whether a store that failed may work later: it was locked, full, or out of reach, and not refused for good."""
    cause = error.__cause__
    if is_busy(error):
        return True
    return isinstance(cause, OperationalError) and not any(sign in str(cause.orig).lower() for sign in _LASTING)


def _sqlite(url: URL, *, create: bool, wait: float) -> Opened:
    access = _file_access(url, create=create)
    options: dict[str, Any] = {"connect_args": {"timeout": WAIT_SECONDS, "check_same_thread": False}}
    if access is not None and access.mode != "write":
        connect = partial(sqlite3.connect, access.uri, uri=True, timeout=WAIT_SECONDS, check_same_thread=False)
        options = {"creator": connect}
    engine = create_engine(url, **options)
    event.listen(engine, "connect", partial(_prepare, wait=wait))
    event.listen(engine, "begin", partial(_begin_sqlite, wait))
    return Opened(engine, access)


def _file_access(url: URL, *, create: bool) -> Access | None:
    database = url.database
    # An address of SQLite's own (`file:…?mode=ro&uri=true`) says itself what is to be made.
    if not database or database == ":memory:" or database.startswith("file:"):
        return None
    path = Path(database)
    if not create and not path.exists():
        raise NoStoreError(f"no store at {shown(url)}; name another with `--store`, or append to a session first")
    try:
        if not path.exists():
            create_store_file(path)
        return access_to(path)
    except OSError as error:
        what = "make the folder of" if not path.parent.is_dir() else "open"
        raise StoreError(f"cannot {what} {shown(url)}: {error}; name another `store`") from error


def _prepare(connection: sqlite3.Connection, record: ConnectionPoolEntry, wait: float = WAIT_SECONDS) -> None:
    # Transactions begin where we say, not where the driver guesses.
    connection.isolation_level = None
    # What follows reads the file, for which another process may keep it locked whole.
    record.info["wait"] = limit = wait_limit(wait)
    connection.execute(f"PRAGMA busy_timeout = {limit * 1_000:.0f}")
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


def _begin_sqlite(default: float, connection: Connection) -> None:
    wait, tell = wait_limit(default), _tell.get()
    writes = connection.get_execution_options().get(_WRITES)
    if writes and tell is not None and wait > INTERACTIVE_WAIT:
        _set_busy_timeout(connection, PATIENCE)
        try:
            # Past SQLAlchemy, for which the transaction would have failed.
            connection.connection.cursor().execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            tell_wait(connection.engine.url, wait)
            wait -= PATIENCE
        else:
            return
    _set_busy_timeout(connection, wait)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _set_busy_timeout(connection: Connection, wait: float) -> None:
    if connection.info.get("wait") != wait:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {wait * 1_000:.0f}")
        connection.info["wait"] = wait


def _begin_postgresql(default: float, connection: Connection) -> None:
    # A server waits for a lock without end unless it is told; also a reader waits, if a table is locked whole.
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, int(wait_limit(default) * 1_000))}")


def insert_ignoring(connection: Connection, table: Table) -> Any:
    """An insert that leaves rows alone that are there: two writers may want the same at the same moment."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def insert_rows(connection: Connection, table: Table, rows: list[tuple[Any, ...]]) -> None:
    """Insert rows as they are, values in the order of the columns; of many this takes half the time."""
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    columns = ", ".join(table.columns.keys())
    marks = ", ".join([mark] * len(table.columns))
    connection.exec_driver_sql(f"INSERT INTO {table.name} ({columns}) VALUES ({marks})", rows)  # noqa: S608


def storable(text: str) -> str:
    """A text as every engine can store it: PostgreSQL's has no NUL character."""
    return text.replace("\0", "\N{SYMBOL FOR NULL}")


def stored_time(connection: Connection, moment: datetime) -> datetime | str:
    """A moment as the engine stores it when nobody converts it."""
    return moment if connection.dialect.name == "postgresql" else moment.strftime("%Y-%m-%d %H:%M:%S.%f")


_UNREADABLE: Final = (ValueError, TypeError, sqlite3.Error)
_DAMAGE_SIGNS: Final = ("could not decode", "malformed", "not a database", "vtable constructor failed")
_DAMAGED_VALUE: Final = "a value in it is damaged, `foveate db check` says which; restore the store from a copy"
_LASTING: Final = ("readonly", "read-only", "unable to open", "no such", "does not exist", "authentication")
# In seconds, the last in milliseconds: after so long the system gives up a connection that the network hides.
_SIGNS_OF_LIFE: Final = {
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_REMEDIES: Final = (
    (NO_ANSWER, "it is stopped, overloaded or out of reach; try again when it answers"),
    ("database is locked", "another process is writing to it; try again when it is done, or end that process"),
    ("lock timeout", "another process has locked it; try again when it is done, or end that process"),
    ("readonly database", "the file or its folder cannot be written; change its permissions or name another `store`"),
    ("disk is full", "free some space and try again; nothing that was stored before is lost"),
    ("disk i/o error", "the disk failed or is full; nothing that was stored before is lost"),
    ("unable to open database", "the folder is missing or cannot be written; name another `store`"),
    ("not a database", "the file is something else; name another `store`"),
    ("malformed", "the file is damaged; `foveate db check` says what can still be read"),
    ("vtable constructor failed", "its search index is damaged; `foveate db check` says what can still be read"),
    ("could not decode", _DAMAGED_VALUE),
    ("no such table", "a table is gone; restore the store from a copy, `foveate db check` says what can still be read"),
    ("no such column", "a column is gone; restore the store from a copy, or name another `store`"),
    ("could not connect", "is the server running, and does the address name it?"),
    ("connection refused", "is the server running, and does the address name it?"),
    ("does not exist", "create the database first, or correct the address"),
    ("password authentication", "correct the user or password in the address"),
)


def _said(url: URL, error: SQLAlchemyError) -> str:
    cause = str(error.orig if isinstance(error, DBAPIError) and error.orig is not None else error)
    lowered = cause.lower()
    remedy = next((remedy for sign, remedy in _REMEDIES if sign in lowered), None)
    said = f"store {shown(url)}: {_line(cause)}"
    return f"{said}; {remedy}" if remedy else said


def _is_from_driver(error: BaseException) -> bool:
    """Whether the driver failed to convert a value that it read, and not our code or a value that it was given."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    module = str(frames[-1].f_globals.get("__name__", "")) if frames else ""
    return module.partition(".")[0] in ("sqlalchemy", "sqlite3") and not isinstance(error, UnicodeEncodeError)


def _line(cause: str) -> str:
    line = " ".join(cause.split())
    return line if len(line) <= 300 else line[:297] + "..."
