"""Observing: who is told of events, and the one line that each compile logs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from loguru import logger

from foveate.compiler.compiled import CompiledContext
from foveate.log.events import Event


class Observers:
    """Callbacks that see every event, in order, also when one of them appends further events."""

    def __init__(self) -> None:
        self._observers: dict[int, Callable[[Event], None]] = {}
        self._waiting: deque[Event] = deque()
        self._telling = False
        self._next = 0

    def add(self, observer: Callable[[Event], None]) -> Callable[[], None]:
        """Tell `observer` from here on; the result of this call ends it."""
        key, self._next = self._next, self._next + 1
        self._observers[key] = observer
        return lambda: self._observers.pop(key, None) and None

    def tell(self, events: Iterable[Event]) -> list[str]:
        """Tell everyone; returns what went wrong with whom."""
        if not self._observers:
            return []
        self._waiting.extend(events)
        if self._telling:
            # An observer appended these: they are told after the event it is being told of.
            return []
        self._telling = True
        failed: list[str] = []
        try:
            while self._waiting:
                event = self._waiting.popleft()
                for observer in list(self._observers.values()):
                    try:
                        observer(event)
                    except Exception as error:  # noqa: BLE001  a watcher must not cost the watched
                        failed.append(f"{observer!r} failed on event {event.seq}: {error!r}")
        finally:
            self._telling = False
        return failed


def log_compile(view: CompiledContext) -> None:
    """One debug line for a compile; silent unless the user enables the logger "foveate"."""
    logger.debug(
        "compiled call {} of {}: {} tokens ({} cached), {} items, sections {}, stages {}",
        view.number,
        view.state.context.session,
        view.tokens,
        view.predicted_cached,
        view.length,
        [section.name for section in view.sections],
        [record.name for record in view.records],
    )
