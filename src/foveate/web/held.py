"""Held: what was said in chats while the store could not be written, how much it is, and what to tell people of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from foveate.log.events import DiagnosticRecorded, Event, MessageAppended
from foveate.store import SessionInfo, Store
from foveate.store.held_files import in_order
from foveate.store.held_lines import Batch

STORE_FAILED: Final = "store_failed"
"""The code of the diagnostic that says what `notice_of` says in other words."""

SAVED: Final = "Everything that was said here is in the store."


class Held(NamedTuple):
    """What of a chat waits to be written into the store."""

    events: tuple[Event, ...] = ()
    is_on_disk: bool = True

    @property
    def messages(self) -> int:
        """How many messages wait."""
        return sum(isinstance(event.body, MessageAppended) for event in self.events)

    @property
    def times(self) -> list[datetime]:
        """When it was said."""
        return [datetime.fromtimestamp(event.time, UTC) for event in self.events if event.time is not None]


NOTHING: Final = Held()


def waiting_batches(store: Store) -> dict[str, list[Batch]]:
    """What waits, by session; to be read before the store, so that nothing is missed that is just being written."""
    return {held.session_id: held.read() for held in store.held.waiting()}


def held_behind(store: Store, session: str, info: SessionInfo | None, batches: Sequence[Batch]) -> Held:
    """What of a session waits behind what `info` counts; what was written meanwhile is not counted twice."""
    left = in_order(batches)
    if info is not None and any(batch.first < info.events for batch in left):
        writer = store.writer(info)
        with store.reading() as connection:
            left = [one for one in left if one.first >= info.events or not writer.wrote(connection, one.first, one.id)]
    events = tuple(event for batch in left for event in batch.events)
    return Held(events, store.held.of(session).is_on_disk)


def count_messages(store: Store, session: str) -> int:
    """How many messages a chat has, those included that wait."""
    batches = store.held.of(session).read()
    info = store.find(session)
    return (info.messages if info is not None else 0) + held_behind(store, session, info, batches).messages


def notice_of(held: Held) -> tuple[str, str]:
    """That something waits, and when it will be written: what happened in a few words, and the rest; else nothing."""
    if not held.events:
        return "", ""
    why, until = _reason(held.events)
    if held.is_on_disk:
        return "Saved to a file for now:", f"{why}. It will be written as soon as {until}."
    return "Not saved yet:", f"{why}, and no file could be written either. Keep the server running until {until}."


def _reason(events: Sequence[Event]) -> tuple[str, str]:
    """Why the store takes nothing, and what must change."""
    said = [
        one.body.text for one in events if isinstance(one.body, DiagnosticRecorded) and one.body.code == STORE_FAILED
    ]
    first = said[-1].partition("; ")[0] if said else ""
    if "locked" in first:
        return "another process has locked the store", "the store is free"
    if "full" in first:
        return "the disk of the store is full", "there is room on it"
    return first or "the store cannot be written", "the store can be written"
