"""The log and an immutable snapshot of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, overload

from foveate.log.events import Body, Event, ExecutionStarted, FramingSet, MessageAppended
from foveate.log.messages import Message, ToolCall

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Log:
    """An append-only list of events; snapshots of it are a reference and a length.

    `memo` holds values derived from the log that grow with it (a fold of its events), so that a pure function of a
    snapshot need not start from the first event again.
    """

    __slots__ = ("calls", "events", "memo", "messages")

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: list[Event] = []
        self.messages: list[Message] = []
        self.calls: dict[str, list[tuple[int, ToolCall]]] = {}
        self.memo: dict[object, Any] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Append one event."""
        self.events.append(event)
        if isinstance(event.body, MessageAppended):
            message = event.body.message
            if message.role == "assistant":
                for call in message.calls:
                    self.calls.setdefault(call.id, []).append((len(self.messages), call))
            self.messages.append(message)


class Messages(Sequence[Message]):
    """The messages of a snapshot, without copying them."""

    __slots__ = ("_length", "_messages")

    def __init__(self, messages: list[Message], length: int) -> None:
        self._messages = messages
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return tuple(self._messages[i] for i in range(*index.indices(self._length)))
        if not -self._length <= index < self._length:
            raise IndexError(f"message {index} of {self._length}")
        return self._messages[index if index >= 0 else self._length + index]

    def __iter__(self) -> Iterator[Message]:
        for index in range(self._length):
            yield self._messages[index]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """Everything that was said up to a moment, with what frames it; no policy."""

    log: Log = field(default_factory=Log, repr=False)
    length: int = 0
    message_count: int = 0
    session: str = "session"
    system: str | None = None
    tools: tuple[dict[str, Any], ...] = ()
    response_format: dict[str, Any] | None = None
    model: str | None = None
    turn: int = 0
    step: int = 0
    execution_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)

    @property
    def messages(self) -> Messages:
        """The messages said so far."""
        return Messages(self.log.messages, self.message_count)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events so far."""
        return tuple(self.log.events[: self.length])

    def call(self, call_id: str) -> ToolCall | None:
        """The newest tool call with this id."""
        places = self.log.calls.get(call_id, ())
        return next((call for position, call in reversed(places) if position < self.message_count), None)

    def with_events(self, bodies: Iterable[Body], *, time: float | None = None) -> AgentContext:
        """The snapshot after further events; this one stays as it is."""
        log = self.log
        if len(log.events) != self.length:
            # Another snapshot already went on from here: branch, so that neither sees the other's events.
            log = Log(log.events[: self.length])
        changes: dict[str, Any] = {}
        for body in bodies:
            log.add(Event(session=self.session, seq=len(log.events), body=body, time=time))
            _note(self, changes, body)
        return replace(self, log=log, length=len(log.events), message_count=len(log.messages), **changes)

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> AgentContext:
        """The snapshot that recorded events lead to."""
        log = Log(events)
        context = cls(log=log, session=log.events[0].session if log.events else "session")
        changes: dict[str, Any] = {}
        for event in log.events:
            _note(context, changes, event.body)
        return replace(context, length=len(log.events), message_count=len(log.messages), **changes)


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
            changes.update(system=body.system, tools=body.tools, response_format=body.response_format, model=body.model)
        case _:
            return
