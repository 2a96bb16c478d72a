"""Workers: long work in a process of its own, which tells how far it is and can be stopped."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

from foveate.errors import FoveateError

T = TypeVar("T")
Tell = Callable[[str, float | None], None]
"""Told what is being done, and which share of it is; None if that cannot be told."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """A failure on its way between processes: an error need not be picklable."""

    text: str
    is_ours: bool


@dataclass(frozen=True, slots=True)
class _Done:
    result: Any


class StoppedError(FoveateError):
    """Work was stopped by who asked for it."""


class Worker(Generic[T]):
    """One function at work in another process; it gets a `Tell` before its arguments, and must be importable."""

    def __init__(self, work: Callable[..., T], *arguments: object) -> None:
        self.text = "starting"
        self.share: float | None = None
        # Not forked: the tokenizer and the server have threads, and a fork would wait for them for ever.
        context = multiprocessing.get_context("spawn")
        self._hears, says = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(says, work, arguments), name=f"foveate {work.__name__}")
        self._process.start()
        says.close()
        self._stopped = False

    async def result(self) -> T:
        """What the function returned; raises what it raised."""
        try:
            return await asyncio.to_thread(self._listen)
        finally:
            await asyncio.to_thread(self._end)

    def stop(self) -> None:
        """End the work now; whoever waits for its result gets `StoppedError`."""
        self._stopped = True
        self._process.terminate()

    def _listen(self) -> T:
        while True:
            try:
                heard = self._hears.recv()
            except (EOFError, OSError) as error:
                if self._stopped:
                    raise StoppedError("this was stopped") from error
                raise FoveateError(
                    "the process that did this work died, perhaps for want of memory; try it with less at once"
                ) from error
            match heard:
                case _Done():
                    result: T = heard.result
                    return result
                case _Failed(text=text, is_ours=is_ours):
                    raise FoveateError(text if is_ours else f"this is a defect of Foveate, please report it: {text}")
                case _:
                    self.text, self.share = heard

    def _end(self) -> None:
        self._process.join(timeout=5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._hears.close()


def _work(says: Connection, work: Callable[..., object], arguments: tuple[object, ...]) -> None:
    def tell(text: str, share: float | None) -> None:
        says.send((text, share))

    try:
        outcome: object = _Done(work(tell, *arguments))
    except BrokenPipeError:
        # Nobody listens any more: the server has ended.
        return
    except FoveateError as error:
        outcome = _Failed(str(error), is_ours=True)
    except Exception as error:  # noqa: BLE001  whatever it is, who waits must hear of it
        outcome = _Failed(f"{type(error).__name__}: {error}", is_ours=False)
    says.send(outcome)
    says.close()
