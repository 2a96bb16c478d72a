"""Observing: who is told of events, and the one line that each compile logs."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from itertools import count
from threading import Lock
from typing import Any

from foveate.compile.compiled import CompiledContext
from foveate.log.events import Event
from foveate.log.locking import fork_count


class Observers:
    """Callbacks that see every event, in order, also when one of them, or another thread, appends further events."""

    def __init__(self) -> None:
        self._observers: dict[int, Callable[[Event], None]] = {}
        self._keys = count()
        self._waiting: deque[Event] = deque()
        self._telling = Lock()
        self._forks = fork_count()

    def add(self, observer: Callable[[Event], None]) -> Callable[[], None]:
        """Tell `observer` from here on; the result of this call ends it."""
        key = next(self._keys)
        self._observers[key] = observer
        return lambda: self._observers.pop(key, None) and None

    def __len__(self) -> int:
        return len(self._observers)

    def expect(self, events: Iterable[Event]) -> None:
        """Take note of what is to be told, in the order of the log."""
        self._waiting.extend(events)

    def tell(self) -> list[str]:
        """Tell everyone what happened; returns what went wrong with whom.

        While a thread tells, what others append is told by it too: they do not wait, as it may wait for them.
        """
        failed: list[str] = []
        if self._waiting and self._forks != fork_count():
            # Whoever told the parent's observers does not go on in this process.
            self._telling, self._forks = Lock(), fork_count()
        # Looked at once more after each round: somebody may have left an event while this thread was about to stop.
        while self._waiting and self._telling.acquire(blocking=False):
            try:
                while self._waiting:
                    self._tell_one(self._waiting.popleft(), failed)
            finally:
                self._telling.release()
        return failed

    def _tell_one(self, event: Event, failed: list[str]) -> None:
        for observer in list(self._observers.values()):
            try:
                observer(event)
            except Exception as error:  # noqa: BLE001  a watcher must not cost the watched
                failed.append(f"{observer!r} failed on event {event.seq}: {error!r}")


# The agent that compiles now; none in a session that is not an agent's.
COMPILING_AGENT: ContextVar[str] = ContextVar("foveate_compiling_agent", default="none")


def log_compile(view: CompiledContext) -> None:
    """One debug line for a compile; silent unless the user enables the logger "foveate"."""
    logger = _logger()
    if logger is not None:
        logger.log(
            "DEBUG",
            "compiled call {} of {}: agent {}, strategy {}, system_prompt_length {}, {} tokens ({} cached), {} items, "
            "sections {}, stages {}",
            view.number,
            view.state.context.session,
            COMPILING_AGENT.get(),
            view.strategy,
            len(view.system_prompt or ""),
            view.tokens,
            view.predicted_cached,
            len(view.items),
            [section.name for section in view.sections],
            [record.name for record in view.records],
        )


def log_failure(session_id: str, error: Exception) -> None:
    """One warning for something that could not be written."""
    logger = _logger()
    if logger is not None:
        logger.log("WARNING", "session {}: {}", session_id, error)


def _logger() -> Any:
    """Loguru's logger, if it was imported: that takes longer than all of Foveate, and every listener has done it."""
    loguru = sys.modules.get("loguru")
    if loguru is None:
        return None
    _disable_once(loguru.logger)
    return loguru.logger


_disabled = False


def _disable_once(logger: Any) -> None:
    """Keep silent by default, as a library should, unless the user has said otherwise already."""
    global _disabled  # noqa: PLW0603  the setting is the process's, as loguru's is
    if not _disabled:
        _disabled = True
        chosen = getattr(getattr(logger, "_core", None), "activation_list", ())
        if not any(str(name).startswith("foveate") for name, _ in chosen):
            logger.disable("foveate")
