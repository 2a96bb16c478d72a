"""The keeper: the current snapshot of a log, which goes on only once it is written."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from foveate.budget.tokens import TokenCounter
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.rebuild import rebuilt_call
from foveate.errors import ConflictError, StoreError
from foveate.log.context import AgentContext
from foveate.log.events import Body, DiagnosticRecorded, Event
from foveate.session.journal import Journal
from foveate.session.observing import Observers, log_failure

Make = Callable[[AgentContext], AgentContext]
"""Makes a snapshot with further events of one; asked again if another writer was first."""
_ATTEMPTS: Final = 500
_LONGEST_WAIT: Final = 0.05
# In seconds: a store that refuses as soon as this may be asked at any time.
_SOON: Final = 1.0


class Keeper:
    """Holds the snapshot, hands what is new to the journal and to who watches."""

    def __init__(self, context: AgentContext, journal: Journal | None = None) -> None:
        self.context = context
        self.journal = journal
        self.observers = Observers()
        self._unwritten: list[DiagnosticRecorded] = []
        # What the store refused and is held until it takes it, and the snapshot before, which is written.
        self._held: list[Make] = []
        self._kept: AgentContext | None = None
        # Until when a store that refused something is not asked again.
        self._pause = 0.0
        self._closed = False

    def commit(self, make: Make, *, retry: bool = True, hold: bool = False) -> AgentContext:
        """Go on to what `make` makes of the snapshot, once that is written; returns the snapshot before.

        If another writer was first, its events are taken in and `make` is asked again, unless `retry` is off. With
        `hold`, what the store refuses is held in memory, and written before whatever it takes next.
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
            except StoreError as error:
                if not hold:
                    raise
                self._hold(make, error)
                return before
            self._unwritten.clear()
            self._go_on(after)
            return before
        raise AssertionError("attempts raise when they are used up")

    def _written(self, before: AgentContext, make: Make) -> AgentContext:
        after = before
        try:
            after = make(before)
            if self._unwritten:
                after = after.with_events(self._unwritten)
            if self.journal is not None:
                self._append(self.journal, list(after.log.events((self._kept or before).length, after.length)))
        except BaseException:
            # Nobody has seen these events, and others will take their numbers.
            before.log.retract(before.length)
            raise
        self._held.clear()
        self._kept = None
        return after

    def _append(self, journal: Journal, events: list[Event]) -> None:
        began = time.monotonic()
        if self._held and began < self._pause:
            raise StoreError(
                f"session {self.context.session!r}: the store could not be written a moment ago; try again in "
                f"{self._pause - began:.0f} s"
            )
        try:
            journal.append(events)
        except ConflictError:
            raise
        except StoreError:
            # Who waited half a minute for a lock does not wait for it again for each event of a turn.
            now = time.monotonic()
            self._pause = now + (now - began) if now - began > _SOON else 0.0
            raise

    def _hold(self, make: Make, error: StoreError) -> None:
        self.failed(error)
        said, self._unwritten = self._unwritten, []

        def held(context: AgentContext) -> AgentContext:
            return make(context).with_events(said)

        before = self.context
        after = held(before)
        self._kept = self._kept or before
        self._held.append(held)
        self._go_on(after)

    def refresh(self) -> list[Event]:
        """Take in what other writers appended since; what is held comes behind it."""
        written = self._kept or self.context
        events = self.journal.since(written.length) if self.journal is not None else []
        if events:
            context = written.with_recorded(events)
            if self._held:
                self._kept = context
            for held in self._held:
                context = held(context)
            self._go_on(context, events)
        return events

    def check_open(self) -> None:
        """Raise `StoreError` if the session was closed."""
        if self._closed:
            raise StoreError(f"session {self.context.session!r} is closed; open it again to go on with it")

    def save(self, counter: TokenCounter) -> None:
        """See to it that the session can be opened quickly."""
        try:
            if self.journal is not None and not self._held:
                self.journal.save(self.context, counter)
        except StoreError as error:
            self.failed(error)

    def rebuilt(self, number: int, counter: TokenCounter) -> CompiledContext:
        """A past call, from what was kept of it."""
        if self.journal is not None:
            return self.journal.rebuilt(number, counter)
        return rebuilt_call(self.context, number, counter)

    def close(self, counter: TokenCounter) -> bool:
        """Let go of the journal; from here on nothing can be appended. Whether it has all that was."""
        if self.journal is None or self._closed:
            return not self._held
        try:
            if self._unwritten or self._held:
                self._pause = 0.0
                self.commit(lambda context: context)
        except StoreError as error:
            log_failure(self.context.session, error)
        self._closed = True
        self.journal.close(self._kept or self.context, counter)
        return not self._held

    def failed(self, error: StoreError, lost: Iterable[Body] = ()) -> None:
        """Note that something could not be written; it is said in the log as soon as something can be.

        So are the diagnostics among what was lost: whatever else went wrong is no less wrong for that.
        """
        self._unwritten += [body for body in lost if isinstance(body, DiagnosticRecorded)]
        if not self._held:
            # Said once: all that is held is held for the same reason.
            self._unwritten.append(DiagnosticRecorded(code="store_failed", phase="record", text=f"{error}"))
        log_failure(self.context.session, error)

    def _go_on(self, context: AgentContext, new: Iterable[Event] | None = None) -> None:
        before, self.context = self.context.length, context
        for text in self.observers.tell(context.log.events(before, context.length) if new is None else new):
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
