"""The timeline: the left fold of a log's events into what stands in a request right now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from foveate.budget.accounting import Precounted, message_tokens
from foveate.budget.calibrate import Calibration
from foveate.budget.tokens import TokenCounter
from foveate.log.context import AgentContext, Log, Messages
from foveate.log.events import (
    CallRecorded,
    DiagnosticRecorded,
    ErrorResolved,
    FramingSet,
    Kept,
    MessageAppended,
    Pinned,
    RecallRecorded,
    ReductionRecorded,
    ReflectionRecorded,
    SummaryRecorded,
    Unpinned,
    UsageReported,
)
from foveate.log.items import Item
from foveate.log.messages import Message
from foveate.views.evidence import EvidenceIndex
from foveate.views.ledger import Ledger
from foveate.views.mending import Mender
from foveate.views.working_set import WorkingSet

# Characters indexed for each token that a reduction leaves: of a log taken in at once, only the newer part.
_INDEXED: Final = 40


_MANY: Final = 100
_STRETCH: Final = 5_000
# How many messages without content are remembered as such; to explain them, nothing else needs it.
_LEFT_OUT: Final = 1_000
_REFLECTIONS: Final = 3


class Sent(NamedTuple):
    """The last recorded call: what it had, and when."""

    number: int
    tokens: int
    predicted: int
    now: float | None
    items: int


@dataclass(slots=True)
class Usage:
    """What the provider said of the last call."""

    input_tokens: int
    cached_tokens: int | None


class Timeline:
    """Everything a compile needs to know of a log, kept up event by event."""

    def __init__(self, counter: TokenCounter, log: Log) -> None:
        self.counter = Precounted(counter)
        self.length = 0
        self.message_count = 0
        self.logged = 0
        self._log = log
        # How many messages are not named after their place; where those stand that came since the log was opened.
        self.named = 0
        self._positions: dict[str, int] = {}
        self.mender = Mender(self.count)
        self.ledger = Ledger()
        self.working = WorkingSet()
        self.evidence = EvidenceIndex()
        self.pins: dict[str, None] = {}
        self.calls = 0
        self.reductions = 0
        self.epoch = 0
        self.sent: Sent | None = None
        self.sent_messages = 0
        self.shared = 0
        self.shared_tokens = 0
        self.declined = 0
        self.growth = 0
        self.kept = 0
        self.lost_errors: list[str] = []
        # Values that later stages derive from the items and bring up to date with them.
        self.memo: dict[str, Any] = {}
        self.usage: Usage | None = None
        self.model_switched = False
        self.reframed = False
        self.calibration = Calibration()
        self.summary: SummaryRecorded | None = None
        # The newest few; older ones have had their effect or never will.
        self.reflections: tuple[ReflectionRecorded, ...] = ()
        # Inputs that passages were looked up for; only the newest is ever asked for.
        self.recalled: tuple[str, ...] = ()
        self.leading = 0
        self.newest_input: str | None = None
        self.first_input: str | None = None
        self.model: str | None = None

    @property
    def said(self) -> Messages:
        """The messages as they were recorded."""
        return Messages(self._log, self.message_count)

    def message(self, order: int) -> Message:
        """The message at a position of the log, as it was recorded."""
        return self._log.message(order)

    def prefetch(self, orders: Iterable[int]) -> None:
        """Have the messages at hand that will be asked for: one by one they would be a query each."""
        self._log.prefetch(orders)

    def advance(self, length: int) -> None:
        """Take the events up to `length` that were not taken yet."""
        if length - self.length < _MANY:
            for event in self._log.events(self.length, length):
                self._take(event.body)
            self.length = length
            return
        # In stretches: what is counted ahead is held in memory.
        for first in range(self.length, length, _STRETCH):
            bodies = [event.body for event in self._log.events(first, min(length, first + _STRETCH))]
            self.counter.prepare(body.message for body in bodies if isinstance(body, MessageAppended))
            for body in bodies:
                self._take(body)
            self.counter.forget()
        self.length = length

    def count(self, message: Message) -> int:
        """The tokens of a message in a request."""
        return message_tokens(message, self.counter)

    def tokens_of(self, items: list[Item]) -> int:
        """The tokens of items; known without adding them up if they are the current ones."""
        return self.mender.tokens if items is self.mender.items else sum(item.tokens for item in items)

    def position(self, message_id: str) -> int | None:
        """The place of a message in the log."""
        known = self._positions.get(message_id)
        if known is not None:
            return known
        order = numbered(message_id)
        if order is not None and order >= self.message_count:
            order = None
        if not self.named or (order is not None and self._log.message(order).id == message_id):
            return order
        archive = self._log.archive
        return archive.position(message_id) if archive is not None else None

    def _take(self, body: object) -> None:
        match body:
            case MessageAppended(message=message):
                self._take_message(message)
            case CallRecorded():
                self._take_call(body)
            case ReductionRecorded():
                self._take_reduction(body)
            case UsageReported():
                self._take_usage(body)
            case RecallRecorded(anchor=anchor, item=item):
                self.mender.insert_before(anchor, item)
                self.recalled = (anchor,)
            case SummaryRecorded() | ReflectionRecorded():
                self._take_thought(body)
            case Pinned(message_id=message_id):
                self.pins[message_id] = None
            case Unpinned(message_id=message_id):
                self.pins.pop(message_id, None)
            case ErrorResolved(message_id=message_id):
                self.ledger.resolve(message_id)
            case FramingSet():
                self._take_framing(body)
            case DiagnosticRecorded(code="reduction_declined", subject=subject):
                self.declined = int(subject or 0)
            case _:
                return

    def _take_thought(self, body: SummaryRecorded | ReflectionRecorded) -> None:
        if isinstance(body, SummaryRecorded):
            # The next reduction words it anew by rules; only a model's words are taken over.
            self.summary = self.summary if body.by_rules else body
        else:
            self.reflections = (*self.reflections, body)[-_REFLECTIONS:]

    def _take_message(self, message: Message) -> None:
        order = self.message_count
        self.message_count += 1
        if numbered(message.id) != order:
            self.named += 1
            self._positions[message.id] = order
        tokens = self.count(message)
        self.logged += tokens
        self.mender.feed(message, order, tokens)
        self.ledger.feed(message, order)
        self.working.feed(message)
        if message.role == "system" and order == self.leading:
            self.leading += 1
        if message.meta.pinned:
            self.pins[message.id] = None
        if len(self.mender.left_out) > _LEFT_OUT:
            oldest = next((one for one in self.mender.left_out if one not in self.pins), None)
            self.mender.left_out.pop(oldest or "", None)
        if message.role == "user" and message.id not in self.mender.left_out:
            self.newest_input = message.id
            if self.first_input is None:
                self.first_input = message.id

    def _take_call(self, body: CallRecorded) -> None:
        if body.override is not None:
            # The history was not sent, so nothing of it is cached by this call.
            self.calls = body.number
            return
        self.mender.seal()
        self._grow(body)
        self.calls = body.number
        self.sent = Sent(body.number, body.tokens, body.predicted_cached, body.now, self.mender.sealed)
        self.sent_messages = self.message_count
        self.shared = self.mender.sealed
        self.shared_tokens = self.mender.tokens
        self.usage = None
        self.model_switched = self.reframed = False

    def _grow(self, body: CallRecorded) -> None:
        """Follow how much a call adds, as a smoothed mean; integers, so that it is the same everywhere."""
        if self.sent is not None and body.tokens > self.sent.tokens:
            grown = body.tokens - self.sent.tokens
            self.growth = grown if not self.growth else (self.growth * 7 + grown) // 8

    def _take_reduction(self, body: ReductionRecorded) -> None:
        self.mender.seal()
        before = self.mender.items
        after = rearranged(before, body)
        self.evidence.add_evicted(before, after, self._log.message, _INDEXED * body.after)
        self.shared = min(self.shared, common_prefix(before, after))
        self.shared_tokens = sum(item.tokens for item in before[: self.shared])
        self.mender.replace(after)
        self.reductions = body.number
        if body.trigger != "capped":
            # What was capped as it came in says nothing about when the next rewrite is due.
            self.kept = body.after
            self.declined = 0
        shown = {item.id for item in after} | {line.source for item in after for line in item.lines}
        self.lost_errors = [one.message_id for one in self.ledger.open_errors.values() if one.message_id not in shown]
        self.epoch += 1

    def _take_usage(self, body: UsageReported) -> None:
        if self.sent is not None and body.call == self.sent.number:
            self.calibration = self.calibration.observe(self.sent.tokens, body.input_tokens)
            self.usage = Usage(body.input_tokens, body.cached_tokens)

    def _take_framing(self, body: FramingSet) -> None:
        self.model_switched = self.model_switched or (self.sent is not None and body.model != self.model)
        self.model = body.model
        self.reframed = self.sent is not None
        self.shared = self.shared_tokens = 0
        self.epoch += 1


def timeline_of(context: AgentContext, counter: TokenCounter) -> Timeline:
    """The timeline of a snapshot; the log keeps it, so that the next snapshot only adds to it."""
    key = ("timeline", counter.name)
    timeline: Timeline | None = context.log.memo.get(key)
    if timeline is None or timeline.length > context.length:
        timeline = Timeline(counter, context.log)
        if len(context.log) == context.length:
            context.log.memo[key] = timeline
    try:
        timeline.advance(context.length)
    except BaseException:
        # Whoever interrupts it in the middle, be it by a key, must not find half of it the next time.
        context.log.memo.pop(key, None)
        raise
    return timeline


def numbered(message_id: str) -> int | None:
    """The place in the log that an id such as m17 is named after."""
    number = message_id[1:]
    return int(number) - 1 if message_id[:1] == "m" and number.isascii() and number.isdigit() else None


def with_recalled(items: list[Item], recalled: tuple[RecallRecorded, ...]) -> list[Item]:
    """The items with passages that were looked up but not recorded yet; for a preview."""
    for body in recalled:
        position = next((index for index, item in enumerate(items) if item.id == body.anchor), len(items))
        items = [*items[:position], body.item, *items[position:]]
    return items


def rearranged(items: list[Item], reduction: ReductionRecorded) -> list[Item]:
    """The items after a recorded reduction."""
    by_id = {item.id: item for item in items}
    result = [by_id[entry.id] if isinstance(entry, Kept) else entry.item for entry in reduction.layout]
    position = next((index for index, item in enumerate(items) if item.id == reduction.last), -1)
    return [*result, *items[position + 1 :]]


def common_prefix(before: list[Item], after: list[Item]) -> int:
    """How many items two arrangements begin with in common."""
    count = 0
    for one, other in zip(before, after, strict=False):
        if one is not other:
            break
        count += 1
    return count
