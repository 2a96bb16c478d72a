"""Observing: who is told of events, and the one line that each compile logs."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

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
    _log(
        "DEBUG",
        "compiled call {} of {}: {} tokens ({} cached), {} items, sections {}, stages {}",
        view.number,
        view.state.context.session,
        view.tokens,
        view.predicted_cached,
        view.length,
        [section.name for section in view.sections],
        [record.name for record in view.records],
    )


def log_failure(session_id: str, error: Exception) -> None:
    """One warning for something that could not be written."""
    _log("WARNING", "session {}: {}", session_id, error)


def _log(level: str, message: str, *values: object) -> None:
    # Loguru takes longer to import than all of Foveate: who wants to listen has imported it.
    loguru = sys.modules.get("loguru")
    if loguru is not None:
        _disable_once(loguru.logger)
        loguru.logger.log(level, message, *values)


_disabled = False


def _disable_once(logger: Any) -> None:
    """Keep silent by default, as a library should, unless the user has said otherwise already."""
    global _disabled  # noqa: PLW0603  the setting is the process's, as loguru's is
    if not _disabled:
        _disabled = True
        chosen = getattr(getattr(logger, "_core", None), "activation_list", ())
        if not any(str(name).startswith("foveate") for name, _ in chosen):
            logger.disable("foveate")
