"""Removal: everything of a session leaves the tables, inside somebody's transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection
from sqlalchemy import delete as remove

from foveate.log.messages import Message
from foveate.store.artifacts import drop_unused
from foveate.store.engine import reading_within
from foveate.store.reader import Reader
from foveate.store.schema import artifact_uses, checkpoints, context_summaries, embeddings, events, sessions
from foveate.store.search import unindex_session
from foveate.store.search_rows import ROW_BITS
from foveate.store.writer import locked

_READ_TOGETHER: Final = 500


def remove_session(connection: Connection, key: int, session_id: str) -> None:
    """Take a session out: log, calls, checkpoints, search index, and the artifacts that no other one uses."""
    messages = locked(connection, key, session_id).messages
    unindex_session(connection, key, _readable(connection, key, session_id, messages))
    first, behind = key << ROW_BITS, key + 1 << ROW_BITS
    connection.execute(remove(embeddings).where(embeddings.c.passage >= first, embeddings.c.passage < behind))
    for table in (events, context_summaries, checkpoints, artifact_uses):
        connection.execute(remove(table).where(table.c.session == key))
    connection.execute(remove(sessions).where(sessions.c.id == key))
    drop_unused(connection)


def _readable(connection: Connection, key: int, session_id: str, count: int) -> Iterator[tuple[int, Message]]:
    """The messages of a session with their positions, but for those in damaged rows: these must not keep it alive."""
    reader = Reader(key, session_id, lambda: reading_within(connection))
    for start in range(0, count, _READ_TOGETHER):
        yield from reader.readable(range(start, min(count, start + _READ_TOGETHER))).items()
