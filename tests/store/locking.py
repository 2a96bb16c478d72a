"""Stores that another process has locked, for the tests of what happens then."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import create_engine, make_url, text


@contextmanager
def locked(url: str, statement: str = "LOCK TABLE sessions IN EXCLUSIVE MODE") -> Iterator[None]:
    """Somebody else writes to a store for as long as this lasts; on PostgreSQL by a statement of one's own."""
    address = make_url(url)
    if address.get_backend_name() == "sqlite":
        with closing(sqlite3.connect(str(address.database), isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
        return
    engine = create_engine(address.set(drivername="postgresql+psycopg"))
    try:
        with engine.begin() as connection:
            connection.execute(text(statement))
            yield
    finally:
        engine.dispose()


@contextmanager
def locked_whole(path: Path) -> Iterator[sqlite3.Connection]:
    """Somebody else keeps a SQLite file to himself for as long as this lasts: nobody can even read it."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield connection
