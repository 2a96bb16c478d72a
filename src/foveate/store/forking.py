"""Forking: a child begins with no connection of its parent's, and with nothing locked that it could never free.

What another thread has locked in SQLite at the moment of a fork stays locked in the child: its thread is not there to
free it, and SQLite keeps the locks of a process in its memory. So a fork waits until the transactions of other threads
are over, and they begin no other until it is done.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, RLock, get_ident
from typing import Final
from weakref import WeakSet

from sqlalchemy import Engine

# In seconds: a transaction that itself waits for another process is not waited for without end.
_PATIENCE: Final = 10.0


class OpenFile:
    """A file that no child has open; `number` is None once it is closed, also in a child."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number: int | None = number


class _Gate:
    """The transactions that are under way, by their threads."""

    def __init__(self) -> None:
        self._engines: WeakSet[Engine] = WeakSet()
        self._inside: dict[int, int] = {}
        self._forking: int | None = None
        self._changed = Condition()
        self._files: set[OpenFile] = set()
        # No fork between a file's being opened and its being known.
        self._opening = RLock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._close, after_in_parent=self._open, after_in_child=self._begin)

    def add(self, engine: Engine) -> None:
        """Have the connections of an engine forgotten in children: they are the parent's."""
        self._engines.add(engine)

    @contextmanager
    def opened(self, path: Path) -> Generator[OpenFile, None, None]:
        """A file to lock, which is made if it is not there; a child would share its locks, so it is closed there."""
        with self._opening:
            file = OpenFile(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._files.add(file)
        try:
            yield file
        finally:
            with self._opening:
                self._files.discard(file)
                if file.number is not None:
                    os.close(file.number)
                    file.number = None

    @contextmanager
    def passed(self) -> Generator[None, None, None]:
        """A transaction; while the process is forked it waits before it begins."""
        me = get_ident()
        with self._changed:
            # Who is inside already must come out for the fork to go on.
            while self._forking not in (None, me) and me not in self._inside:
                self._changed.wait()
            self._inside[me] = self._inside.get(me, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                self._inside[me] -= 1
                if not self._inside[me]:
                    del self._inside[me]
                    self._changed.notify_all()

    def _close(self) -> None:
        me, until = get_ident(), time.monotonic() + _PATIENCE
        with self._changed:
            while self._forking is not None:
                self._changed.wait()
            self._forking = me
            while self._inside.keys() - {me} and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
        self._opening.acquire()

    def _open(self) -> None:
        self._opening.release()
        with self._changed:
            self._forking = None
            self._changed.notify_all()

    def _begin(self) -> None:
        """Begin in the child, which has one thread, and connections that it must neither use nor close."""
        me = get_ident()
        self._changed, self._forking = Condition(), None
        self._inside = {thread: count for thread, count in self._inside.items() if thread == me}
        for engine in list(self._engines):
            engine.dispose(close=False)
        files, self._files, self._opening = self._files, set(), RLock()
        for file in files:
            if file.number is not None:
                os.close(file.number)
                file.number = None


gate: Final = _Gate()
