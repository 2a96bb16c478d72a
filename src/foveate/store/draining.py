"""Draining: held events are written into the store as soon as it takes them, by whoever comes first."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from threading import Event as Signal
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, select

from foveate.errors import FoveateError, StoreError
from foveate.log.events import Event, FramingSet
from foveate.store.engine import is_busy, limit_wait
from foveate.store.held import HeldEvents
from foveate.store.held_files import fitting, in_order
from foveate.store.held_lines import Batch
from foveate.store.info import SessionInfo
from foveate.store.rows import event_of
from foveate.store.schema import events as event_table
from foveate.store.writer import Writer, locked

if TYPE_CHECKING:
    from foveate.store.store import Store

# Gives held events their place behind what others wrote meanwhile.
Displace = Callable[["Store", SessionInfo, Sequence[Batch]], list[Event]]

# In seconds: how often the store is asked, and for how long each time. Who appends waits behind it.
_EVERY: Final = 0.3
_EACH: Final = 0.2
_OPENING: Final = 0.3
_STOPPING: Final = 5.0
_ATTEMPTS: Final = 10
_logger: Final = logging.getLogger("foveate")


def drain(store: Store, held: HeldEvents) -> bool:
    """Write what waits of a session into the store; its lock must be held. Whether nothing waits any more.

    Raises `StoreError` if the store cannot be written. What needs a new place, since another writer was first, waits
    on if nobody here can give it one: the session must be opened for that.
    """
    for _ in range(_ATTEMPTS):
        batches = _readable(store, held)
        if not batches:
            held.remove([])
            return True
        info = store.begin(held.session_id, vault_name=held.vault)
        with store.writing() as connection:
            left = _written(connection, info, batches)
        if not left:
            # Only what was read: others may hold more at this moment, for which they need no lock.
            held.remove(batches)
            return held.is_empty
        if store.drainer.displace is None:
            return False
        held.replace(left, [Batch.of(store.drainer.displace(store, info, left))])
    raise StoreError(f"session {held.session_id!r}: other writers were first {_ATTEMPTS} times in a row; try again")


def drain_waiting(store: Store, wait: float = _OPENING) -> bool:
    """Write what waits for a store, of all sessions; whether nothing waits any more. Raises nothing."""
    if store.read_only:
        return False
    is_done = True
    for held in store.held.waiting():
        try:
            with limit_wait(wait), held.locked(alone=True, wait=wait):
                is_done &= drain(store, held)
        except (FoveateError, OSError) as error:
            # It is said where somebody appends; here, it waits on, and nobody waits once more for the others.
            is_done, wait = False, 0.0
            if isinstance(error, StoreError) and is_busy(error):
                store.held.note_busy()
                if store.url.get_backend_name() == "sqlite":
                    # One lock is that of all sessions.
                    break
        except Exception:
            # Whatever is wrong with one session, the others are written, and the store opens.
            is_done = False
            _logger.exception("session %r: what is held of it cannot be written", held.session_id)
    return is_done


class Drainer:
    """Writes what a process holds, also if nobody says anything more; a thread while there is something to do."""

    def __init__(self, store: Store) -> None:
        self.displace: Displace | None = None
        self._store = store
        self._thread: Thread | None = None
        self._stopped = Signal()
        self._lock = Lock()
        self._process = os.getpid()

    def start(self) -> None:
        """See to it that what is held is written soon."""
        if self._store.held.path is None or self._store.read_only:
            # A store in memory is another one in every thread; the next append writes what is held.
            return
        with self._lock:
            is_running = self._thread is not None and self._thread.is_alive() and self._process == os.getpid()
            if not is_running:
                self._stopped, self._process = Signal(), os.getpid()
                self._thread = Thread(target=self._run, args=(self._stopped,), name="held events", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread; what is held stays in its file."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._stopped.set()
        if thread is not None and self._process == os.getpid():
            # Not for ever: a server that is out of reach may take long to say so.
            thread.join(_STOPPING)

    def _run(self, stopped: Signal) -> None:
        while not stopped.wait(_EVERY):
            if drain_waiting(self._store, _EACH):
                self._store.held.note_free()
                with self._lock:
                    # What was held during this pass started nobody: this thread was there.
                    if self._store.held.waiting():
                        continue
                    if self._stopped is stopped:
                        self._thread = None
                    return


def _readable(store: Store, held: HeldEvents) -> list[Batch]:
    """What waits, once what is damaged of it is put aside, which the log says."""
    try:
        is_damaged = held.is_damaged
    except StoreError:
        # It must not keep the session from being written; `foveate db check` names it.
        held.set_aside_unreadable()
        is_damaged = held.is_damaged
    if is_damaged:
        held.set_aside_damaged(store.begin(held.session_id, vault_name=held.vault).events)
    return held.read()


def _written(connection: Connection, info: SessionInfo, batches: Sequence[Batch]) -> list[Batch]:
    """Write the batches that are not in the store yet and go on where it ends; the others, which need another place."""
    row = locked(connection, info.key, info.session_id)
    writer = Writer(info.key, info.session_id, info.vault_name, system=_system(connection, info))
    left = [batch for batch in batches if not writer.wrote(connection, batch.first, batch.id)]
    written = fitting(left, row.events, writer.last_id(connection, row.events))
    for batch in written:
        writer.append(connection, batch.events, batch.id)
    ids = {batch.id for batch in written}
    return in_order([batch for batch in left if batch.id not in ids])


def _system(connection: Connection, info: SessionInfo) -> str | None:
    """The system prompt that the session has in the store."""
    mine = (event_table.c.session == info.key) & (event_table.c.kind == "framing_set")
    row = connection.execute(select(event_table).where(mine).order_by(event_table.c.seq.desc()).limit(1)).first()
    body = event_of(info.session_id, row, {}).body if row is not None else None
    return body.system if isinstance(body, FramingSet) else None
