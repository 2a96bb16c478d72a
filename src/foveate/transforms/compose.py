"""Compose: everything before the recent runs becomes one summary, as a writer words it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

import msgspec

from foveate.log.events import ReflectionRecorded
from foveate.log.items import Item, Line
from foveate.log.messages import MessageMeta, text_message
from foveate.transforms.digest import clipped
from foveate.transforms.fold import digest_of
from foveate.views.draft import Draft, Group, Pass, PassContext, groups, pass_name
from foveate.views.ledger import Failure
from foveate.views.timeline import Timeline

HEADING: Final = "Context summary (compiled):"
_SUFFIX: Final = ".summary"
_RESULT_HEAD: Final = 300
# How far back among the messages that a summary stands for tool results are looked for.
_LOOKED_AT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Compose:
    """Evict all but the running turn and the `runs` finished ones before it (None: no run is evicted).

    Nothing is done while the messages have no more than `above` tokens, or what would be evicted is less than the share
    `least` of the budget; unless there is no room left. Only as a turn begins: what has to go within one is folded, and
    becomes a part of the summary when the next turn begins.
    """

    runs: int | None = 3
    above: int = 0
    least: float = 0.1
    name: str = "compose"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether older runs take enough room, or any if there is no room left."""
        if not turn_begins(ctx.timeline):
            return False
        folded = folded_tokens(draft.items)
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
        item = msgspec.structs.replace(item, lines=(*item.lines, *_carried(earlier)))
        gone = {*(group.id for group in evicted), *(one.group for one in earlier)}
        rest = [one for one in draft.items if one.group not in gone]
        # Right behind the instructions, whatever of the past is pinned.
        leading = sum(one.message.role == "system" and one.order < ctx.timeline.leading for one in rest)
        return draft.with_items((*rest[:leading], item, *rest[leading:]))

    def _evicted(self, draft: Draft, ctx: PassContext) -> list[Group]:
        first = first_kept(draft.items, self.runs)
        return [
            group
            for group in groups(draft.items)
            if max(item.order for item in group.items) < first
            and not group.head.is_digest
            and group.head.fate != "recalled"
            and not ctx.must_keep(group)
        ]


class Material(NamedTuple):
    """What a writer has to word: lines of the past, each with its source, and what stands beside them."""

    lines: tuple[Line, ...]
    latest_input: str
    recalled: tuple[Line, ...]
    plan: str | None
    # Tools and what they answered, oldest first.
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
    """Give the summary its words: those a model wrote for it, else the writer's, within its share of the budget."""

    writer: Writer
    results: int = 3
    name: str = "present"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether this reduction composed a summary."""
        return any(_is_new(item, ctx) for item in draft.items)

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return draft.with_items(self._worded(item, draft, ctx) if _is_new(item, ctx) else item for item in draft.items)

    def _worded(self, item: Item, draft: Draft, ctx: PassContext) -> Item:
        room = max(_LEAST, ctx.part(ctx.shares.digests + ctx.shares.users + ctx.shares.answers))
        written = next((line for line in item.lines if line.kind == "summary"), None)
        if written is not None:
            errors = [line for line in item.lines if line.kind == "error"]
            text = "\n".join([written.text, *(f"open error {line.source}: {line.text}" for line in errors)])
            return _system(item, [written, *errors], text, ctx)
        lines, *fewer = _fewer(item.lines)
        text = self.writer.write(self._material(lines, item, draft, ctx))
        while ctx.count(text) > room and fewer:
            lines = fewer.pop(0)
            text = self.writer.write(self._material(lines, item, draft, ctx))
        return _system(item, lines, text if ctx.count(text) <= room else _cut(text, room, ctx), ctx)

    def _material(self, lines: Iterable[Line], item: Item, draft: Draft, ctx: PassContext) -> Material:
        ledger, newest = ctx.timeline.ledger, ctx.newest_input
        order = ctx.timeline.position(newest) if newest is not None else None
        return Material(
            lines=tuple(lines),
            latest_input=ctx.said(order).text if order is not None else "",
            recalled=next((one.lines for one in draft.items if one.id == _recall(ctx)), ()),
            plan=ledger.plan.text if ledger.plan is not None else None,
            results=tuple(_results(item, self.results, ctx))[::-1],
            failures=tuple(ledger.failures),
            reflections=ctx.timeline.reflections,
        )


class Forget:
    """Take out what was recalled for inputs that are answered: for the newest, something else is found."""

    name = "forget"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether there is something."""
        return any(one.fate == "recalled" and one.group != _recall(ctx) for one in draft.items)

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return draft.with_items(one for one in draft.items if one.fate != "recalled" or one.group == _recall(ctx))


@dataclass(frozen=True, slots=True, kw_only=True)
class WhenFull:
    """Leave a draft alone until it takes more than `share` of the budget, then let a pass bring it down to `low`.

    The two are apart, or every further message of a long turn would be a rewrite of its own.
    """

    stage: Pass
    share: float = 0.9
    low: float = 0.6

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


def _is_new(item: Item, ctx: PassContext) -> bool:
    return item.id == f"r{ctx.number}{_SUFFIX}"


def _recall(ctx: PassContext) -> str:
    """The group of what was recalled for the newest input."""
    return f"{ctx.newest_input}.recall"


def turn_begins(timeline: Timeline) -> bool:
    """Whether nothing has been said yet behind the newest input."""
    newest = timeline.newest_input
    return newest is None or timeline.position(newest) == timeline.message_count - 1


def least_of(share: float, folded: int) -> float:
    """The share of the budget that is worth a new summary: less where there are digests, which read worse than one."""
    return share * _FOLDED if folded else share


def folded_tokens(items: Iterable[Item]) -> int:
    """What the digests take that are no part of a summary yet."""
    return sum(item.tokens for item in items if item.is_digest and item.message.role != "system")


def first_kept(items: Iterable[Item], runs: int | None) -> int:
    """The place in the log where the oldest of the runs begins that stay."""
    if runs is None:
        return 0
    begun: dict[str, int] = {}
    for item in items:
        if item.message.meta.execution_id is not None and not item.is_digest:
            begun.setdefault(item.message.meta.execution_id, item.order)
    places = sorted(begun.values())
    return places[-1 - runs] if len(places) > runs else 0


def _carried(earlier: Iterable[Item]) -> Iterator[Line]:
    """What a model wrote before, in case that it writes nothing this time."""
    for item in earlier:
        for line in item.lines:
            if line.kind == "summary":
                yield Line(kind="ledger", text=f"{_CARRIED}{line.text}", order=line.order)
            elif line.text.startswith(_CARRIED):
                yield line


def _fewer(lines: tuple[Line, ...]) -> Iterator[list[Line]]:
    """The lines, and fewer and fewer of them, the dearest to the end."""
    yield list(lines)
    for kinds in (("evidence",), ("evidence", "step", "answer")):
        yield [line for line in lines if line.kind not in kinds]


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
                text = clipped(" ".join(message.text.split()), _RESULT_HEAD, message.id)
                yield message.meta.tool_name or "tool", text


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
        room=0,
    )
