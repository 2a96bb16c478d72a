"""Orphaned logs: events whose session has no row any more, as another program deleted it; how to bring them back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, select, text

from foveate.errors import StoreError
from foveate.store.checksums import is_intact, is_sealed
from foveate.store.schema import context_summaries, events

# From one session to the next by the primary key: a store has far more events than sessions.
_KEYS: Final = text(
    "WITH RECURSIVE known(key) AS (SELECT min(session) FROM events UNION ALL "
    "SELECT (SELECT min(session) FROM events WHERE session > known.key) FROM known WHERE known.key IS NOT NULL) "
    "SELECT key FROM known WHERE key IS NOT NULL AND key NOT IN (SELECT id FROM sessions)"
)


class OrphanedLog(NamedTuple):
    """The events of a session whose row is missing; `name` is "" where nothing tells it."""

    key: int
    events: int
    name: str

    @property
    def remedy(self) -> str:
        """How to get the session back."""
        name = self.name.replace("'", "''") or "NAME"
        named = "" if self.name else ", with the name that the session had for NAME"
        # The statement is shown to people; nothing here runs it.
        return (
            f"restore the store from a copy, or give the session its row back{named}, by SQLite: "  # noqa: S608
            "INSERT INTO sessions (id, session_id, vault_name, title, metadata, tags, events, messages, tokens, calls, "
            f"indexed, created_at, last_activity_at) SELECT {self.key}, '{name}', 'default', '', '{{}}', '{{}}', "
            "count(*), count(position), 0, sum(kind = 'call_recorded'), count(position), min(recorded_at), "
            f"max(recorded_at) FROM events WHERE session = {self.key}; "
            "then export the session, delete it and import it again, which counts anew"
        )


def orphaned_logs(connection: Connection, name: str | None = None) -> Iterator[OrphanedLog]:
    """The logs without a session; with a name only those that were that session's."""
    if connection.dialect.name != "sqlite":
        return  # Its foreign keys are always enforced.
    for key in connection.scalars(_KEYS).all():
        known = _name_of(connection, key)
        if name is not None and known != name and not _is_of(connection, key, name):
            continue
        count = connection.scalar(select(func.count()).where(events.c.session == key)) or 0
        yield OrphanedLog(key=key, events=count, name=known if name is None else name)


def refuse_orphaned(connection: Connection, name: str) -> None:
    """Raise `StoreError` if a new session of this name would stand beside the log of the one that had it."""
    for log in orphaned_logs(connection, name):
        raise StoreError(
            f"session {name!r} has no row in `sessions`, but its {log.events} events are in the store as those of "
            f"session number {log.key}; {log.remedy}"
        )


def _name_of(connection: Connection, key: int) -> str:
    """The name of a session as its calls have it."""
    rows = context_summaries
    found = connection.scalar(select(rows.c.session_id).where(rows.c.session == key).limit(1))
    return found if isinstance(found, str) else ""


def _is_of(connection: Connection, key: int, name: str) -> bool:
    """Whether an event was a session's: its checksum is also of the name."""
    first = select(events).where(events.c.session == key).order_by(events.c.seq).limit(1)
    row = connection.execute(first).one()
    return is_sealed(row) and is_intact(name, row)
