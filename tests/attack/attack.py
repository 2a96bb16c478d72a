"""The frame of an attack: what it tries, how often, and how each attempt ended."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

BROKEN: Final = "BROKEN: "
"""How the ending of an attempt begins that broke a promise."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What an attack is given: how many attempts, chance from a seed, a folder of its own."""

    count: int
    rng: Random
    folder: Path


Attempts = Callable[[Scene], Iterator[str]]
"""Makes the attempts, and yields how each ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One class of attacks.

    Args:
        name: what the command line calls it.
        promise: what must hold, in one sentence.
        small: attempts in the test suite.
        full: attempts of `make attack`.
        run: makes them.
        expected: how many attempts a count makes, where it counts something else.
        patience: seconds after which an attempt that has not ended hangs, which breaks any promise.

    """

    name: str
    promise: str
    small: int
    full: int
    run: Attempts
    expected: Callable[[int], int] = lambda count: count
    patience: float = 600.0


@dataclass(slots=True)
class Outcome:
    """What came of an attack; `missed` attempts were not made, as the time was up or one of them hung."""

    attempts: int = 0
    missed: int = 0
    seconds: float = 0.0
    endings: Counter[str] = field(default_factory=Counter[str])

    @property
    def broken(self) -> list[str]:
        """What was broken, if anything was."""
        return [ending for ending in self.endings if ending.startswith(BROKEN)]

    def describe(self) -> str:
        """The endings with their counts, most frequent first."""
        return ", ".join(f"{count:,} {ending}" for ending, count in self.endings.most_common())


def carry_out(
    attack: Attack, scene: Scene, *, seconds: float, on_attempt: Callable[[Outcome], None] = lambda _outcome: None
) -> Outcome:
    """Make the attempts of an attack, until all are made, the time is up, or one of them hangs."""
    outcome, began = Outcome(), time.monotonic()
    expected = attack.expected(scene.count)
    attempts = attack.run(scene)
    try:
        for ending in _bounded(attempts, attack.patience):
            outcome.attempts += 1
            outcome.endings[ending] += 1
            outcome.seconds = time.monotonic() - began
            on_attempt(outcome)
            is_up = outcome.seconds > seconds or ending.startswith(_HUNG)
            if is_up and outcome.attempts < expected:
                outcome.missed = expected - outcome.attempts
                break
    finally:
        close = getattr(attempts, "close", None)
        if close is not None:
            close()
    outcome.seconds = time.monotonic() - began
    return outcome


_HUNG: Final = f"{BROKEN}an attempt hung"


class _HungError(BaseException):
    """An attempt took too long; no attack takes it for an error of what is attacked."""


def _bounded(attempts: Iterator[str], patience: float) -> Iterator[str]:
    """The endings of attempts, and one that says so for an attempt that does not come to an end."""
    while True:
        try:
            with _alarm(patience):
                ending = next(attempts, None)
        except _HungError:
            yield f"{_HUNG}: it did not end within {patience:,.0f} s"
            return
        if ending is None:
            return
        yield ending


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Have `_HungError` raised after some seconds, where signals can be heard."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_signal: int, _frame: object) -> None:
        raise _HungError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
