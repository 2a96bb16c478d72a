"""The projection: what the events of a log come to at a moment, as a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, Self

from foveate.budget.accounting import message_tokens
from foveate.budget.calibrate import Calibration
from foveate.budget.tokens import TokenCounter
from foveate.compile.evidence import EvidenceIndex
from foveate.compile.ledger import Ledger
from foveate.compile.mending import Mended
from foveate.compile.working_set import WorkingSet
from foveate.log.context import Log, Messages
from foveate.log.events import RecallRecorded, ReflectionRecorded, SummaryRecorded
from foveate.log.items import Item
from foveate.log.messages import Message

_NUMBERED: Final = re.compile(r"m[1-9][0-9]{0,15}")
# Calls of a turn behind its first one, on average: below that there is hardly a working set.
_ACTING: Final = 0.1


class Hash(Protocol):
    """A hash of what it was given so far, as `hashlib` makes them."""

    def copy(self) -> Self: ...

    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


class Sent(NamedTuple):
    """The last recorded call: what it had, and when."""

    number: int
    tokens: int
    predicted: int
    now: float | None
    items: int
    # The most input tokens that it could have; None if nothing limits them.
    limit: int | None = None
    # What of the tokens was looked up.
    looked_up: int = 0


class Usage(NamedTuple):
    """What the provider reported for the last call."""

    input_tokens: int
    cached_tokens: int | None


class Selection(NamedTuple):
    """The messages that a compiler of somebody's own chose for the last call, by position, out of the first `of`."""

    of: int
    orders: frozenset[int]


class Memo:
    """A place for what a compile found out about the messages so far, so that the next one need not begin anew.

    Nothing but the messages decides what is in it: without it a compile gives the same, later. It is taken out to be
    gone on with, so that two threads never have the same.
    """

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: list[object] = []

    def take(self) -> object | None:
        """What was left here, if nobody else has it."""
        try:
            return self._held.pop()
        except IndexError:
            return None

    def leave(self, found: object) -> None:
        """Leave it for the next compile."""
        self._held[:] = [found]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentPrefix:
    """What the compile of the last call found out about its request, so that the next one looks only at what is new.

    It is true of the first `count` items of a projection, and of a request with the same framing before them. It saves
    work and decides nothing: without it a compile gives the same, later.
    """

    payload_sha256: str
    count: int
    # Copied before it is updated; how it was made of the request.
    hash: Hash
    wire: int
    system: str | None
    forms: dict[str, Any]
    tools: tuple[dict[str, Any], ...]
    response_format: dict[str, Any] | None
    before: tuple[Message, ...]
    # The tokens of system prompt, tools and response format.
    framing_tokens: int
    # For each fate the items that have it, and their tokens.
    fates: Mapping[str, tuple[int, int]]
    # With these pins the items were found to keep every rule; None if they were not checked.
    pins: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Everything that a compile needs to know of a log up to a moment.

    Nothing in it changes, whatever is appended to the log: several threads may compile it. What is shared with later
    projections of the same log only grows, and is read below this one's own lengths.
    """

    log: Log = field(repr=False)
    length: int
    message_count: int
    counter: TokenCounter = field(repr=False)
    # The tokens of all messages, as they were said.
    logged: int
    mender: Mended = field(repr=False)
    ledger: Ledger = field(repr=False)
    working: WorkingSet = field(repr=False)
    evidence: EvidenceIndex = field(repr=False)
    pins: Mapping[str, None]
    # Pins of an earlier version that name no message; no diagnostic says so yet.
    stray_pins: tuple[str, ...]
    # The last call and the last reduction.
    calls: int
    reductions: int
    sent: Sent | None
    # Tokens of the newest calls by their numbers, as we counted them.
    counted: Mapping[int, int] = field(repr=False)
    sent_messages: int
    # How many messages there were when the items were last fixed; the others are still mended.
    sealed_messages: int
    # How many messages each request pass has seen, and what it changed, by place in the log.
    asked: Mapping[str, int] = field(repr=False)
    rewritten: Mapping[int, Message] = field(repr=False)
    # How many items the last call began with in common with these, and their tokens.
    shared: int
    shared_tokens: int
    # What a rewrite that was not worth it would have started from, what the last one left, how much a call adds.
    declined: int
    kept: int
    growth: int
    # The tokens of what was looked up and still stands there, and how many inputs there were.
    looked_up: int
    input_count: int
    lost_errors: tuple[str, ...]
    usage: Usage | None
    model: str | None
    model_switched: bool
    reframed: bool
    calibration: Calibration = field(repr=False)
    # The newest summary that a summarizer wrote.
    summary: SummaryRecorded | None = field(repr=False)
    reflections: tuple[ReflectionRecorded, ...] = field(repr=False)
    # Inputs that passages were looked up for; only the newest is ever asked for.
    recalled: tuple[str, ...]
    selection: Selection | None = field(repr=False)
    leading: int
    newest_input: str | None
    # As it was said.
    newest_input_tokens: int
    first_input: str | None
    # Where the newest messages stand that have words of the user.
    inputs: tuple[int, ...] = field(repr=False)
    memo: Memo = field(repr=False, compare=False)
    prefix: SentPrefix | None = field(repr=False)
    # How many messages are not named after their place; where those and the ids of items stand. Both mappings grow.
    named: int = field(repr=False)
    positions: Mapping[str, int] = field(repr=False)
    item_ids: Mapping[str, int] = field(repr=False)

    @property
    def said(self) -> Messages:
        """The messages as they were recorded."""
        return Messages(self.log, self.message_count)

    def message(self, order: int) -> Message:
        """The message at a position of the log as requests may show it: as it was said, or as it was rewritten."""
        return self.rewritten.get(order) or self.log.message(order)

    def prefetch(self, orders: Iterable[int]) -> None:
        """Have the messages at hand that will be asked for: one by one they would be a query each."""
        self.log.prefetch(orders)

    def count(self, message: Message) -> int:
        """The tokens of a message in a request."""
        return message_tokens(message, self.counter)

    def tokens_of(self, items: Sequence[Item]) -> int:
        """The tokens of items; known without adding them up if they are the current ones."""
        return self.mender.tokens if items is self.mender.items else sum([item.tokens for item in items])

    def position(self, message_id: str) -> int | None:
        """The place of a message in the log."""
        return position_in(self.log, message_id, self.positions, named=self.named, count=self.message_count)

    @property
    def further_calls(self) -> float:
        """How many calls a turn takes behind its first one, as far as can be told from those so far."""
        # An answer stands between two inputs, and a call and its result for each step on the way.
        return max(0.0, self.message_count / (2 * max(1, self.input_count)) - 1)

    @property
    def is_talk(self) -> bool:
        """Whether hardly anything is done here but talking, so that what an input asks for is what was said of it."""
        return self.further_calls < _ACTING


def position_in(log: Log, message_id: str, positions: Mapping[str, int], *, named: int, count: int) -> int | None:
    """The place of a message among the first `count` of a log; `named` of them are not named after their place."""
    known = positions.get(message_id)
    if known is not None:
        return known if known < count else None
    order = numbered(message_id)
    if order is not None and order >= count:
        order = None
    if not named or (order is not None and log.message(order).id == message_id):
        return order
    return log.archive.position(message_id) if log.archive is not None else None


def numbered(message_id: str) -> int | None:
    """The place in the log that an id such as m17 is named after."""
    # Spelled otherwise it names nothing: each message has one id.
    return int(message_id[1:]) - 1 if _NUMBERED.fullmatch(message_id) else None


def with_recalled(items: tuple[Item, ...], recalled: tuple[RecallRecorded, ...]) -> tuple[Item, ...]:
    """The items with passages that were looked up but not recorded yet; for a preview."""
    return with_items(items, (body.item for body in recalled))


def with_items(items: tuple[Item, ...], looked_up: Iterable[Item]) -> tuple[Item, ...]:
    """The items with others that were looked up, each before the message that it is for."""
    for one in looked_up:
        position = next((index for index, item in enumerate(items) if item.id == one.anchor), len(items))
        items = (*items[:position], one, *items[position:])
    return items


def looked_up(items: Iterable[Item], recalled: Iterable[RecallRecorded]) -> tuple[Item, ...]:
    """The items that passages which were looked up have become."""
    ids = {body.item.id for body in recalled if body.item.is_looked_up}
    return tuple(item for item in items if item.id in ids) if ids else ()


def without(items: tuple[Item, ...], looked_up: Iterable[Item]) -> tuple[Item, ...]:
    """The items without some that were looked up."""
    gone = {one.id for one in looked_up}
    return tuple(item for item in items if item.id not in gone) if gone else items


def common_prefix(before: Sequence[Item], after: Sequence[Item]) -> int:
    """How many items two arrangements begin with in common."""
    count = 0
    for one, other in zip(before, after, strict=False):
        if one is not other:
            break
        count += 1
    return count
