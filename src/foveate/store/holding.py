"""Holding: the log of a session is what the store has of it, and behind that what is held until the store can take it.

All processes of a machine see the same: whoever appends writes first what is held, by itself or by others, and what
the store refuses comes behind it. So numbers and names are given once, also while nothing can be written.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Final

from sqlalchemy import Connection

from foveate.errors import ConflictError, DisplacedError, StoreError
from foveate.log.context import Kept
from foveate.log.events import Event
from foveate.store.draining import drain
from foveate.store.engine import is_busy, limit_wait, may_pass, wait_in_turns, wait_limit
from foveate.store.held_files import fitting
from foveate.store.held_lines import Batch
from foveate.store.info import SessionInfo, pending_info
from foveate.store.silence import answered_within
from foveate.store.store import Store

# In seconds, from the moment of an append that is held if need be: for so long the store is asked, for so long the
# lock of what is held is waited for, and for so long at least, unless it was in vain a moment ago. What comes then is
# on disk within two seconds, with the diagnostic that says so.
_ASKED: Final = 1.0
# A little later than a wait for a lock ends by itself, a server that has not answered is given up.
_ANSWERED: Final = 1.2
_LOCK_BY: Final = 1.5
_LOCK_AT_LEAST: Final = 0.2
_LOCK_STUCK: Final = 0.02
# In seconds: for so long at most it is looked whether events came through.
_AT_A_TIME: Final = 0.4
# How often a store is read that should tell what it has, and the pause between, in seconds.
_READS: Final = 5
_BETWEEN: Final = 0.03
# A store that refuses as soon as this may be asked at any time.
_SOON: Final = 0.3


class HoldingWriter:
    """Appends to one session, into the store or behind what is held."""

    def __init__(self, store: Store, info: SessionInfo) -> None:
        self.info = info
        self.reader = store.reader(info)
        self._store = store
        self._held = store.held.of(info.session_id, info.vault_name)
        self._writer = store.writer(info)
        # Held events that this log has, and that nobody has seen in the store yet.
        self._unsettled: list[Batch] = []

    @property
    def is_held(self) -> bool:
        """Whether something of the session waits."""
        return not self._held.is_empty

    @property
    def place(self) -> str:
        """Where it waits, in words."""
        return self._held.place

    def restart(self, system: str | None) -> None:
        """Go on from the log as it stands now, with the system prompt it has."""
        self._unsettled.clear()
        self._writer = self._store.writer(self.info, system=system)

    def follow(self, events: Sequence[Event]) -> None:
        """Take note of events that another writer appended."""
        self._writer.follow(events)

    def append(self, events: Sequence[Event], *, hold: bool) -> Kept:
        """Append events, all or none. With `hold` they are held if the store cannot be written, else it is waited for.

        Raises:
            ConflictError: another writer was first; nothing was written.
            StoreError: the store cannot be written, and nobody asked for `hold`.

        """
        began = time.monotonic()
        last = self._unsettled[-1] if self._unsettled else None
        batch = Batch.of(events, last.id if last is not None and last.end == events[0].seq else 0)
        if hold and self._store.held.is_busy:
            return self._hold(batch, StoreError(f"store {self._store} is locked by another process"), began)
        wait = _ASKED if hold else wait_limit(self._store.wait)
        try:
            with answered_within(_ANSWERED) if hold else nullcontext():
                wait_in_turns(self._store.url, partial(self._write, batch, _ASKED if hold else None), wait)
        except ConflictError:
            raise
        except StoreError as error:
            if not hold:
                raise
            if time.monotonic() - began > _SOON:
                self._store.held.note_busy()
            return self._hold(batch, error, began)
        # It took this, so it takes what comes next.
        self._store.held.note_free()
        return Kept("store")

    def drain(self) -> None:
        """Write what waits of the session, if the store takes it; a `StoreError` if not."""
        if self.is_held:
            with self._held.locked(alone=True):
                drain(self._store, self._held)

    def settle(self) -> None:
        """See that the held events of this log are where it has them; a `DisplacedError` if they are not.

        They are not, if they were written elsewhere, and if another writer's events have their numbers by now.
        """
        if not self._unsettled:
            return
        key, first = self.info.key, self._unsettled[0].first
        waiting = {batch.id for batch in self._held.read()}
        self.look_up()
        with self._store.reading() as connection:
            are_there = self._are_in_place(connection, waiting)
        if not are_there:
            self._unsettled.clear()
            raise DisplacedError(
                f"session {self.info.session_id!r}: what was held came behind another writer's events",
                first=first if key in (0, self.info.key) else 0,
            )
        self._unsettled = [batch for batch in self._unsettled if batch.id in waiting]

    def _are_in_place(self, connection: Connection, waiting: Collection[int]) -> bool:
        """Whether the first and last batch that are written, and the first that waits, are where this log has them."""
        gone = [batch for batch in self._unsettled if batch.id not in waiting]
        if any(not self._writer.wrote(connection, batch.first, batch.id) for batch in gone[:1] + gone[-1:]):
            return False
        first = next((batch for batch in self._unsettled if batch.id in waiting), None)
        if first is None or self.info.events <= first.first:
            return True
        return self._writer.wrote(connection, first.first, first.id)

    def events_since(self, length: int) -> list[Event]:
        """The events from number `length` on, of the store and behind it; they belong to this log from here on."""
        try:
            self.look_up()
            events = list(self.reader.events(length))
        except StoreError:
            if not self.is_held:
                raise
            events = []
        return events + self.held_since(length + len(events))

    def held_since(self, length: int) -> list[Event]:
        """The held events from number `length` on, which belong to this log from here on."""
        known = {batch.id for batch in self._unsettled}
        found = fitting([batch for batch in self._held.read() if batch.id not in known], length)
        self._unsettled += found
        return [event for batch in found for event in batch.events]

    def held_behind(self, length: int) -> list[Event]:
        """The held events from number `length` on, whether this log has them or not."""
        return [event for batch in fitting(self._held.read(), length) for event in batch.events]

    def _write(self, batch: Batch, wait: float | None) -> None:
        if self._held.is_empty:
            with self._held.locked(alone=False, wait=wait):
                if self._held.is_empty:
                    self._store_batch(batch)
                    return
        with self._held.locked(alone=True, wait=wait):
            if not drain(self._store, self._held):
                raise StoreError(f"session {self.info.session_id!r}: events are {self.place}; open it to write them")
            self._store_batch(batch)

    def _store_batch(self, batch: Batch) -> None:
        self.settle()
        if not self.info.key:
            self._take(self._store.begin(self.info.session_id, vault_name=self.info.vault_name))
        self._store.append(self._writer, batch.events, batch.id)

    def _hold(self, batch: Batch, error: StoreError, began: float) -> Kept:
        least = _LOCK_STUCK if self._held.is_lock_stuck else _LOCK_AT_LEAST
        by = began if self._held.is_lock_stuck else began + _LOCK_BY
        try:
            with self._held.locked(alone=True, wait=max(least, by - time.monotonic())):
                kept = self._hold_alone(batch, error)
        except ConflictError:
            raise
        except StoreError as worse:
            # Another process was stopped in the middle: what was answered is kept all the same.
            self._held.add_apart(batch)
            kept = Kept("held" if self._held.is_on_disk else "memory", f"{error}; {worse}; {self._held.place}")
        if kept.place != "store":
            self._unsettled.append(batch)
            self._writer.follow(batch.events)
            if error.__cause__ is None or may_pass(error):
                self._store.drainer.start()
        return kept

    def _hold_alone(self, batch: Batch, error: StoreError) -> Kept:
        if self._is_in_store(batch):
            return Kept("store")
        self._held.add(batch)
        return Kept("held" if self._held.is_on_disk else "memory", f"{error}; {self._held.place}")

    def _is_in_store(self, batch: Batch) -> bool:
        """Whether events came through after all; a `ConflictError` if what others wrote comes first.

        A store that cannot be written can mostly be read, also when a connection to it has just been cut. What nobody
        can read is taken to be as it was.
        """
        for attempt in range(_READS):
            if self._store.held.is_unreadable:
                break
            try:
                with limit_wait(_AT_A_TIME), answered_within(_AT_A_TIME):
                    self.settle()
                    return self._has_come_through(batch)
            except ConflictError:
                raise
            except StoreError as error:
                if is_busy(error) or attempt == _READS - 1:
                    self._store.held.note_unreadable()
                time.sleep(_BETWEEN * attempt)
        return False

    def _has_come_through(self, batch: Batch) -> bool:
        """Whether a commit was made that a connection broke in; a `ConflictError` if the log has gone on since."""
        info = self.look_up()
        end = info.events if info is not None else 0
        if end > batch.first:
            with self._store.reading() as connection:
                if self._writer.wrote(connection, batch.first, batch.id):
                    return True
        end = max([end, *(held.end for held in fitting(self._held.read(), end))])
        # Of a session that was deleted nothing else is left: it comes back with what was said since.
        if batch.first != end and info is not None:
            raise ConflictError(
                f"session {self.info.session_id!r} has {end} events; event {batch.first} was not written"
            )
        return False

    def look_up(self) -> SessionInfo | None:
        """Know the session as the store has it: it may have been begun, deleted or begun anew meanwhile."""
        found = self._store.find(self.info.session_id)
        self._take(found if found is not None else pending_info(self.info.session_id, self.info.vault_name))
        return found

    def _take(self, info: SessionInfo) -> None:
        before, self.info = self.info, info
        if info.key == before.key:
            return
        if before.key:
            # What was read of another session of that name is nothing of this one.
            self.reader = self._store.reader(info)
        self.reader.key = info.key
        known = self._writer.known
        self._writer = self._store.writer(info)
        self._writer.known = known
