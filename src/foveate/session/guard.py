"""The guard of a session: one thread at a time is inside, and observers are told once it has left."""

from __future__ import annotations

from collections.abc import Callable

from foveate.log.locking import LogLock


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
