"""Displacing: held events get their place behind what another writer appended to the session meanwhile.

Messages are said again behind the others and get new names; what was decided about a log that did not come about
(reductions, recalled passages) is decided anew by the next call. A call is kept as the messages it sent, so that it
can be rebuilt byte for byte wherever it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from foveate.budget.tokens import TokenCounter, counter_for
from foveate.compile.projection import numbered
from foveate.compile.rebuild import rebuilt
from foveate.compile.timeline import Projector
from foveate.errors import LogError
from foveate.log.context import AgentContext
from foveate.log.events import (
    Body,
    CallRecorded,
    DiagnosticRecorded,
    ErrorResolved,
    Event,
    ExecutionEnded,
    ExecutionStarted,
    FramingSet,
    MessageAppended,
    Pinned,
    RecallRecorded,
    ReductionRecorded,
    ReflectionRecorded,
    SummaryRecorded,
    Tagged,
    Unpinned,
    UsageReported,
)
from foveate.log.messages import Message
from foveate.log.router import AgentStep, DefaultRouter

if TYPE_CHECKING:
    from foveate.store.held_lines import Batch
    from foveate.store.info import SessionInfo
    from foveate.store.store import Store


def displaced(store: Store, info: SessionInfo, batches: Sequence[Batch]) -> list[Event]:
    """Held events as they come behind all that the store has now; the last of them says what changed."""
    events = list(store.reader(info).events())
    model = info.metadata.get("model")
    moving = _Moving(events, info.session_id, counter_for(model if isinstance(model, str) else None))
    for batch in batches:
        moving.move(batch)
    return moving.moved()


class _Moving:
    def __init__(self, stored: list[Event], session_id: str, counter: TokenCounter) -> None:
        self._stored = stored
        self._projector, self._past_projector = Projector(counter), Projector(counter)
        self._now = AgentContext(session=session_id).with_recorded(stored)
        self._length = self._now.length
        # The log that the held events were made for, and as it was behind each batch; None if nothing is left of it.
        self._past: AgentContext | None = None
        self._pasts: dict[int, AgentContext | None] = {}
        self._names: dict[str, str] = {}
        self._numbers: dict[int, int | None] = {}
        # All that is called otherwise now, also if two series of appends had the same name or number.
        self._changed_calls: list[str] = []
        self._changed_names: list[str] = []
        self._router = DefaultRouter()

    def move(self, batch: Batch) -> None:
        """Take the events of one append along."""
        if batch.after in self._pasts:
            self._past = self._pasts[batch.after]
        else:
            past = AgentContext(session=self._now.session).with_recorded(self._stored[: batch.first])
            self._past = past if past.length == batch.first else None
        for event in batch.events:
            self._take(event)
            if self._past is not None:
                self._past = self._past.with_recorded([event])
        self._pasts[batch.id] = self._past

    def moved(self) -> list[Event]:
        """The events in their new places, and what there is to say about them."""
        self._add([DiagnosticRecorded(code="held_moved", phase="record", text=self._account())], None)
        return list(self._now.log.events(self._length, self._now.length))

    def _take(self, event: Event) -> None:
        match event.body:
            case MessageAppended(message=message):
                self._say(message, event.time)
            case ExecutionStarted():
                self._now = self._router.next_execution(self._now, time=event.time)
            case CallRecorded():
                self._add([self._call(event.body)], event.time)
            case body:
                self._add(self._renamed(body), event.time)

    def _say(self, message: Message, time: float | None) -> None:
        held_as = message.id
        is_ours = numbered(held_as) is not None
        said = msgspec.structs.replace(message, id="") if is_ours else message
        self._now = self._router.route(self._now, AgentStep(messages=(said,), time=time))
        self._names[held_as] = name = self._now.messages[-1].id
        if name != held_as:
            self._changed_names.append(f"{held_as} is {name} now")

    def _call(self, body: CallRecorded) -> Body:
        # What they changed is of a log that did not come about: they are asked again.
        body = msgspec.structs.replace(body, asked=())
        number = max(body.number, self._projector.projection(self._now).calls + 1)
        try:
            if self._past is None:
                raise LogError("the beginning of its log is gone")  # noqa: TRY301  said like what fails below
            view = rebuilt(self._past, body, self._past_projector)
            around = FramingSet(
                system=view.framing.system,
                forms=view.framing.forms,
                tools=view.framing.tools,
                response_format=view.framing.response_format,
            )
            moved = msgspec.structs.replace(body, number=number, override=view.messages, framing=around)
            rebuilt(self._now, moved, self._projector)
        except LogError as error:
            self._numbers[body.number] = None
            self._changed_calls.append(f"call {body.number} is lost")
            text = f"call {body.number} was made while the store could not be written, and cannot be rebuilt: {error}"
            return DiagnosticRecorded(code="call_lost", phase="record", text=text, subject=str(body.number))
        self._numbers[body.number] = number
        if number != body.number:
            self._changed_calls.append(f"call {body.number} is call {number}")
        return moved

    def _renamed(self, body: Body) -> list[Body]:
        """An event with the new names of what it is about; none, if it is about a log that did not come about."""
        match body:
            case Pinned(message_id=name) | Unpinned(message_id=name) | ErrorResolved(message_id=name):
                return [msgspec.structs.replace(body, message_id=self._names.get(name, name))]
            case UsageReported(call=int(number)) | Tagged(call=int(number)):
                now = self._numbers.get(number, number)
                return [] if now is None else [msgspec.structs.replace(body, call=now)]
            case ReflectionRecorded():
                return [msgspec.structs.replace(body, messages=self._now.message_count, turn=self._now.turn)]
            case SummaryRecorded(through=through):
                return [body] if through < self._shared_messages() else []
            case RecallRecorded() | ReductionRecorded() | ExecutionEnded():
                return []
            case DiagnosticRecorded(phase="append"):
                # Said again by the message that it is about.
                return []
            case _:
                return [body]

    def _shared_messages(self) -> int:
        """How many messages both logs begin with."""
        held = len(self._names)
        return (self._past.message_count - held) if self._past is not None else 0

    def _add(self, bodies: Sequence[Body], time: float | None) -> None:
        self._now = self._now.with_events(bodies, time=time)

    def _account(self) -> str:
        # Whole, however long: whoever was told a number before finds it here and nowhere else.
        what = "; ".join([*self._changed_calls, *self._changed_names]) or "no name changed"
        return f"events were held that went on from another log than the store has by now, and came behind it: {what}"
