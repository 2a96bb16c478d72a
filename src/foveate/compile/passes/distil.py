"""Distil: of all that is evicted, the lines worth their tokens stay verbatim: the working set."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from foveate.compile.draft import Draft, PassContext
from foveate.compile.evidence import EvidenceLine, size_of
from foveate.compile.passes.digest import with_lines
from foveate.compile.working_set import HALF_LIFE, entities
from foveate.log.items import Item, Line
from foveate.log.messages import speaker_of

# In characters: what a line costs besides its words. Above the bare cost, so that a line that tells more wins over one
# that only names.
_OVERHEAD: Final = 48
# Characters looked at for each token of the budget: some five budgets of text.
_SCANNED: Final = 20
# In tokens: the mark and the end of a line, and its part of the line that names the source.
_AROUND: Final = 5
_NAMED: Final = 0.12
_PASSED: Final = 200
_MISSES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Distil:
    """Fill each new digest with the lines whose entities the agent's actions use, as far as its room goes.

    `mention` is the weight of an entity that was only mentioned, against 1 for one that an action used.
    """

    mention: float = 0.25
    name: str = "distil"
    recipe_name: ClassVar[str] = "distil@1"
    runs_on: ClassVar[str] = "reduction"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether a digest has room, and the agent acts: in a mere talk, room is better left to what is looked up."""
        if ctx.timeline.is_talk and ctx.shares.recall:
            return False
        return any(item.room for item in draft.items)

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        visible = _visible(draft)
        items = []
        for item in draft.items:
            if item.room:
                lines = self._selected(item, visible, ctx)
                items.append(with_lines(item, [*item.lines, *lines], ctx))
            else:
                items.append(item)
        return draft.with_items(items)

    def _selected(self, digest: Item, visible: set[str], ctx: PassContext) -> list[Line]:
        candidates = list(_candidates(digest, ctx))
        weights = self._weights(candidates, ctx)
        heap: list[tuple[float, int, int, int]] = []
        for index, line in enumerate(candidates):
            value = _value(line, visible, weights)
            if value > 0:
                heap.append((-value, -line.order, line.part, index))
        heapq.heapify(heap)
        room, seen, taken, misses = digest.room, {line.text for line in digest.lines}, [], 0
        while heap and room > 8 and misses < _MISSES:
            value, order, part, index = heapq.heappop(heap)
            line = candidates[index]
            current = _value(line, visible, weights)
            # What was taken since may show the same entities: then the line is worth less than when it was queued.
            if current < -value - 1e-12:
                if current > 0:
                    heapq.heappush(heap, (-current, order, part, index))
                continue
            text = line.text.strip()
            # Eight characters to a token is more than any text has: what is longer than that cannot fit.
            tokens = room + 1 if text in seen or len(text) > 8 * room else ctx.count(text) + _AROUND
            if tokens > room:
                misses += 1
                continue
            seen.add(text)
            room -= tokens
            if ctx.said(line.order).role == "assistant":
                # An action names a thing, an output says what it is: that may still be worth a line, but less.
                for entity in line.entities:
                    weights[entity] = weights.get(entity, 0.0) * _NAMED
            else:
                visible.update(line.entities)
            taken.append(_line(line, text, tokens, ctx))
        return taken

    def _weights(self, candidates: Iterable[EvidenceLine], ctx: PassContext) -> dict[str, float]:
        """Uses by actions weigh fully, mentions a little; both fade with the steps since."""
        working = ctx.timeline.working
        newest: dict[str, int] = {}
        for line in candidates:
            for entity in line.entities:
                if newest.get(entity, -1) < line.order:
                    newest[entity] = line.order
        fading = {order: math.exp2((_step(order, ctx) - working.step) / HALF_LIFE) for order in set(newest.values())}
        return {entity: working.weight(entity) + self.mention * fading[order] for entity, order in newest.items()}


def _visible(draft: Draft) -> set[str]:
    shown: set[str] = set()
    for item in draft.items:
        shown.update(entities(item.message.text))
        for call in item.message.calls:
            shown.update(entities(call.arguments))
    return shown


def _candidates(digest: Item, ctx: PassContext) -> Iterator[EvidenceLine]:
    """Lines of what the digest stands for, and of older evicted messages that name what is in use."""
    evidence, ledger = ctx.timeline.evidence, ctx.ledger
    room, passed = _SCANNED * ctx.limit, 0
    for order in _newest_first(digest):
        if evidence.is_evicted(order):
            # What was evicted before is found by its entities; behind a long stretch of it nothing new comes.
            passed += 1
            if passed > _PASSED:
                break
        else:
            passed = 0
            message = ctx.said(order)
            if message.id in ledger.stale or message.id in ledger.retried:
                continue
            yield from ctx.lines(order)
            room -= size_of(message)
            if room < 0:
                # A log that was taken in at once: further back, what was only mentioned weighs nothing any more.
                break
    older: set[tuple[int, int]] = set()
    for entity in ctx.timeline.working.in_use():
        older.update(evidence.places(entity))
    by_order: dict[int, set[int]] = {}
    for order, part in older:
        by_order.setdefault(order, set()).add(part)
    ctx.timeline.prefetch(by_order)
    for order in sorted(by_order):
        if ctx.said(order).id in ledger.stale or ctx.said(order).id in ledger.retried:
            continue
        for line in ctx.lines(order):
            if line.part in by_order[order]:
                yield line


def _newest_first(digest: Item) -> Iterator[int]:
    for first, last in reversed(digest.covers):
        yield from range(last, first - 1, -1)


def _value(line: EvidenceLine, visible: set[str], weights: dict[str, float]) -> float:
    gain = 0.0
    for entity in line.entities:
        if entity not in visible:
            gain += weights.get(entity, 0.0)
    return gain / (len(line.text) + _OVERHEAD) if gain else 0.0


def _line(line: EvidenceLine, text: str, tokens: int, ctx: PassContext) -> Line:
    message = ctx.said(line.order)
    return Line(
        kind="evidence",
        text=text,
        source=message.id,
        order=line.order,
        part=line.part,
        tokens=tokens,
        speaker=speaker_of(message),
    )


def _step(order: int, ctx: PassContext) -> int:
    return ctx.said(order).meta.step
