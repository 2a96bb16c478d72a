"""Erasing: what a database keeps of rows that were deleted is overwritten or given back."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from sqlalchemy.exc import DBAPIError

from foveate.store.silence import each_answered_within
from foveate.store.store import Store

# What holds the words of sessions, or is made of them.
_TABLES: Final = (
    *("events", "context_summaries", "checkpoints", "artifacts", "artifact_uses", "sessions", "embeddings"),
    *("passages", "passages_text", "passage_totals"),
)
# In milliseconds: writing a table anew locks it, for which nobody who works in the store should have to wait.
_LOCK_TIMEOUT: Final = 5_000


def erase_remains(store: Store) -> list[str]:
    """Erase what is left of deleted rows; returns what could not be erased now, and the remedy, in words."""
    with store.reading() as connection:
        engine = connection.engine
    if engine.dialect.name == "sqlite":
        _merge_words(store)
        bare = engine.raw_connection()
        try:
            return _empty_journal(bare)
        finally:
            bare.close()
    # A large table takes longer to write than anybody else has to wait for an answer.
    with each_answered_within(None):
        bare = engine.raw_connection()
        try:
            return _write_anew(bare.driver_connection)
        except DBAPIError as error:
            return [_kept_by_postgresql(error)]
        finally:
            bare.close()


def _merge_words(store: Store) -> None:
    """Merge the full-text index: until then it only marks what it should forget."""
    with store.writing() as connection:
        connection.exec_driver_sql("INSERT INTO passages_text(passages_text) VALUES ('optimize')")


def _empty_journal(bare: Any) -> list[str]:
    """Have SQLite move its write-ahead log into the file: until then deleted text is still in one of them."""
    cursor = bare.cursor()
    try:
        # Outside of any transaction, which SQLite insists on.
        is_busy = bool(cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
    except sqlite3.OperationalError:
        is_busy = True
    finally:
        cursor.close()
    if not is_busy:
        return []
    return ["another process reads the store, so that its -wal file keeps the text until that is done and one writes"]


def _write_anew(connection: Any) -> list[str]:
    """Have PostgreSQL write the tables anew, without dead rows."""
    import psycopg  # noqa: PLC0415  an extra, which only stores in PostgreSQL need

    connection.rollback()
    connection.autocommit = True
    try:
        connection.execute(f"SET lock_timeout = {_LOCK_TIMEOUT}")
        for table in _TABLES:
            connection.execute(f"VACUUM (FULL) {table}")
    except psycopg.Error as error:
        return [_kept_by_postgresql(error)]
    finally:
        if not connection.closed:
            connection.execute("RESET lock_timeout")
            connection.autocommit = False
    return []


def _kept_by_postgresql(error: Exception) -> str:
    said = " ".join(str(error).split())[:200]
    return f"dead rows are in the tables until `VACUUM FULL`, which could not be done now: {said}"
