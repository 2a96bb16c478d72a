"""The lock of a log, and the guard of a session: one thread at a time, and no forked child waits for ever."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock, RLock
from typing import Final

from foveate.errors import StoreError


class _Forks:
    """How often this process, or one it descends from, was forked off."""

    def __init__(self) -> None:
        self.count = 0
        self.renewing = Lock()

    def add(self) -> None:
        """Begin to count from here: this is the child, with one thread, and none that could hold `renewing`."""
        self.count += 1
        self.renewing = Lock()


_forks: Final = _Forks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forks.add)


def fork_count() -> int:
    """A number that is another one in a process that was forked off."""
    return _forks.count


class LogLock:
    """A re-entrant lock around a log and all that is derived from it.

    What another thread was changing when the process was forked is half changed in the child, for good: there the lock
    raises `StoreError` instead of waiting for ever.
    """

    __slots__ = ("_forks", "_lock", "release")

    def __init__(self) -> None:
        self._lock = RLock()
        self._forks = _forks.count
        self.release: Final = self._lock.release

    def acquire(self) -> None:
        """Wait for the lock, unless nobody is left to free it."""
        if self._forks != _forks.count:
            self._renew()
        self._lock.acquire()

    __enter__ = acquire

    def __exit__(self, *_error: object) -> None:
        self._lock.release()

    def _renew(self) -> None:
        """Go on in a child, if no other thread of its parent held the lock."""
        with _forks.renewing:
            if self._forks == _forks.count:
                return
            if not self._lock.acquire(blocking=False):
                raise StoreError(
                    "this session was in use by another thread when the process was forked; open it anew in the child, "
                    "or fork before threads use it"
                )
            self._lock.release()
            self._forks = _forks.count


class Guard:
    """Entered by every method that reads or changes what a session derives from its log; the same thread may again.

    Observers are told outside: one that goes on with another session waits for nobody who waits for this one.
    """

    __slots__ = ("_depth", "_tell", "lock")

    def __init__(self, lock: LogLock, tell: Callable[[], None]) -> None:
        self.lock = lock
        self._tell = tell
        self._depth = 0

    def __enter__(self) -> None:
        self.lock.acquire()
        self._depth += 1

    def __exit__(self, *_error: object) -> None:
        self._depth -= 1
        is_outermost = not self._depth
        self.lock.release()
        if is_outermost:
            self._tell()
