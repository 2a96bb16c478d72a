"""Beside the event loop: work that would block it is done in a thread and done whole; coroutines take turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from threading import Lock
from typing import ParamSpec, TypeVar

from foveate.log.locking import fork_count

P = ParamSpec("P")
T = TypeVar("T")


async def run_beside(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` returns, done in a thread: whatever it waits for, the event loop goes on.

    Who is cancelled meanwhile is so once it is done, as if it had not been waited for: what was begun to be written
    is written, and what comes after it finds it so.
    """
    # Only sessions in an event loop pay for its import.
    import asyncio  # noqa: PLC0415

    loop = asyncio.get_running_loop()
    bound: Callable[[], T] = partial(work, *args, **kwargs)
    doing: asyncio.Future[T] = loop.run_in_executor(None, copy_context().run, bound)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError as cancelled:
        while not doing.done():
            try:
                await asyncio.wait({doing})
            except asyncio.CancelledError:
                continue
        raise cancelled from None if doing.cancelled() else doing.exception()


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
