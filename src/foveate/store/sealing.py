"""Sealing: events that version 0.1 wrote get their checksums."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Row, bindparam, func, select, update

from foveate.store.backlog import Progress
from foveate.store.checksums import checksum_of
from foveate.store.info import SessionInfo
from foveate.store.schema import events
from foveate.store.store import Store
from foveate.store.writer import locked

_TOGETHER: Final = 1_000
_UPDATE: Final = (
    update(events)
    .where(events.c.session == bindparam("key"), events.c.seq == bindparam("number"), events.c.checksum.is_(None))
    .values(checksum=bindparam("sealed"))
)


def count_unsealed(store: Store) -> dict[int, int]:
    """How many events have no checksum, by the key of their session."""
    query = select(events.c.session, func.count().label("many")).where(events.c.checksum.is_(None))
    with store.reading() as connection:
        return {row.session: row.many for row in connection.execute(query.group_by(events.c.session))}


def seal_session(store: Store, info: SessionInfo, progress: Progress | None = None) -> int:
    """Give the events of a session their checksums, as they stand now; returns how many had none.

    From the last to the first: whenever it is interrupted, only the beginning of the session is without.
    """
    done = 0
    while count := _seal_some(store, info):
        done += count
        if progress is not None:
            progress("events sealed", done)
    return done


def _seal_some(store: Store, info: SessionInfo) -> int:
    unsealed = (events.c.session == info.key) & events.c.checksum.is_(None)
    with store.writing() as connection:
        locked(connection, info.key, info.session_id)
        query = select(events).where(unsealed).order_by(events.c.seq.desc()).limit(_TOGETHER)
        rows = connection.execute(query).all()
        if rows:
            connection.execute(_UPDATE, [_sealed(info, row) for row in rows])
    return len(rows)


def _sealed(info: SessionInfo, row: Row[Any]) -> dict[str, int]:
    return {"key": info.key, "number": row.seq, "sealed": checksum_of(info.session_id, tuple(row))}
