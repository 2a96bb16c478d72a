"""The log and an immutable snapshot of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, overload

from foveate.log.events import Body, Event, ExecutionStarted, FramingSet, MessageAppended
from foveate.log.locking import LogLock
from foveate.log.messages import Message, ToolCall

# For so many messages a call is remembered after it left memory.
_CALLS = 1_000
_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Archive(Protocol):
    """The beginning of a log that is kept elsewhere, and read when somebody asks for it."""

    def events(self, first: int, last: int) -> Iterator[Event]:
        """The events from number `first` to before `last`."""
        ...

    def message(self, position: int) -> Message:
        """The message at a position of the log."""
        ...

    def prefetch(self, positions: Sequence[int]) -> None:
        """Read messages that will be asked for, all at once."""
        ...

    def position(self, message_id: str) -> int | None:
        """The place of a message in the log."""
        ...


class _Tail:
    """What of a log is in memory: the events from number `base` on, and the messages among them."""

    __slots__ = ("base", "events", "message_base", "messages")

    def __init__(self, base: int, message_base: int, events: list[Event], messages: list[Message]) -> None:
        self.base = base
        self.message_base = message_base
        self.events = events
        self.messages = messages


class Log:
    """An append-only list of events; snapshots of it are a reference and a length.

    Of a log that was read from a store the beginning may stay there: `archive` has the first `base` events, among
    them the first `message_base` messages.

    A thread that appends to a log holds its `lock`, which its branches share. Events of a snapshot can be read without:
    they stay in their places, and what leaves memory leaves with a new tail.
    """

    __slots__ = ("_calls", "_tail", "archive", "lock")

    def __init__(
        self,
        events: Iterable[Event] = (),
        *,
        archive: Archive | None = None,
        base: int = 0,
        message_base: int = 0,
        calls: Iterable[ToolCall] = (),
        lock: LogLock | None = None,
    ) -> None:
        self.archive = archive
        self.lock = lock or LogLock()
        self._tail = _Tail(base, message_base, [], [])
        self._calls: dict[str, list[tuple[int, ToolCall]]] = {}
        for call in calls:
            self._calls.setdefault(call.id, []).append((-1, call))
        for event in events:
            self.add(event)

    def __len__(self) -> int:
        tail = self._tail
        return tail.base + len(tail.events)

    @property
    def base(self) -> int:
        """How many events only the archive has."""
        return self._tail.base

    @property
    def message_base(self) -> int:
        """How many messages only the archive has."""
        return self._tail.message_base

    @property
    def message_count(self) -> int:
        """How many messages the log has."""
        tail = self._tail
        return tail.message_base + len(tail.messages)

    def add(self, event: Event) -> None:
        """Append one event."""
        tail = self._tail
        tail.events.append(event)
        if isinstance(event.body, MessageAppended):
            message = event.body.message
            if message.role == "assistant":
                for call in message.calls:
                    self._calls.setdefault(call.id, []).append((self.message_count, call))
            tail.messages.append(message)

    def retract(self, length: int) -> None:
        """Take back the events from number `length` on, which a store refused and nobody has seen."""
        tail = self._tail
        while tail.base + len(tail.events) > length:
            body = tail.events.pop().body
            if isinstance(body, MessageAppended):
                message = tail.messages.pop()
                for call in message.calls if message.role == "assistant" else ():
                    self._calls[call.id].pop()

    def release(self, index: int) -> None:
        """Let go of the events before number `index`, which the archive has."""
        tail = self._tail
        if self.archive is None or index <= tail.base:
            return
        gone = tail.events[: index - tail.base]
        messages = sum(isinstance(event.body, MessageAppended) for event in gone)
        # Another tail, all at once: whoever reads the log meanwhile has either.
        self._tail = _Tail(
            tail.base + len(gone), tail.message_base + messages, tail.events[len(gone) :], tail.messages[messages:]
        )
        # Results come soon after their calls; those of calls long gone are taken for results without one.
        self._calls = {
            call_id: kept
            for call_id, places in self._calls.items()
            if (kept := [place for place in places if place[0] >= self.message_base - _CALLS])
        }

    def event(self, index: int) -> Event:
        """The event with a number."""
        tail = self._tail
        return tail.events[index - tail.base] if index >= tail.base else next(self._archived(index, index + 1))

    def events(self, first: int, last: int) -> Iterator[Event]:
        """The events from number `first` to before `last`."""
        index = first
        while index < last:
            # Asked anew each time: what was in memory may have been released meanwhile.
            tail = self._tail
            if index >= tail.base:
                yield tail.events[index - tail.base]
                index += 1
                continue
            for event in self._archived(index, min(last, tail.base)):
                yield event
                index += 1

    def message(self, position: int) -> Message:
        """The message at a position."""
        tail = self._tail
        if position >= tail.message_base:
            return tail.messages[position - tail.message_base]
        assert self.archive is not None, "only an archive holds the messages before `message_base`"  # noqa: S101
        return self.archive.message(position)

    def prefetch(self, positions: Iterable[int]) -> None:
        """Read messages that will be asked for, those that are not in memory all at once."""
        if self.archive is not None:
            self.archive.prefetch([position for position in positions if position < self.message_base])

    def call(self, call_id: str, before: int) -> ToolCall | None:
        """The newest tool call with an id, in a message before a position."""
        places = self._calls.get(call_id)
        if not places:
            return None
        if places[-1][0] < before:
            return places[-1][1]
        return next((call for position, call in reversed(places) if position < before), None)

    def recent_calls(self, most: int) -> list[ToolCall]:
        """The newest tool calls, oldest first: so many, and all of the oldest message among them."""
        newest: list[ToolCall] = []
        for message in reversed(self._tail.messages):
            if len(newest) >= most:
                break
            if message.role == "assistant":
                newest += reversed(message.calls)
        if len(newest) < most:
            newest += reversed(self._earlier())
        return newest[::-1]

    def _earlier(self) -> list[ToolCall]:
        """The calls that are remembered although their messages are not in memory."""
        places = [place for some in self._calls.values() for place in some if place[0] < self.message_base]
        return [call for _, call in sorted(places, key=itemgetter(0))]

    def branch(self, length: int) -> Log:
        """Another log with the same first events."""
        tail = self._tail
        if length < tail.base:
            return Log(self.events(0, length), lock=self.lock)
        return Log(
            tail.events[: length - tail.base],
            archive=self.archive,
            base=tail.base,
            message_base=tail.message_base,
            calls=self._earlier(),
            lock=self.lock,
        )

    def _archived(self, first: int, last: int) -> Iterator[Event]:
        assert self.archive is not None, "only an archive holds the events before `base`"  # noqa: S101
        return self.archive.events(first, last)


class Messages(Sequence[Message]):
    """The messages of a snapshot, without copying them."""

    __slots__ = ("_length", "_log")

    def __init__(self, log: Log, length: int) -> None:
        self._log = log
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            places = range(*index.indices(self._length))
            self._log.prefetch(places)
            return tuple(self._log.message(place) for place in places)
        if not -self._length <= index < self._length:
            raise IndexError(f"message {index} of {self._length}")
        return self._log.message(index if index >= 0 else self._length + index)

    def __iter__(self) -> Iterator[Message]:
        archived = min(self._length, self._log.message_base)
        if archived:
            # Asked for one by one, archived messages would be a query each.
            bodies = (event.body for event in self._log.events(0, len(self._log)))
            yield from islice((body.message for body in bodies if isinstance(body, MessageAppended)), archived)
        for index in range(archived, self._length):
            yield self._log.message(index)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """Everything that was said up to a moment, with what frames it; no policy."""

    log: Log = field(default_factory=Log, repr=False)
    length: int = 0
    message_count: int = 0
    session: str = "session"
    system: str | None = None
    forms: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    tools: tuple[dict[str, Any], ...] = ()
    response_format: dict[str, Any] | None = None
    model: str | None = None
    turn: int = 0
    step: int = 0
    execution_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    # The framing that the session was last begun or opened with; it may have been changed since.
    begun: FramingSet | None = None

    @property
    def messages(self) -> Messages:
        """The messages said so far."""
        return Messages(self.log, self.message_count)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events so far."""
        return tuple(self.log.events(0, self.length))

    def call(self, call_id: str) -> ToolCall | None:
        """The newest tool call with this id."""
        return self.log.call(call_id, self.message_count)

    def with_events(self, bodies: Iterable[Body], *, time: float | None = None) -> AgentContext:
        """The snapshot after further events; this one stays as it is."""
        first = self.length
        return self.with_recorded(
            [Event(session=self.session, seq=seq, body=body, time=time) for seq, body in enumerate(bodies, first)]
        )

    def with_recorded(self, events: Iterable[Event]) -> AgentContext:
        """The snapshot after events that were recorded elsewhere."""
        changes: dict[str, Any] = {}
        with self.log.lock:
            log = self._appendable()
            for event in events:
                log.add(event)
                _note(self, changes, event.body)
            return replace(self, log=log, length=len(log), message_count=log.message_count, **changes)

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> AgentContext:
        """The snapshot that recorded events lead to."""
        context = cls().with_recorded(events)
        return replace(context, session=context.log.event(0).session) if context.length else context

    def _appendable(self) -> Log:
        # If another snapshot already went on from here: branch, so that neither sees the other's events.
        return self.log if len(self.log) == self.length else self.log.branch(self.length)


def _note(context: AgentContext, changes: dict[str, Any], body: Body) -> None:
    """Note what a body changes in the small fields of a context."""
    match body:
        case MessageAppended(message=message):
            if message.role == "assistant":
                changes["step"] = changes.get("step", context.step) + 1
        case ExecutionStarted(execution_id=execution_id):
            changes["turn"] = changes.get("turn", context.turn) + 1
            changes["execution_id"] = execution_id
        case FramingSet():
            changes.update(system=body.system, forms=body.forms, tools=body.tools)
            changes.update(response_format=body.response_format, model=body.model)
            if body.given or changes.get("begun", context.begun) is None:
                changes["begun"] = body
        case _:
            return


Place = Literal["store", "held", "memory"]


class Kept(NamedTuple):
    """Where an append is: in the store, in the file of held events, or in memory only; and why not in the store."""

    place: Place
    why: str = ""
