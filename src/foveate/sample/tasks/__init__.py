"""The tasks of the sample session, in the order the user asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from foveate.sample.recorder import Recorder
from foveate.sample.tasks import (
    events_refactor,
    flaky_test,
    further,
    low_stock,
    refund_endpoint,
    release_notes,
    rounding_bug,
)

__all__ = ["TASKS", "Task", "task"]

Task: TypeAlias = Callable[[Recorder], None]

TASKS: tuple[Task, ...] = (
    flaky_test.run,
    refund_endpoint.run,
    low_stock.run,
    rounding_bug.run,
    events_refactor.run,
    release_notes.run,
)


def task(number: int) -> Task:
    """The `number`-th task from 0: one of the six that were written out, then generated ones."""
    return TASKS[number] if number < len(TASKS) else further.task(number - len(TASKS))
