"""The tasks of the sample session, in the order the user asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from foveate.sample.recorder import Recorder
from foveate.sample.tasks import (
    events_refactor,
    flaky_test,
    low_stock,
    refund_endpoint,
    release_notes,
    rounding_bug,
)

__all__ = ["TASKS", "Task"]

Task: TypeAlias = Callable[[Recorder], None]

TASKS: tuple[Task, ...] = (
    flaky_test.run,
    refund_endpoint.run,
    low_stock.run,
    rounding_bug.run,
    events_refactor.run,
    release_notes.run,
)
