"""Beside the event loop: work that would block it is done in a thread, and is done whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def run_beside(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` returns, done in a thread: whatever it waits for, the event loop goes on.

    Who is cancelled meanwhile is so once it is done, as if it had not been waited for: what was begun to be written
    is written, and what comes after it finds it so.
    """
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
