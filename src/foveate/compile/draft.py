"""The draft: what passes rewrite, and what they may know while they do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

import msgspec

from foveate.compile.evidence import EvidenceLine, evidence_lines
from foveate.compile.ledger import Ledger
from foveate.compile.projection import Projection
from foveate.errors import ConfigError
from foveate.log.items import Item
from foveate.log.messages import Message
from foveate.log.rewriting import Rewrite, rewrite_message


@dataclass(frozen=True, slots=True)
class Draft:
    """The messages of a request in the making; immutable, each item names where it came from."""

    items: tuple[Item, ...]

    @property
    def tokens(self) -> int:
        """The tokens of all items."""
        return sum([item.tokens for item in self.items])

    def with_items(self, items: Iterable[Item]) -> Draft:
        """A draft of other items; the same draft if nothing changed."""
        items = tuple(items)
        return self if items == self.items else Draft(items)

    def with_text(self, rewrite: Rewrite) -> Draft:
        """The draft with every text in it put through a function; the same draft if that changes nothing."""
        return self.with_items(_rewritten(item, rewrite) for item in self.items)


def _rewritten(item: Item, rewrite: Rewrite) -> Item:
    message = rewrite_message(item.message, rewrite)
    lines = tuple(msgspec.structs.replace(line, text=rewrite(line.text)) for line in item.lines)
    if message is item.message and lines == item.lines:
        return item
    return msgspec.structs.replace(item, message=message, lines=lines)


class Group(NamedTuple):
    """Items that stand or fall together: one exchange, or one message alone."""

    id: str
    start: int
    items: tuple[Item, ...]

    @property
    def tokens(self) -> int:
        return sum([item.tokens for item in self.items])

    @property
    def head(self) -> Item:
        return self.items[0]


def groups(items: tuple[Item, ...]) -> Iterator[Group]:
    """The groups of a draft in order."""
    start = 0
    for index in range(1, len(items) + 1):
        if index == len(items) or items[index].group != items[start].group:
            yield Group(items[start].group, start, items[start:index])
            start = index


_REFERENCE: Final = 8_000
_GROWTH: Final = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How the budget is divided when history is reduced.

    All but `steps` and `ledger` are shares of the tokens that messages may take, in a budget of 8,000; what an agent
    works on does not grow as its budget does, so in larger ones they grow with a root of it. `users` and `answers`
    are for the words of users and concluding answers in digests, `digests` for all else in them; `steps` and `ledger`
    are shares of the latter, the rest of which is evidence. `output` is the most that one tool output may take from its
    first call on; 1 is no limit.
    """

    exchanges: int = 3
    tail: float = 0.10
    tail_cap: float = 0.40
    digests: float = 0.40
    users: float = 0.08
    answers: float = 0.02
    steps: float = 0.03
    ledger: float = 0.03
    recall: float = 0.04
    output: float = 1.0
    recipe_name: ClassVar[str] = "shares@1"

    def __post_init__(self) -> None:
        for name in ("tail", "tail_cap", "digests", "users", "answers", "steps", "ledger", "recall", "output"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ConfigError(f"`{name}` is a share of the budget from 0 to 1, got {value!r}")
        if self.exchanges < 1:
            raise ConfigError(f"`exchanges` must be 1 or more, got {self.exchanges!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PassContext:
    """What a pass may know: numbers, the log, and what must be kept."""

    limit: int
    low: int
    number: int
    timeline: Projection
    owed: int = 0
    # The tokens that shares are of, where a reduction is asked for long before the limit.
    scale: int | None = None
    # Messages that the request still shows as they were said; the others may have to be read from a store.
    shown: Mapping[int, Message] = field(default_factory=dict)
    # Messages that request passes changed in this compile, and a ledger that knows of it.
    rewritten: Mapping[int, Message] = field(default_factory=dict)
    ledger_now: Ledger | None = None
    # What was looked up for this call and comes behind all that passes leave.
    looked_up: tuple[Item, ...] = ()
    # What of the last turns no pass may touch.
    kept: frozenset[str] = frozenset()
    shares: Shares = field(default_factory=Shares)
    running: str | None = None
    # Whether prices alone ask for a reduction: then the running turn is none of what it may take away.
    spares_running: bool = False
    recall_tool: str | None = None

    def part(self, share: float) -> int:
        """The tokens that a share of the budget comes to."""
        return part_of(share, max(0, (self.limit if self.scale is None else self.scale) - self.owed))

    def count(self, text: str) -> int:
        """The tokens of a text."""
        return self.timeline.counter.count(text)

    def count_message(self, message: Message) -> int:
        """The tokens of a message in a request."""
        return self.timeline.count(message)

    def said(self, order: int) -> Message:
        """The message at a position of the log, as it was recorded or as request passes left it."""
        return self.rewritten.get(order) or self.shown.get(order) or self.timeline.message(order)

    def lines(self, order: int) -> tuple[EvidenceLine, ...]:
        """The lines of that message which name something."""
        if order in self.rewritten:
            # The index keeps the lines of what the log has, which does not know of the change yet.
            return tuple(evidence_lines(self.rewritten[order], order))
        return self.timeline.evidence.lines(self.said(order), order)

    @property
    def ledger(self) -> Ledger:
        """What is noted of the log, as far as requests may show it."""
        return self.timeline.ledger if self.ledger_now is None else self.ledger_now

    @property
    def pins(self) -> Mapping[str, None]:
        """Ids of messages that stay verbatim."""
        return self.timeline.pins

    @property
    def newest_input(self) -> str | None:
        """Id of the newest user message."""
        return self.timeline.newest_input

    def must_keep(self, group: Group) -> bool:
        """Whether a group must stay: framing, the newest input, something pinned or of the last turns is in it."""
        return any(map(self.must_keep_item, group.items))

    def must_keep_item(self, item: Item) -> bool:
        """Whether no pass may touch an item; what else is in its exchange may still be shortened."""
        timeline = self.timeline
        return (
            item.id in timeline.pins
            or item.id == timeline.newest_input
            or item.id in self.kept
            or (item.message.role == "system" and item.order < timeline.leading)
        )

    @property
    def large(self) -> int:
        """The tokens from which on an output is too large to stand whole in the tail."""
        return max(160, self.part(self.shares.tail_cap) // 3)


def part_of(share: float, limit: int) -> int:
    """The tokens that a share of a limit comes to; beyond the reference budget it grows more slowly than the limit."""
    if limit <= _REFERENCE:
        return int(share * limit)
    return int(share * _REFERENCE * math.pow(limit / _REFERENCE, _GROWTH))


def tail_start(draft: Draft, ctx: PassContext) -> int:
    """The index of the first item that recency protects.

    The tail grows from the end, group by group: at least one group, until it has both the number of exchanges and the
    tokens it should have, and never beyond its cap. Large outputs count as what is left of them when they are masked,
    so that one of them does not push the rest of the tail out.
    """
    shares = ctx.shares
    wanted, cap = ctx.part(shares.tail), ctx.part(shares.tail_cap)
    start, tokens, exchanges = len(draft.items), 0, 0
    for group in reversed(list(groups(draft.items))):
        if group.head.is_digest:
            break
        size = sum(min(item.tokens, ctx.large) if item.message.role == "tool" else item.tokens for item in group.items)
        enough = tokens + size > cap or (exchanges >= shares.exchanges and tokens >= wanted)
        # What was recalled for the newest input stays with it, or it would go before any request showed it.
        if tokens and enough and group.head.anchor != ctx.newest_input:
            break
        start, tokens = group.start, tokens + size
        exchanges += group.head.message.role == "assistant"
    return start
