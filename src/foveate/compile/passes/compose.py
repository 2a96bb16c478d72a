"""Compose: everything before the recent runs becomes one summary, as a writer words it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar, Final, NamedTuple, Protocol

import msgspec

from foveate.compile.draft import Draft, Group, PassContext, Shares, groups, part_of
from foveate.compile.ledger import Failure
from foveate.compile.pass_protocol import Pass, pass_name
from foveate.compile.passes.digest import MARKED, clipped
from foveate.compile.passes.fold import digest_of, spoken_line
from foveate.compile.projection import Projection
from foveate.log.events import ReflectionRecorded
from foveate.log.items import Item, Line
from foveate.log.messages import MessageMeta, text_message
from foveate.log.quoting import MARK, flatten_text, label_text, quote_lines

HEADING: Final = "Context summary (compiled):"
BY_MODEL: Final = f"a model wrote this; lines after {MARK} are its words, nobody else's"
"""How a reader knows that a summary is no statement of the user's: what a model read may have told it what to write."""
_SUFFIX: Final = ".summary"
_RESULT_HEAD: Final = 300
# How far back among the messages that a summary stands for tool results are looked for.
_LOOKED_AT: Final = 200
# How far back turns are looked for: one may have hundreds of calls.
_LOOKED_FOR_TURNS: Final = 2_000
_SHORTER_HEADS: Final = (160, 60)
# Of the budget: fuller, a request is folded in the middle of a turn.
_FULL: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Compose:
    """Evict all but the running turn and the `runs` finished ones before it (None: no run is evicted).

    Nothing is done while the messages have no more than `above` tokens, or what would be evicted is less than the share
    `least` of the budget; unless there is no room left. Only as a turn begins: what has to go within one is folded, and
    becomes a part of the summary when the next turn begins.

    With `fill`, more runs stay, as many as have that share of the budget together with the summary, and none goes while
    there is room for another turn.
    """

    runs: int | None = 3
    above: int = 0
    least: float = 0.1
    fill: float | None = None
    name: str = "compose"
    recipe_name: ClassVar[str] = "compose@2"
    runs_on: ClassVar[str] = "reduction"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether older runs take enough room, or any if there is no room left."""
        if not turn_begins(ctx.timeline):
            return False
        folded = folded_tokens(draft.items)
        if self.fill is not None and not folded and has_room_for_turn(draft.items, draft.tokens, ctx.limit):
            return False
        tokens = sum(group.tokens for group in self._evicted(draft, ctx)) + folded
        return tokens > 0 and (
            draft.tokens > ctx.limit
            or (draft.tokens > self.above and tokens >= ctx.limit * least_of(self.least, folded))
        )

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        evicted = self._evicted(draft, ctx)
        if not evicted and not folded_tokens(draft.items):
            return draft
        earlier = [item for item in draft.items if item.is_digest]
        item = digest_of(evicted, earlier, ctx, id=f"r{ctx.number}{_SUFFIX}", by=self.name)
        item = msgspec.structs.replace(item, lines=(*item.lines, *_carried(earlier)), unworded=True)
        gone = {*(group.id for group in evicted), *(one.group for one in earlier)}
        rest = [one for one in draft.items if one.group not in gone]
        # Right behind the instructions, whatever of the past is pinned.
        leading = sum(one.message.role == "system" and one.order < ctx.timeline.leading for one in rest)
        return draft.with_items((*rest[:leading], item, *rest[leading:]))

    def _evicted(self, draft: Draft, ctx: PassContext) -> list[Group]:
        room = room_for_runs(self.fill, ctx.limit, ctx.shares) if self.fill is not None else 0
        first = first_kept(draft.items, self.runs, room)
        return [
            group
            for group in groups(draft.items)
            if not (head := group.head).is_digest
            and head.fate != "recalled"
            and max([item.order for item in group.items]) < first
            and not ctx.must_keep(group)
        ]


class Material(NamedTuple):
    """What a writer has to word: lines of the past, each with its source, and what stands beside them."""

    lines: tuple[Line, ...]
    # What was said in the newest turns that the summary stands for, oldest first; whatever lines have room.
    turns: tuple[Line, ...]
    latest_input: str
    recalled: tuple[Line, ...]
    plan: str | None
    # Tools, "" where the name is not known, and what they answered, oldest first.
    results: tuple[tuple[str, str], ...]
    failures: tuple[Failure, ...]
    reflections: tuple[ReflectionRecorded, ...]


class Writer(Protocol):
    """Words a summary, without a model; what it returns is shown as it is."""

    @property
    def name(self) -> str: ...

    def write(self, material: Material, /) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """Give the summary its words: those a model wrote for it, else the writer's, within its share of the budget.

    A model's words are said to be its own, and every line of them is quoted: none can speak as the user or as we do.

    The writer is given the newest `turns` that the summary stands for and the newest `results` of tools in it. Where
    there is little room, other lines go first, then the ends of what was said in those turns.
    """

    writer: Writer
    results: int = 3
    turns: int = 3
    name: str = "present"
    recipe_name: ClassVar[str] = "present@1"
    runs_on: ClassVar[str] = "reduction"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether this reduction composed a summary."""
        return any(item.unworded for item in draft.items)

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return draft.with_items(self._worded(item, draft, ctx) if item.unworded else item for item in draft.items)

    def _worded(self, item: Item, draft: Draft, ctx: PassContext) -> Item:
        room = max(_LEAST, ctx.part(ctx.shares.digests + ctx.shares.users + ctx.shares.answers))
        written = next((line for line in item.lines if line.kind == "summary"), None)
        if written is not None:
            errors = [line for line in item.lines if line.kind == "error"]
            open_errors = (label_text(f"open error {line.source}", line.text) for line in errors)
            text = "\n".join([f"({BY_MODEL})", quote_lines(written.text), *open_errors])
            return _system(item, [written, *errors], text, ctx)
        (lines, head), *fewer = _fewer(item.lines)
        text = self.writer.write(self._material(lines, head, item, draft, ctx))
        while ctx.count(text) > room and fewer:
            lines, head = fewer.pop(0)
            text = self.writer.write(self._material(lines, head, item, draft, ctx))
        text = text if ctx.count(text) <= room else _cut(text, room, ctx)
        # Only a text that quotes somebody needs to say how.
        return _system(item, lines, f"({MARKED})\n\n{text}" if _QUOTES.search(text) else text, ctx)

    def _material(
        self, lines: Iterable[Line], head: int | None, item: Item, draft: Draft, ctx: PassContext
    ) -> Material:
        ledger, newest = ctx.ledger, ctx.newest_input
        order = ctx.timeline.position(newest) if newest is not None else None
        return Material(
            lines=tuple(lines),
            turns=tuple(_newest_turns(item, self.turns, head, ctx)),
            latest_input=ctx.said(order).text if order is not None else "",
            recalled=next((one.lines for one in (*ctx.looked_up, *draft.items) if _is_for_newest(one, ctx)), ()),
            plan=ledger.plan.text if ledger.plan is not None else None,
            results=tuple(_results(item, self.results, ctx))[::-1],
            failures=tuple(ledger.failures),
            reflections=ctx.timeline.reflections,
        )


class Forget:
    """Take out what was recalled for inputs that are answered: for the newest, something else is found."""

    name = "forget"
    recipe_name: ClassVar[str] = "forget@1"
    runs_on: ClassVar[str] = "reduction"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether there is something."""
        return any(one.is_looked_up and not _is_for_newest(one, ctx) for one in draft.items)

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return draft.with_items(one for one in draft.items if not one.is_looked_up or _is_for_newest(one, ctx))


@dataclass(frozen=True, slots=True, kw_only=True)
class WhenFull:
    """Leave a draft alone until it takes more than `share` of the budget, then let a pass bring it down to `low`.

    The two are apart, or every further message of a long turn would be a rewrite of its own.
    """

    stage: Pass
    share: float = _FULL
    low: float = 0.6
    recipe_name: ClassVar[str] = "when_full@1"
    runs_on: ClassVar[str] = "reduction"

    @property
    def name(self) -> str:
        """The name of the pass."""
        return pass_name(self.stage)

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether the draft is that full."""
        return draft.tokens > int(ctx.limit * self.share)

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return self.stage(draft, replace(ctx, low=int(ctx.limit * self.low)))


_LEAST: Final = 120
_FOLDED: Final = 0.4
_CARRIED: Final = "earlier summary: "
_QUOTES: Final = re.compile(rf"^ *{MARK}", re.MULTILINE)


def _is_for_newest(item: Item, ctx: PassContext) -> bool:
    """Whether an item was recalled for the newest input."""
    return item.fate == "recalled" and item.anchor == ctx.newest_input


def turn_begins(timeline: Projection) -> bool:
    """Whether nothing has been said yet behind the newest input."""
    newest = timeline.newest_input
    return newest is None or timeline.position(newest) == timeline.message_count - 1


def least_of(share: float, folded: int) -> float:
    """The share of the budget that is worth a new summary: less where there are digests, which read worse than one."""
    return share * _FOLDED if folded else share


def folded_tokens(items: Iterable[Item]) -> int:
    """What the digests take that are no part of a summary yet."""
    return sum(item.tokens for item in items if item.is_digest and item.message.role != "system")


def first_kept(items: Iterable[Item], runs: int | None, room: int = 0) -> int:
    """The place in the log where the runs begin that stay: the newest `runs`, and more as far as there is `room`."""
    if runs is None:
        return 0
    begun: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for item in items:
        execution = item.message.meta.execution_id
        if execution is not None and not item.is_digest:
            begun.setdefault(execution, item.order)
            sizes[execution] = sizes.get(execution, 0) + item.tokens
    newest_first = sorted(begun, key=begun.__getitem__, reverse=True)
    taken = first = 0
    for number, execution in enumerate(newest_first):
        taken += sizes[execution]
        if number > runs and taken > room:
            return first
        first = begun[execution]
    return 0


def room_for_runs(fill: float, limit: int, shares: Shares) -> int:
    """The tokens that finished turns may have beside a summary, if both together fill that share of the budget."""
    return int(limit * fill) - part_of(shares.digests + shares.users + shares.answers, limit)


def has_room_for_turn(items: Iterable[Item], used: int, limit: int) -> bool:
    """Whether a turn as large as the largest in view would fit, and the request be no fuller than passes leave it."""
    return used + max(_largest_turn(items), limit - int(limit * _FULL)) <= limit


def _largest_turn(items: Iterable[Item]) -> int:
    """The tokens of the largest turn that stands as it was."""
    sizes: dict[str | None, int] = {}
    for item in items:
        if not item.is_digest and item.fate != "recalled":
            turn = item.message.meta.execution_id
            sizes[turn] = sizes.get(turn, 0) + item.tokens
    return max(sizes.values(), default=0)


def _carried(earlier: Iterable[Item]) -> Iterator[Line]:
    """What a model wrote before, in case that it writes nothing this time."""
    for item in earlier:
        for line in item.lines:
            if line.kind == "summary":
                yield Line(kind="ledger", text=f"{_CARRIED}{line.text}", order=line.order, carried=True)
            elif line.carried:
                yield line


def _fewer(lines: tuple[Line, ...]) -> Iterator[tuple[list[Line], int | None]]:
    """The lines, and fewer and fewer of them, the dearest to the end; then how much of each turn's words is left."""
    kept = list(lines)
    yield kept, None
    for kinds in (("evidence",), ("step", "answer"), ("user",)):
        kept = [line for line in kept if line.kind not in kinds]
        yield kept, None
    for head in _SHORTER_HEADS:
        yield kept, head


def _results(item: Item, most: int, ctx: PassContext) -> Iterator[tuple[str, str]]:
    """The newest tool results that a summary stands for."""
    looked = found = 0
    for first, last in reversed(item.covers):
        for order in range(last, first - 1, -1):
            looked += 1
            if found == most or looked > _LOOKED_AT:
                return
            message = ctx.said(order)
            if message.result is not None:
                found += 1
                text = clipped(flatten_text(message.text), _RESULT_HEAD, message.id)
                yield message.meta.tool_name or "", text


def _newest_turns(item: Item, turns: int, head: int | None, ctx: PassContext) -> list[Line]:
    """What was said in the newest turns that a summary stands for, from the log: digests have room for some of it."""
    said: list[Line] = []
    covered = (order for first, last in reversed(item.covers) for order in range(last, first - 1, -1))
    for order in islice(covered, _LOOKED_FOR_TURNS if turns else 0):
        message = ctx.said(order)
        line = spoken_line(message, order, head=head) if message.meta.kind == "message" else None
        if line is None:
            continue
        said.append(line)
        turns -= line.kind == "user"
        if not turns:
            break
    return said[::-1]


def _cut(text: str, room: int, ctx: PassContext) -> str:
    """The beginning of a text that is too long whatever it is made of."""
    size = len(text)
    while ctx.count(text[:size]) > room:
        size = size * 3 // 4
    return f"{text[:size].rstrip()} […the rest of the template has no room]"


def _system(item: Item, lines: Iterable[Line], text: str, ctx: PassContext) -> Item:
    meta = MessageMeta(origin="summary", kind="summary", scope="historical", compacted=True)
    message = text_message(item.id, "system", f"{HEADING}\n{text.strip()}", meta)
    return msgspec.structs.replace(
        item,
        message=message,
        tokens=ctx.count_message(message),
        fate="summarised",
        lines=tuple(lines),
        heading=HEADING,
        room=0,
        unworded=False,
    )
