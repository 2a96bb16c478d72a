"""Turns: coroutines go one after the other, whichever event loops they run in."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from threading import Lock

from foveate.log.locking import fork_count


class Turns:
    """An asynchronous lock that is bound to no loop; who waits for it holds no thread."""

    __slots__ = ("_forks", "_lock", "_taken", "_waiting")

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._forks = fork_count()
        self._lock = Lock()
        self._taken = False
        self._waiting: deque[Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._forks != fork_count():
            # Whoever had the turn in the parent does not go on in this process.
            self._begin()
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            turn: Future[None] = Future()
            self._waiting.append(turn)
        # Only who compiles in an event loop pays for its import.
        import asyncio  # noqa: PLC0415

        try:
            await asyncio.wrap_future(turn)
        except BaseException:
            if not turn.cancel():
                # It came at the moment when nobody wanted it any more.
                self._pass_on()
            raise

    async def __aexit__(self, *_error: object) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._taken = False
