"""The timeline: the left fold of a log's events, which hands out a projection wherever it stands.

Private to its owner: a projection never changes, the timeline changes with every event.
"""

from __future__ import annotations

from typing import Final

from foveate.budget.accounting import Precounted, message_tokens
from foveate.budget.calibrate import Calibration
from foveate.budget.tokens import TokenCounter
from foveate.compile.evidence import EvidenceIndex
from foveate.compile.facts.user_words import has_words_of_user
from foveate.compile.ledger import LedgerBuilder
from foveate.compile.mending import Mender
from foveate.compile.projection import (
    Memo,
    Projection,
    Selection,
    Sent,
    SentPrefix,
    Usage,
    common_prefix,
    numbered,
    position_in,
)
from foveate.compile.sharing import Shared
from foveate.compile.working_set import WorkingSetBuilder
from foveate.log.context import AgentContext, Log
from foveate.log.events import (
    FORGETTING,
    ON_REQUEST,
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

# Characters indexed for each token that a reduction leaves: of a log taken in at once, only the newer part.
_INDEXED: Final = 40


# The diagnostics that say that a reduction would not have been worth it, and of a pin that it names no message.
REDUCTION_DECLINED: Final = "reduction_declined"
STRAY_PIN: Final = "stray_pin"

_MANY: Final = 100
_STRETCH: Final = 5_000
# How many messages without content are remembered as such; to explain them, nothing else needs it.
_LEFT_OUT: Final = 1_000
_REFLECTIONS: Final = 3
# Of so many messages the user's words are chosen anew when a note is written anew.
_INPUTS: Final = 400
# For how many of the newest calls a report is still compared with our count: several may be open at once.
_OPEN_CALLS: Final = 64


class Timeline:
    """Everything a compile needs to know of a log, kept up event by event."""

    def __init__(self, counter: TokenCounter, log: Log) -> None:
        self.counter = counter
        self._counting = Precounted(counter)
        self.length = 0
        self.message_count = 0
        self.logged = 0
        self.log = log
        # How many messages are not named after their place; where those stand that came since the log was opened.
        self.named = 0
        self._positions: dict[str, int] = {}
        self.mender = Mender(self.count)
        self.ledger = LedgerBuilder()
        self.working = WorkingSetBuilder()
        self.evidence = EvidenceIndex()
        self.pins = Shared[dict[str, None]]({})
        self.stray_pins: tuple[str, ...] = ()
        self.calls = 0
        self.reductions = 0
        self.sent: Sent | None = None
        # Tokens of the newest calls by their numbers, as we counted them.
        self.counted = Shared[dict[int, int]]({})
        self.sent_messages = 0
        # How many messages there were when the items were last fixed; the others are still mended.
        self.sealed_messages = 0
        # How many messages each request pass has seen, and what it changed, by place in the log.
        self.asked = Shared[dict[str, int]]({})
        self.rewritten = Shared[dict[int, Message]]({})
        self.shared = self.shared_tokens = 0
        self.looked_up = self.input_count = 0
        self.declined = self.growth = self.kept = 0
        self.lost_errors: tuple[str, ...] = ()
        self.usage: Usage | None = None
        self.model_switched = False
        self.reframed = False
        self.calibration = Calibration()
        self.summary: SummaryRecorded | None = None
        # The newest few; older ones have had their effect or never will.
        self.reflections: tuple[ReflectionRecorded, ...] = ()
        self.recalled: tuple[str, ...] = ()
        self.selection: Selection | None = None
        self.leading = 0
        self.newest_input: str | None = None
        self.newest_input_tokens = 0
        self.first_input: str | None = None
        self.inputs: tuple[int, ...] = ()
        self.memo = Memo()
        self.model: str | None = None
        # What the compiler of a call offered, and where the ids of sealed items stand; for the items as they are now.
        self._prefix: SentPrefix | None = None
        self._ids: dict[str, int] = {}
        self._indexed = 0

    def projection(self) -> Projection:
        """What the events so far come to."""
        self._index_ids()
        return Projection(
            log=self.log,
            length=self.length,
            message_count=self.message_count,
            counter=self.counter,
            logged=self.logged,
            mender=self.mender.mended(),
            ledger=self.ledger.ledger(),
            working=self.working.working_set(),
            evidence=self.evidence,
            pins=self.pins.snapshot(),
            stray_pins=self.stray_pins,
            calls=self.calls,
            reductions=self.reductions,
            sent=self.sent,
            counted=self.counted.snapshot(),
            sent_messages=self.sent_messages,
            sealed_messages=self.sealed_messages,
            asked=self.asked.snapshot(),
            rewritten=self.rewritten.snapshot(),
            shared=self.shared,
            shared_tokens=self.shared_tokens,
            declined=self.declined,
            kept=self.kept,
            growth=self.growth,
            looked_up=self.looked_up,
            input_count=self.input_count,
            lost_errors=self.lost_errors,
            usage=self.usage,
            model=self.model,
            model_switched=self.model_switched,
            reframed=self.reframed,
            calibration=self.calibration,
            summary=self.summary,
            reflections=self.reflections,
            recalled=self.recalled,
            selection=self.selection,
            leading=self.leading,
            newest_input=self.newest_input,
            newest_input_tokens=self.newest_input_tokens,
            first_input=self.first_input,
            inputs=self.inputs,
            memo=self.memo,
            prefix=self._prefix,
            named=self.named,
            positions=self._positions,
            item_ids=self._ids,
        )

    def message(self, order: int) -> Message:
        """The message at a position of the log as requests may show it: as it was said, or as it was rewritten."""
        return self.rewritten.current.get(order) or self.log.message(order)

    def advance(self, length: int, offered: SentPrefix | None = None) -> None:
        """Take the events up to `length` that were not taken yet.

        `offered` is what the compile of a call among them found out; it is that call's if the hash of the request is.
        """
        if length - self.length < _MANY:
            for event in self.log.events(self.length, length):
                self._take(event.body, offered)
            self.length = length
            return
        # In stretches: what is counted ahead is held in memory.
        for first in range(self.length, length, _STRETCH):
            bodies = [event.body for event in self.log.events(first, min(length, first + _STRETCH))]
            self._counting.prepare([body.message for body in bodies if isinstance(body, MessageAppended)])
            for body in bodies:
                self._take(body, offered)
            self._counting.forget()
        self.length = length

    def count(self, message: Message) -> int:
        """The tokens of a message in a request."""
        return message_tokens(message, self._counting)

    def position(self, message_id: str) -> int | None:
        """The place of a message in the log."""
        return position_in(self.log, message_id, self._positions, named=self.named, count=self.message_count)

    def _index_ids(self) -> None:
        """Note where the ids of sealed items stand, and those of the calls in them."""
        for index in range(self._indexed, self.mender.sealed):
            item = self.mender.items[index]
            self._ids.setdefault(item.id, index)
            for call in item.message.calls:
                self._ids.setdefault(f"call {call.id}", index)
        self._indexed = self.mender.sealed

    def _take(self, body: object, offered: SentPrefix | None) -> None:
        match body:
            case MessageAppended(message=message):
                self._take_message(message)
            case CallRecorded():
                self._take_call(body, offered)
            case ReductionRecorded():
                self._take_reduction(body)
            case UsageReported():
                self._take_usage(body)
            case RecallRecorded(anchor=anchor, item=item):
                self.mender.insert_before(anchor, item)
                self.recalled = (anchor,)
                self.looked_up += item.tokens if item.is_looked_up else 0
            case SummaryRecorded() | ReflectionRecorded():
                self._take_thought(body)
            case Pinned(message_id=message_id):
                self._take_pin(message_id)
            case Unpinned(message_id=message_id):
                self.pins.own().pop(message_id, None)
            case ErrorResolved(message_id=message_id):
                self.ledger.resolve(message_id, self.message_count)
            case FramingSet():
                self._take_framing(body)
            case DiagnosticRecorded(subject=str(number)):
                self._take_diagnostic(body.code, number)
            case _:
                return

    def _take_pin(self, message_id: str) -> None:
        if self.position(message_id) is None:
            self.stray_pins = (*self.stray_pins, message_id)
        else:
            self.pins.own()[message_id] = None

    def _take_diagnostic(self, code: str, subject: str) -> None:
        if code == REDUCTION_DECLINED:
            self.declined = int(subject or 0)
        elif code == STRAY_PIN:
            self.stray_pins = tuple(pin for pin in self.stray_pins if pin != subject)
        elif code == "call_lost":
            # Its number was given away, and is not given again.
            self.calls = max(self.calls, int(subject))

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
        if has_words_of_user(message):
            self.inputs = (*self.inputs, order)[-_INPUTS:]
        if message.meta.pinned:
            self.pins.own()[message.id] = None
        self.mender.forget_left_out(_LEFT_OUT, self.pins.current)
        if message.role == "user" and message.id not in self.mender.left_out:
            self.newest_input, self.newest_input_tokens = message.id, tokens
            self.input_count += 1
            if self.first_input is None:
                self.first_input = message.id

    def _take_call(self, body: CallRecorded, offered: SentPrefix | None) -> None:
        self.calls = body.number
        counted = self.counted.own()
        counted[body.number] = body.tokens
        if len(counted) > _OPEN_CALLS:
            del counted[next(iter(counted))]
        if body.override is not None:
            # The history was not sent, so nothing of it is cached by this call.
            if body.selected:
                places = (self.position(message.id) for message in body.override)
                self.selection = Selection(self.message_count, frozenset(p for p in places if p is not None))
            return
        self.selection = None
        self.mender.seal()
        self.sealed_messages = self.message_count
        if body.asked:
            self.asked.own().update(dict.fromkeys(body.asked, self.message_count))
        self._grow(body)
        said = (body.number, body.tokens, body.predicted_cached, body.now)
        self.sent = Sent(*said, self.mender.sealed, body.budget, self.looked_up)
        self.sent_messages = self.message_count
        self.shared = self.mender.sealed
        self.shared_tokens = self.mender.tokens
        self.usage = None
        self.model_switched = self.reframed = False
        is_its = offered is not None and offered.payload_sha256 == body.payload_sha256
        self._prefix = offered if is_its and offered is not None and offered.count == self.mender.sealed else None

    def _grow(self, body: CallRecorded) -> None:
        """Follow how much calls add, but for what is looked up, as a smoothed mean of integers, the same everywhere."""
        if self.sent is None:
            return
        grown = body.tokens - self.looked_up - (self.sent.tokens - self.sent.looked_up)
        if grown > 0:
            self.growth = grown if not self.growth else (self.growth * 7 + grown) // 8

    def _take_reduction(self, body: ReductionRecorded) -> None:
        self.mender.seal()
        self.sealed_messages = self.message_count
        for message in body.rewritten:
            self._take_rewritten(message)
        before = self.mender.items
        after = rearranged(before, body)
        self.evidence = self.evidence.with_evicted(before, after, self.message, _INDEXED * body.after)
        self.shared = min(self.shared, common_prefix(before, after))
        self.shared_tokens = sum(item.tokens for item in before[: self.shared])
        self.mender.replace(after, claims=body.claims)
        self.reductions = body.number
        self.looked_up = sum(item.tokens for item in after if item.is_looked_up)
        if body.trigger not in ON_REQUEST and body.passes != FORGETTING:
            self.kept = body.after - self.looked_up
            self.declined = 0
        shown = {item.id for item in after} | {line.source for item in after for line in item.lines}
        self.lost_errors = tuple(one for one in self.ledger.open_error_ids() if one not in shown)
        self._prefix, self._ids, self._indexed = None, {}, 0

    def _take_rewritten(self, message: Message) -> None:
        order = self.position(message.id)
        assert order is not None, "only messages of the log are rewritten"  # noqa: S101
        self.ledger.rewrite(self.message(order), message)
        self.rewritten.own()[order] = message
        self.memo = Memo()
        self.evidence = self.evidence.without(order)

    def _take_usage(self, body: UsageReported) -> None:
        counted = self.counted.current.get(body.call, 0)
        self.calibration = self.calibration.observe(counted, body.input_tokens - body.beside_tokens)
        if self.sent is not None and body.call == self.sent.number:
            self.usage = Usage(body.input_tokens, body.cached_tokens)

    def _take_framing(self, body: FramingSet) -> None:
        self.model_switched = self.model_switched or (self.sent is not None and body.model != self.model)
        self.model = body.model
        self.reframed = self.sent is not None
        self.shared = self.shared_tokens = 0


def rearranged(items: list[Item], reduction: ReductionRecorded) -> list[Item]:
    """The items after a recorded reduction."""
    by_id = {item.id: item for item in items}
    result = [by_id[entry.id] if isinstance(entry, Kept) else entry.item for entry in reduction.layout]
    first = next((index for index, item in enumerate(items) if item.id == reduction.behind), -1) + 1
    position = next((index for index, item in enumerate(items) if item.id == reduction.last), first - 1)
    return [*items[:first], *result, *items[position + 1 :]]


class Projector:
    """Folds the events of one log, each of them once, for an owner who goes on with it.

    For one thread at a time; the projections are for any number of them.
    """

    __slots__ = ("_newest", "_timeline", "counter")

    def __init__(self, counter: TokenCounter, timeline: Timeline | None = None) -> None:
        self.counter = counter
        self._timeline = timeline
        self._newest: Projection | None = None

    def projection(self, context: AgentContext, offered: SentPrefix | None = None) -> Projection:
        """The projection of a snapshot; `offered` is what the compile of its last call found."""
        newest = self._newest
        if newest is None or newest.length != context.length or newest.log is not context.log:
            newest = self.timeline(context, offered).projection()
            self._newest = newest
        return newest

    def timeline(self, context: AgentContext, offered: SentPrefix | None = None) -> Timeline:
        """The fold of a snapshot: of what was folded before it, if the snapshot goes on from that."""
        timeline, self._timeline = self._timeline, None
        if timeline is None or timeline.log is not context.log or timeline.length > context.length:
            timeline = Timeline(self.counter, context.log)
        # An exception in the middle, even a key's, leaves half of a fold; it is not there the next time.
        timeline.advance(context.length, offered)
        self._timeline = timeline
        return timeline


def projection_of(context: AgentContext, given: object, counter: TokenCounter) -> Projection:
    """The projection of a snapshot: the one given, if it is that, else folded from the first event."""
    if (
        isinstance(given, Projection)
        and given.log is context.log
        and given.length == context.length
        and (given.counter is counter or given.counter.name == counter.name)
    ):
        return given
    return Projector(counter).projection(context)
