"""The keeper: the current snapshot of a log, which goes on only once it is written."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from foveate.budget.tokens import TokenCounter
from foveate.errors import ConflictError, StoreError
from foveate.log.context import AgentContext
from foveate.log.events import Body, DiagnosticRecorded, Event
from foveate.session.journal import Journal
from foveate.session.observing import Observers, log_failure

_ATTEMPTS: Final = 500
_LONGEST_WAIT: Final = 0.05


class Keeper:
    """Holds the snapshot, hands what is new to the journal and to who watches."""

    def __init__(self, context: AgentContext, journal: Journal | None = None) -> None:
        self.context = context
        self.journal = journal
        self.observers = Observers()
        self._unwritten: list[DiagnosticRecorded] = []
        self._closed = False

    def commit(self, make: Callable[[AgentContext], AgentContext], *, retry: bool = True) -> AgentContext:
        """Go on to what `make` makes of the snapshot, once that is written; returns the snapshot before.

        If another writer was first, its events are taken in and `make` is asked again, unless `retry` is off.
        """
        self.check_open()
        for wait in attempts(self.context.session):
            before = self.context
            try:
                after = self._written(before, make)
            except ConflictError:
                self.refresh()
                if not retry:
                    raise
                wait()
                continue
            self._unwritten.clear()
            self._go_on(after)
            return before
        raise AssertionError("attempts raise when they are used up")

    def _written(self, before: AgentContext, make: Callable[[AgentContext], AgentContext]) -> AgentContext:
        after = before
        try:
            after = make(before)
            if self._unwritten:
                after = after.with_events(self._unwritten)
            if self.journal is not None:
                self.journal.append(list(after.log.events(before.length, after.length)))
        except BaseException:
            # Nobody has seen these events, and others will take their numbers.
            before.log.retract(before.length)
            raise
        return after

    def refresh(self) -> list[Event]:
        """Take in what other writers appended since."""
        events = self.journal.since(self.context.length) if self.journal is not None else []
        if events:
            self._go_on(self.context.with_recorded(events))
        return events

    def check_open(self) -> None:
        """Raise `StoreError` if the session was closed."""
        if self._closed:
            raise StoreError(f"session {self.context.session!r} is closed; open it again to go on with it")

    def save(self, counter: TokenCounter) -> None:
        """See to it that the session can be opened quickly."""
        try:
            if self.journal is not None:
                self.journal.save(self.context, counter)
        except StoreError as error:
            self.failed(error)

    def close(self, counter: TokenCounter) -> None:
        """Let go of the journal; from here on nothing can be appended."""
        if self.journal is None or self._closed:
            return
        try:
            if self._unwritten:
                self.commit(lambda context: context)
        except StoreError as error:
            log_failure(self.context.session, error)
        self._closed = True
        self.journal.close(self.context, counter)

    def failed(self, error: StoreError, lost: Iterable[Body] = ()) -> None:
        """Note that something could not be written; it is said in the log as soon as something can be.

        So are the diagnostics among what was lost: whatever else went wrong is no less wrong for that.
        """
        self._unwritten += [body for body in lost if isinstance(body, DiagnosticRecorded)]
        self._unwritten.append(DiagnosticRecorded(code="store_failed", phase="record", text=f"{error}"))
        log_failure(self.context.session, error)

    def _go_on(self, context: AgentContext) -> None:
        before, self.context = self.context.length, context
        for text in self.observers.tell(context.log.events(before, context.length)):
            # Told to nobody: a subscriber that fails on every event would otherwise never come to an end.
            self._unwritten.append(DiagnosticRecorded(code="subscriber_failed", phase="observe", text=text))
        if self._unwritten and self.journal is None:
            self.context = self.context.with_events(self._unwritten)
            self._unwritten.clear()


def attempts(session_id: str) -> Iterator[Callable[[], None]]:
    """Chances to be first, each with a way to wait before the next; an error when they are used up."""
    for attempt in range(_ATTEMPTS):
        # Not all losers come back at the same moment.
        pause = random.uniform(0, min(_LONGEST_WAIT, 0.001 * 2 ** min(attempt, 10)))  # noqa: S311
        yield partial(time.sleep, pause)
    raise ConflictError(f"session {session_id!r}: other writers were first {_ATTEMPTS} times in a row; try again")
