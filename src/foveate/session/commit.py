"""The commit: the current snapshot of a log, which goes on only once it is written."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

from foveate.budget.tokens import TokenCounter
from foveate.compile.compiled import CompiledContext
from foveate.compile.projection import Projection, SentPrefix
from foveate.compile.rebuild import rebuilt_call
from foveate.compile.timeline import Projector
from foveate.errors import ConflictError, DisplacedError, StoreError
from foveate.log.context import AgentContext, Kept, Place
from foveate.log.events import DiagnosticRecorded, Event
from foveate.log.locking import Guard
from foveate.recall import PassageIndex
from foveate.session.observing import Observers, log_failure

Make = Callable[[AgentContext], AgentContext]
"""Makes a snapshot with further events of one; asked again if another writer was first."""
Result = TypeVar("Result")
_ATTEMPTS: Final = 500
_LONGEST_WAIT: Final = 0.05


class Committed(NamedTuple):
    """The snapshots before and after what was written; the log may have gone on, or be another one, by now."""

    before: AgentContext
    after: AgentContext


class Journal(Protocol):
    """Keeps the events of one session."""

    @property
    def held_in(self) -> str | None:
        """Where events wait to be written, in words; None if none do."""
        ...

    def append(self, events: Sequence[Event], /, *, hold: bool = False) -> Kept:
        """Keep events for good, all or none; a `ConflictError` if another writer was first.

        With `hold`, a store that cannot be written takes them later, and the result says so.
        """
        ...

    def reload(self) -> tuple[AgentContext, Projector]:
        """The log as it stands, after held events came behind another writer's, and what folds it."""
        ...

    def since(self, length: int, /) -> list[Event]:
        """The events from number `length` on, which others appended."""
        ...

    def rebuilt(self, number: int, counter: TokenCounter, /) -> CompiledContext:
        """A past call, from what was kept."""
        ...

    def index(self) -> PassageIndex:
        """Finds passages of the log; what was appended is in it."""
        ...

    def artifact(self, handle: str, /) -> str:
        """The text behind a handle."""
        ...

    def save(self, context: AgentContext, projector: Projector, /) -> None:
        """Make sure that the session can be opened quickly from here."""
        ...

    def close(self, context: AgentContext, projector: Projector, /) -> bool:
        """Let go of everything, so that the session can be opened quickly later; whether the store has all of it."""
        ...


class EventWriter:
    """Has the snapshot that a session stands at, and writes what comes next: to the journal, then to its observers."""

    def __init__(
        self, context: AgentContext, journal: Journal | None = None, projector: Projector | None = None
    ) -> None:
        self.context = context
        self.journal = journal
        self._projector = projector
        # What the last compile found out about its request, until its call is folded.
        self._offered: SentPrefix | None = None
        self.observers = Observers()
        self.guard = Guard(context.log.lock, self._tell_observers)
        # Where the newest events are; None without a journal.
        self.place: Place | None = None if journal is None else "store"
        self._unwritten: list[DiagnosticRecorded] = []
        # The number from which on the log is another one than this snapshot, as held events have another place in it.
        self._displaced_from: int | None = None
        self._closed = False

    def retried(self, attempt: Callable[[], Result]) -> Result:
        """What `attempt` returns; it is made again each time that another writer was first."""
        for number in range(_ATTEMPTS):
            try:
                return attempt()
            except ConflictError:
                _back_off(number)
        raise ConflictError(
            f"session {self.context.session!r}: other writers were first {_ATTEMPTS} times in a row; try again"
        )

    def commit(self, make: Make, *, hold: bool = False) -> Committed:
        """Go on to what `make` makes of the snapshot, once that is written.

        If another writer was first, its events are taken in, and the `ConflictError` is for `retried`. With `hold`,
        what the store refuses is held beside it, and written before whatever it takes next.
        """
        self.check_open()
        # On a snapshot that is another log by now nothing can be built.
        if self._displaced_from is not None and not self._take_in(hold=hold):
            raise ConflictError(
                f"session {self.context.session!r}: its log has changed and cannot be read at this moment"
            )
        before, kept = self.context, Kept("store")
        # Else somebody else went on from this snapshot, and it is a branch that grows here.
        is_newest = len(before.log) == before.length
        try:
            after = make(before)
            if self._unwritten:
                after = after.with_events(self._unwritten)
            if self.journal is not None and after.length > before.length:
                kept = self.journal.append(list(after.log.events(before.length, after.length)), hold=hold)
        except BaseException as error:
            if is_newest:
                # Nobody has seen these events, and others will take their numbers.
                before.log.retract(before.length)
            if isinstance(error, ConflictError):
                self._note_displaced(error)
                self._take_in(hold=hold)
            raise
        self._unwritten.clear()
        is_news = self.journal is not None and kept.place not in ("store", self.place)
        self.place = kept.place if self.journal is not None else None
        self._go_on(after)
        if is_news:
            self._say_held(kept)
        return Committed(before, after)

    def projection(self, counter: TokenCounter) -> Projection:
        """What the snapshot comes to."""
        offered, self._offered = self._offered, None
        return self._projector_for(counter).projection(self.context, offered)

    def offer(self, prefix: SentPrefix | None) -> None:
        """Leave what the compile of a call found out to the compile of the next one."""
        self._offered = prefix

    def _projector_for(self, counter: TokenCounter) -> Projector:
        projector = self._projector
        if projector is None or (projector.counter is not counter and projector.counter.name != counter.name):
            projector = self._projector = Projector(counter)
        return projector

    def _say_held(self, kept: Kept) -> None:
        """Say once that the store fails, in the log itself; all that is held is held for the same reason."""
        text = f"{kept.why}; the session goes on, and the store gets all of it as soon as it can be written"
        log_failure(self.context.session, StoreError(text))
        said = DiagnosticRecorded(code="store_failed", phase="record", text=text)
        try:
            self.retried(partial(self.commit, partial(AgentContext.with_events, bodies=[said]), hold=True))
        except ConflictError as error:
            # The events are in the log by now: a retry would append them twice.
            log_failure(self.context.session, error)

    def _take_in(self, *, hold: bool) -> bool:
        """Take in what others wrote; whether the snapshot is one of the log as it stands."""
        try:
            self.refresh()
        except StoreError as error:
            if not hold:
                raise
            # The connection broke at this moment; the next attempt reads it, or holds what comes.
            log_failure(self.context.session, error)
        return self._displaced_from is None

    def refresh(self) -> list[Event]:
        """Take in what other writers appended since; what is held comes behind it."""
        if self.journal is None:
            return []
        events: list[Event] = []
        try:
            if self._displaced_from is None:
                events = self.journal.since(self.context.length)
        except DisplacedError as error:
            self._note_displaced(error)
        if self._displaced_from is not None:
            return self._reload(self.journal, self._displaced_from)
        if events:
            self._go_on(self.context.with_recorded(events), events)
        return events

    def _note_displaced(self, error: ConflictError) -> None:
        if isinstance(error, DisplacedError):
            self._displaced_from = error.first

    def _reload(self, journal: Journal, first: int) -> list[Event]:
        """Take the log as it stands: what was held has other numbers in it, which a diagnostic there says."""
        after, self._projector = journal.reload()
        # Nobody else has this log yet: from here on the guard is its lock, too.
        after.log.lock = self.guard.lock
        self._displaced_from = None
        events = list(after.log.events(min(first, after.length), after.length))
        self._go_on(after, events)
        return events

    def check_open(self) -> None:
        """Raise `StoreError` if the session was closed."""
        if self._closed:
            raise StoreError(f"session {self.context.session!r} is closed; open it again to go on with it")

    def save(self, counter: TokenCounter) -> None:
        """See to it that the session can be opened quickly."""
        try:
            if self.journal is not None and self.place == "store":
                self.journal.save(self.context, self._projector_for(counter))
        except StoreError as error:
            # It only saves time later.
            log_failure(self.context.session, error)

    def rebuilt(self, number: int, counter: TokenCounter) -> CompiledContext:
        """A past call, from what was kept of it."""
        if self.journal is not None:
            # The journal may learn here that its session was begun in the store.
            with self.guard:
                return self.journal.rebuilt(number, counter)
        return rebuilt_call(self.context, number, counter)

    def close(self, counter: TokenCounter) -> bool:
        """Let go of the journal; from here on nothing can be appended. Whether it has all that was."""
        if self.journal is None or self._closed:
            return True
        try:
            if self._unwritten:
                self.retried(partial(self.commit, lambda context: context, hold=True))
        except StoreError as error:
            log_failure(self.context.session, error)
        self._closed = True
        return self.journal.close(self.context, self._projector_for(counter))

    def _go_on(self, context: AgentContext, new: Iterable[Event] | None = None) -> None:
        before, self.context = self.context.length, context
        if self.observers:
            self.observers.expect(context.log.events(before, context.length) if new is None else new)

    def _tell_observers(self) -> None:
        """Tell observers what happened; by now no lock is held."""
        failed = self.observers.tell()
        if not failed:
            return
        # That of the guard: a log that was loaded anew has another one.
        with self.guard.lock:
            # Told to nobody: a subscriber that fails on every event would otherwise never come to an end.
            self._unwritten += [
                DiagnosticRecorded(code="subscriber_failed", phase="observe", text=text) for text in failed
            ]
            if self.journal is None:
                self.context = self.context.with_events(self._unwritten)
                self._unwritten.clear()


def _back_off(attempt: int) -> None:
    """Wait, longer after each attempt; not all who lost come back at the same moment."""
    time.sleep(random.uniform(0, min(_LONGEST_WAIT, 0.001 * 2 ** min(attempt, 10))))  # noqa: S311
