"""Distil: of all that is evicted, the lines worth their tokens stay verbatim: the working set."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from foveate.log.items import Item, Line
from foveate.transforms.digest import with_lines
from foveate.views.draft import Draft, PassContext
from foveate.views.entities import entities
from foveate.views.evidence import EvidenceLine, size_of
from foveate.views.working_set import HALF_LIFE

# In characters: what a line costs besides its words. Above the bare cost, so that a line that tells more wins over one
# that only names.
_OVERHEAD: Final = 48
# Characters looked at for each token of the budget: some five budgets of text.
_SCANNED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Distil:
    """Fill each new digest with the lines whose entities the agent's actions use, as far as its room goes.

    `mention` is the weight of an entity that was only mentioned, against 1 for one that an action used.
    """

    mention: float = 0.15
    name: str = "distil"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether a digest has room."""
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
        room, seen, taken = digest.room, {line.text for line in digest.lines}, []
        while heap and room > 8:
            value, order, part, index = heapq.heappop(heap)
            line = candidates[index]
            current = _value(line, visible, weights)
            # What was taken since may show the same entities: then the line is worth less than when it was queued.
            if current < -value - 1e-12:
                if current > 0:
                    heapq.heappush(heap, (-current, order, part, index))
                continue
            text = line.text.strip()
            tokens = ctx.count(text) + 4
            if text in seen or tokens > room:
                continue
            seen.add(text)
            room -= tokens
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
    evidence = ctx.timeline.evidence
    room = _SCANNED * ctx.limit
    for order in _newest_first(digest):
        if not evidence.is_evicted(order):
            message = ctx.said(order)
            yield from evidence.lines(message, order)
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
    for order in sorted(by_order):
        for line in evidence.lines(ctx.said(order), order):
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
    return Line(
        kind="evidence", text=text, source=ctx.said(line.order).id, order=line.order, part=line.part, tokens=tokens
    )


def _step(order: int, ctx: PassContext) -> int:
    step = ctx.said(order).meta.step_id
    return int(step[1:]) if step and step[1:].isdigit() else 0
