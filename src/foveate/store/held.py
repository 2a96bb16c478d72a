"""Held events: what a store could not take, in a file beside it until it can.

One file for each session, named by the hash of its id, in a folder that only its owner can read; what comes while
another process keeps the lock of that file is a file of its own. Each append has the id that its rows will have in the
store. So events are recognized that reached the store before the file could be removed, and none is written twice.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec
from platformdirs import user_state_path
from sqlalchemy import URL

from foveate.errors import StoreError
from foveate.log.events import DiagnosticRecorded, Event, Tagged
from foveate.store.forking import OpenFile, gate
from foveate.store.held_files import (
    DAMAGED,
    Aside,
    HeldFiles,
    file_name,
    give_to_owner,
    header_of,
    held_paths,
    in_order,
    make_held_folder,
    refused,
)
from foveate.store.held_lines import Batch, Header
from foveate.store.held_lock import HAS_LOCKS, lock_taken

# In seconds: nobody holds the lock of a session for longer, unless its process was stopped.
_LOCK_WAIT: Final = 5.0
# In seconds: for so long a store that made somebody wait is not asked again, but by the thread that drains.
_PAUSE: Final = 5.0
# So many damaged lines of a file are named; all of them are in the file that they were put in.
_SHOWN: Final = 8
_logger: Final = logging.getLogger("foveate")

# What the name of a store's folder of held events ends with, behind the name of its file.
HELD_ENDING: Final = ".held"


def held_folder(url: URL) -> Path | None:
    """The folder of a store's held events: beside a file, else with the user's state; None for a store in memory."""
    if url.get_backend_name() != "sqlite":
        about = [url.get_backend_name(), url.username, url.host, url.port, url.database, sorted(url.query.items())]
        return (
            user_state_path("foveate", appauthor=False) / "held" / sha256(msgspec.json.encode(about)).hexdigest()[:32]
        )
    database = url.database
    if not database or database == ":memory:" or database.startswith("file:"):
        return None
    # The same file by another path has the same folder.
    return Path(f"{Path(database).resolve()}{HELD_ENDING}")


class HeldEvents:
    """The events of one session that wait for the store, in the order they were appended.

    Args:
        folder: where the files are; None keeps all in memory.
        session_id: the session.
        vault: the vault it belongs to if it is begun with what is held.
        read_only: what others hold is read, and nothing is written to the folder.

    """

    def __init__(self, folder: Path | None, session_id: str, vault: str, *, read_only: bool = False) -> None:
        self.session_id = session_id
        self.vault = vault
        self.name = file_name(session_id)
        self._read_only = read_only
        self._files = HeldFiles(folder, session_id) if folder is not None else None
        # Events that not even a file could take, and why not.
        self._memory: list[Batch] = []
        self._refusal = "the store can only be read" if read_only else "it has no file"
        self._changing_memory = Lock()
        self._alone = Lock()
        self._stuck_until = 0.0

    @property
    def path(self) -> Path | None:
        """The file of all processes, there or not."""
        return self._files.path if self._files is not None else None

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._memory and (self._files is None or self._files.is_empty())

    @property
    def is_on_disk(self) -> bool:
        """Whether all that waits would survive its process."""
        return not self._memory

    @property
    def place(self) -> str:
        """Where the events wait, in words."""
        if not self.is_on_disk or self._files is None:
            return f"held in memory only, as {self._refusal}"
        return f"held in {next(iter(self._files.paths()), self._files.path)}"

    @property
    def is_lock_stuck(self) -> bool:
        """Whether another process kept the lock for too long a moment ago."""
        return time.monotonic() < self._stuck_until

    @contextmanager
    def locked(self, *, alone: bool, wait: float | None = None) -> Generator[None, None, None]:
        """Hold the session's lock: shared while the store is written, `alone` while held events change.

        Raises:
            StoreError: another process keeps it for longer than `wait` seconds.

        """
        with ExitStack() as stack:
            files = self._lock_files(stack)
            if files is None:
                with self._alone if alone else nullcontext():
                    yield
                return
            wait = _LOCK_WAIT if wait is None else wait
            if not stack.enter_context(lock_taken(*files, alone=alone, wait=wait)):
                self._stuck_until = time.monotonic() + _PAUSE
                raise StoreError(
                    f"session {self.session_id!r}: another process keeps {self._lock_path('lock')} locked; "
                    "end it and try again"
                )
            self._stuck_until = 0.0
            yield

    def read(self) -> list[Batch]:
        """All that waits and can be read; a line that was cut off when its process was killed was not acknowledged."""
        with self._changing_memory:
            memory = list(self._memory)
        return [*(self._files.read() if self._files is not None else ()), *memory]

    def add(self, batch: Batch) -> None:
        """Keep one more append, on disk when this returns, or in memory if that fails, too; the lock must be held."""
        self.keep_in_memory(batch)
        if self._files is None or self._read_only:
            return
        with self._changing_memory:
            waiting = list(self._memory)
        # Memory is only for what the file refuses, and may be emptied into it later.
        try:
            self._files.add(waiting, self.vault)
        except OSError as error:
            self._refusal = refused(self._files.folder, error)
        else:
            self._forget(waiting)

    def add_apart(self, batch: Batch) -> None:
        """Keep one more append without the lock: on disk in a file of its own, or in memory if that fails, too."""
        if self._files is not None and not self._read_only:
            try:
                with self._alone:
                    self._files.add_apart(batch, self.vault)
            except OSError as error:
                self._refusal = refused(self._files.folder, error)
            else:
                return
        self.keep_in_memory(batch)

    def keep_in_memory(self, batch: Batch) -> None:
        """Keep one more append in memory; the next one that can be is written to the file with it."""
        with self._changing_memory:
            self._memory.append(batch)

    def replace(self, old: Sequence[Batch], new: Sequence[Batch]) -> None:
        """Have `new` wait instead of `old`, all or none; the lock must be held."""
        with self._changed_files("written"):
            if self._files is not None:
                self._files.replace({batch.id for batch in old}, new, self.vault)
        self._forget(old)
        if self._files is None:
            with self._changing_memory:
                self._memory[:0] = new

    def remove(self, batches: Sequence[Batch]) -> None:
        """Forget batches that the store has, and no others; the lock must be held."""
        self._forget(batches)
        with self._changed_files("removed"):
            if self._files is not None:
                self._files.remove({batch.id for batch in batches}, self.vault)

    def clear(self) -> None:
        """Forget all that waits, of a session that was deleted; the lock must be held."""
        self._forget(list(self._memory))
        with self._changed_files("removed"):
            if self._files is not None:
                self._files.clear()

    def set_aside_unreadable(self) -> None:
        """Put away files that cannot be read, so that they are in nobody's way and nothing of them is lost."""
        with self._changed_files("put aside"):
            if self._files is not None:
                self._files.set_aside_unreadable()

    @property
    def is_damaged(self) -> bool:
        """Whether something of what waits cannot be read."""
        return self._files is not None and not self._read_only and self._files.has_damage()

    def set_aside_damaged(self, length: int) -> None:
        """Put away what cannot be read; the log, which the store has `length` events of, will say so.

        The lock must be held.
        """
        waiting = in_order(self.read())
        last = waiting[-1] if waiting else None

        def note(aside: list[Aside]) -> Batch:
            text = _account(aside)
            _logger.warning("session %r: %s", self.session_id, text)
            said = DiagnosticRecorded(code="held_damaged", phase="record", text=text)
            event = Event(session=self.session_id, seq=last.end if last is not None else length, body=said)
            return Batch.of([event], last.id if last is not None else 0)

        with self._changed_files("put aside"):
            if self._files is not None:
                self._files.set_aside_damaged(note, self.vault)

    @contextmanager
    def _changed_files(self, done: str) -> Generator[None, None, None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"held events in {self.path} cannot be {done}: {error}; free some space or change its permissions"
            ) from error

    def _forget(self, batches: Sequence[Batch]) -> None:
        ids = {batch.id for batch in batches}
        with self._changing_memory:
            self._memory[:] = [batch for batch in self._memory if batch.id not in ids]

    def _lock_path(self, kind: str) -> Path | None:
        # A few for all sessions, so that a store of many has not as many files beside it.
        return self._files.folder / f"{kind}-{self.name[0]}" if self._files is not None else None

    def _lock_files(self, stack: ExitStack) -> tuple[OpenFile, OpenFile] | None:
        lock, before = self._lock_path("lock"), self._lock_path("gate")
        if lock is None or before is None or self._read_only or not HAS_LOCKS:
            return None
        try:
            make_held_folder(lock.parent)
            files = stack.enter_context(gate.opened(lock)), stack.enter_context(gate.opened(before))
            for file in files:
                if file.number is not None:
                    give_to_owner(file.number, lock.parent)
        except OSError:
            # Where no file can be made, nothing is held in one.
            return None
        return files


def _account(aside: Sequence[Aside]) -> str:
    parts = [
        f"{len(lines)} in {path} ({'; '.join(f'line {one.number}: {one.why}' for one in lines[:_SHOWN])}"
        f"{f'; and {len(lines) - _SHOWN} more' if len(lines) > _SHOWN else ''})"
        for path, lines in aside
    ]
    return (
        f"lines of held events were damaged and put aside: {', '.join(parts)}; what they say is not in this log, "
        "all others were kept; say it again, or restore the file from a copy"
    )


class HeldFolder:
    """All that waits for one store; of one that can only be read, nothing is written beside it either."""

    def __init__(self, folder: Path | None, *, read_only: bool = False) -> None:
        self.path = folder
        self._read_only = read_only
        self._known: dict[str, HeldEvents] = {}
        self._busy_until = 0.0
        self._unreadable_until = 0.0

    def of(self, session_id: str, vault: str | None = None) -> HeldEvents:
        """What waits of a session; one that is begun with it belongs to this vault."""
        made = HeldEvents(self.path, session_id, vault or "default", read_only=self._read_only)
        found = self._known.setdefault(session_id, made)
        if vault is not None:
            found.vault = vault
        return found

    def waiting(self) -> list[HeldEvents]:
        """The sessions of which something waits, also from other processes."""
        paths = {path.name.partition(".")[0]: path for path in held_paths(self.path)}
        found = [one for one in list(self._known.values()) if one.name in paths or not one.is_on_disk]
        for one in found:
            paths.pop(one.name, None)
        headers = {name: header_of(path) for name, path in paths.items()}
        return found + [
            self.of(header.session, header.vault)
            for name, header in headers.items()
            # The name of a file says the same, and one that says another session is damaged.
            if isinstance(header, Header) and file_name(header.session) == name
        ]

    def damaged(self) -> list[Path]:
        """Files that were put aside, as they could not be read."""
        return held_paths(self.path, DAMAGED)

    def tags_of(self, session_id: str) -> dict[str, str]:
        """The tags that a session will have once all is written."""
        bodies = (event.body for batch in self.of(session_id).read() for event in batch.events)
        return {
            name: value
            for body in bodies
            if isinstance(body, Tagged) and not body.call
            for name, value in body.tags.items()
        }

    @property
    def is_unreadable(self) -> bool:
        """Whether the store could not even be read a moment ago."""
        return time.monotonic() < self._unreadable_until

    def note_unreadable(self) -> None:
        """Have nobody who can do without it read the store for a while."""
        self._unreadable_until = time.monotonic() + _PAUSE

    def note_free(self) -> None:
        """Have everybody ask the store again."""
        self._busy_until = self._unreadable_until = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether the store made somebody wait a moment ago, and is better not asked again yet."""
        return time.monotonic() < self._busy_until

    def note_busy(self) -> None:
        """Have nobody who can do without the store write to it for a while."""
        self._busy_until = time.monotonic() + _PAUSE
