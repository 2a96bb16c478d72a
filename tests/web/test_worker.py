"""Workers: what is done in another process, and what becomes of it if it fails or is stopped."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from foveate.errors import ConfigError, FoveateError
from foveate.web.worker import StoppedError, Tell, Worker


def added(tell: Tell, first: int, second: int) -> int:
    tell("adding", 0.5)
    return first + second


def refused(_tell: Tell) -> None:
    raise ConfigError("`first` must be 1 or more; give another")


def broken(_tell: Tell) -> None:
    raise ZeroDivisionError("by nothing")


def killed(_tell: Tell) -> None:
    os._exit(9)


def endless(tell: Tell) -> None:
    while True:
        tell("still at it", None)
        time.sleep(0.05)


async def test_work_comes_back_with_what_was_told() -> None:
    """The result comes from the other process, and so does how far it was."""
    worker = Worker(added, 2, 3)

    assert await worker.result() == 5
    assert (worker.text, worker.share) == ("adding", 0.5)


async def test_what_fails_elsewhere_fails_here() -> None:
    """An error of ours keeps its words; a defect is called one; a process that dies is noticed."""
    with pytest.raises(FoveateError, match="`first` must be 1 or more; give another"):
        await Worker(refused).result()
    with pytest.raises(FoveateError, match="a defect of Foveate, please report it: ZeroDivisionError: by nothing"):
        await Worker(broken).result()
    with pytest.raises(FoveateError, match="died, perhaps for want of memory"):
        await Worker(killed).result()


async def test_work_can_be_stopped() -> None:
    """Whoever waits for stopped work hears of it at once."""
    worker = Worker(endless)
    waiting = asyncio.create_task(worker.result())
    for _ in range(1_000):
        await asyncio.sleep(0.02)
        if worker.text == "still at it":
            break
    worker.stop()

    with pytest.raises(StoppedError):
        await asyncio.wait_for(waiting, 5)
