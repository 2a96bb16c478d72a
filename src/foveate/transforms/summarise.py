"""Summarise: each new digest gets its ledger; a recorded summary takes the place of folded steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foveate.log.items import Item, Line
from foveate.transforms.digest import fitting, with_lines
from foveate.views.draft import Draft, PassContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise:
    """Write what must outlive every reduction into the new digests.

    The ledger (files, decisions, failed attempts, plan) needs no model. A summary that a summarizer wrote for exactly
    this stretch stands for the steps and answers in it.
    """

    name: str = "summarise"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether this reduction made a digest."""
        return any(_is_new(item, ctx) for item in draft.items)

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        digests = [item for item in draft.items if item.is_digest]
        last = max((item for item in digests if _is_new(item, ctx)), key=lambda item: item.covers[-1][1])
        summary = ctx.timeline.summary
        items = []
        for item in draft.items:
            if _is_new(item, ctx):
                lines = [*item.lines, *_ledger_lines(item, ctx)]
                if item is last and summary is not None and summary.through == item.covers[-1][1]:
                    lines = _summarised(lines, summary.text, item)
                item = with_lines(item, lines, ctx)
            items.append(item)
        return draft.with_items(items)


def _is_new(item: Item, ctx: PassContext) -> bool:
    return item.is_digest and item.id.startswith(f"r{ctx.number}.")


def _summarised(lines: list[Line], text: str, item: Item) -> list[Line]:
    kept = [line for line in lines if line.kind not in ("step", "answer")]
    return [Line(kind="summary", text=text, order=item.covers[0][0]), *kept]


def _ledger_lines(item: Item, ctx: PassContext) -> list[Line]:
    room = int(ctx.part(ctx.shares.digests) * ctx.shares.ledger)
    return fitting(_facts(item, ctx), room, ctx)


def _facts(item: Item, ctx: PassContext) -> Iterator[Line]:
    """What the ledger knows of the messages that a digest stands for, most important first."""
    ledger = ctx.timeline.ledger
    inside = {
        ctx.said(order).id for first, last in item.covers for order in range(max(first, last - _MAX_SCAN), last + 1)
    }
    written = [path for path, source in ledger.written.items() if source in inside]
    read = [path for path, source in ledger.read.items() if source in inside and path not in ledger.written]
    shown = {line.text for line in item.lines}
    order = item.covers[-1][1]
    if written:
        yield Line(kind="ledger", text=_listed("files modified", written), order=order)
    for failure in reversed(ledger.failures):
        if failure.message_id in inside and failure.attempt not in ledger.open_errors:
            yield Line(
                kind="ledger",
                text=f"failed before ({failure.message_id}): {failure.attempt}: {failure.text}",
                order=order,
            )
    for note in reversed(ledger.decisions):
        if note.message_id in inside and not any(note.text in text for text in shown):
            yield Line(kind="ledger", text=f"noted in {note.message_id}: {note.text}", order=order)
    if ledger.plan is not None and ledger.plan.message_id in inside:
        yield Line(kind="ledger", text=f"plan ({ledger.plan.message_id}): {ledger.plan.text[:600]}", order=order)
    if read:
        yield Line(kind="ledger", text=_listed("files read", read), order=order)


_MAX_SCAN = 4_000
_LISTED = 24


def _listed(label: str, names: list[str]) -> str:
    shown = names[-_LISTED:]
    more = f" and {len(names) - len(shown)} earlier" if len(names) > len(shown) else ""
    return f"{label}: {', '.join(shown)}{more}"
