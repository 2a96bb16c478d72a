"""The writer: appends to one session, all of an append or nothing."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Row, bindparam, select, update

from foveate.errors import ConflictError, StoreError
from foveate.log.events import CallRecorded, Event, FramingSet, MessageAppended
from foveate.log.messages import Message
from foveate.store.artifacts import Piece, keep
from foveate.store.engine import insert_rows, storable, stored_time
from foveate.store.rows import Owner, row_of
from foveate.store.schema import events as event_table
from foveate.store.schema import sessions
from foveate.store.summaries import FOLLOWED, Known, Summaries

_TITLE: Final = 80
_COUNTED: Final = ("events", "messages", "calls", "title", "metadata", "tokens")
# Built once: for one event, building statements would take longer than running them.
# SQLite has taken its lock with the transaction, and reads no FOR UPDATE; PostgreSQL locks this session alone.
_LOCKED: Final = (
    select(sessions)
    .where(sessions.c.id == bindparam("key"), sessions.c.session_id == bindparam("name"))
    .with_for_update()
)
_TOUCH: Final = (
    update(sessions)
    .where(sessions.c.id == bindparam("key"))
    .values({name: bindparam(f"new_{name}") for name in (*_COUNTED, "last_activity_at")})
)


@dataclass(slots=True)
class _Counts:
    """How long a session is, as an append goes on."""

    events: int
    messages: int
    calls: int
    title: str
    metadata: str
    tokens: int


class Writer:
    """One writer of one session."""

    def __init__(self, key: int, session_id: str, vault_name: str, *, system: str | None = None) -> None:
        self.key = key
        self.session_id = session_id
        self._id = (os.getpid(), secrets.randbits(62))
        self._summaries = Summaries(key, session_id, vault_name, system)

    def append(self, connection: Connection, events: Sequence[Event], batch_id: int | None = None) -> None:
        """Append events in the transaction of a connection; their rows have the id of their batch, if there is one.

        Raises:
            ConflictError: another writer was first; nothing was written.

        """
        row = locked(connection, self.key, self.session_id)
        if row.events != events[0].seq:
            self._check_counter(connection, row.events, events[0].seq)
            raise ConflictError(
                f"session {self.session_id!r} has {row.events} events, another writer appended to it; "
                f"event {events[0].seq} was not written"
            )
        now = datetime.now(UTC)
        counts = _Counts(row.events, row.messages, row.calls, row.title, row.metadata, row.tokens)
        self._insert(connection, events, counts, now, self.id if batch_id is None else batch_id)
        now_has = {f"new_{name}": getattr(counts, name) for name in _COUNTED}
        connection.execute(_TOUCH, {"key": self.key, "new_last_activity_at": now, **now_has})

    @property
    def id(self) -> int:
        """A number that no other writer has, also not one in a process that was forked off."""
        if self._id[0] != os.getpid():
            self._id = (os.getpid(), secrets.randbits(62))
        return self._id[1]

    @property
    def known(self) -> Known:
        """What the writer has learnt from what it wrote; to be put back if it was not written after all."""
        return self._summaries.known

    @known.setter
    def known(self, known: Known) -> None:
        self._summaries.known = known

    def follow(self, events: Sequence[Event]) -> None:
        """Take note of events that another writer appended."""
        for event in events:
            self._summaries.follow(event)

    def wrote(self, connection: Connection, seq: int, batch_id: int | None = None) -> bool:
        """Whether an event came through, after a connection broke in the middle of an append."""
        return self.last_id(connection, seq + 1) == (self.id if batch_id is None else batch_id)

    def last_id(self, connection: Connection, end: int) -> int:
        """The id of the append that the event before number `end` belongs to; 0 if there is none."""
        where = (event_table.c.session == self.key) & (event_table.c.seq == end - 1)
        return connection.scalar(select(event_table.c.writer).where(where)) or 0

    def _check_counter(self, connection: Connection, counted: object, seq: int) -> None:
        """Raise `StoreError` if no other writer explains how many events a session says it has."""
        where = event_table.c.session == self.key
        if isinstance(counted, int) and counted > seq:
            if connection.scalar(select(event_table.c.seq).where(where, event_table.c.seq == counted - 1)) is not None:
                return
            problem = f"event {counted - 1} is missing"
        else:
            problem = f"its log has at least {seq}"
        raise StoreError(
            f"session {self.session_id!r} is damaged: its row counts {counted!r} events, but {problem}; nothing was "
            "written, `foveate db check` says more"
        )

    def _insert(
        self, connection: Connection, events: Sequence[Event], counts: _Counts, now: datetime, writer: int
    ) -> None:
        rows: list[tuple[Any, ...]] = []
        pieces: list[Piece] = []
        moment, owner = stored_time(connection, now), Owner(self.key, self.session_id)
        followed: list[Event] = []
        for event in events:
            body = event.body
            row, large = row_of(owner, event, counts.messages, writer, moment)
            rows.append(row)
            if large:
                pieces += large
            if isinstance(body, MessageAppended):
                counts.messages += 1
                counts.title = counts.title or _title(body.message)
                if body.message.role == "assistant":
                    followed.append(event)
            elif type(body) in FOLLOWED:
                followed.append(event)
        insert_rows(connection, event_table, rows)
        keep(connection, self.key, pieces, now)
        for event in followed:
            self._summaries.take(connection, event, counts.calls, now)
            if isinstance(event.body, CallRecorded):
                counts.calls = event.body.number
                counts.tokens = event.body.logged
            elif isinstance(event.body, FramingSet):
                counts.metadata = msgspec.json.encode({"model": event.body.model}).decode()
        counts.events += len(events)


def locked(connection: Connection, key: int, session_id: str) -> Row[Any]:
    """The row of a session, which nobody else changes until the transaction ends."""
    row = connection.execute(_LOCKED, {"key": key, "name": session_id}).first()
    if row is None:
        raise StoreError(f"session {session_id!r} was deleted at this moment; `foveate sessions` lists the others")
    return row


def _title(message: Message) -> str:
    """The first line of what a user said."""
    if message.role != "user":
        return ""
    line = next((line.strip() for line in storable(message.text).splitlines() if line.strip()), "")
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"
