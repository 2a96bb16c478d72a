"""Open errors: whatever passes took away, each gets its line back; one that is settled is said to be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from foveate.compile.draft import Draft, PassContext
from foveate.compile.ledger import Failure, Ledger
from foveate.compile.passes.digest import digest_item, with_lines
from foveate.log.items import Item, Line
from foveate.log.quoting import quote_attempt

_LINE: Final = 60


class ShowErrors:
    """Give each open error that lost its place one line, newest first, as far as there is room.

    Digests that were sent keep their bytes: where one calls an error open that is settled, a line behind it says so.
    """

    name = "show_errors"
    recipe_name: ClassVar[str] = "show_errors@2"
    runs_on: ClassVar[str] = "reduction"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether an open error is not shown, or a settled one is shown as open."""
        return bool(_lost(draft, ctx) or settled_lines(draft.items, ctx.ledger))

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return _with_settled(_with_lost(draft, ctx), ctx)


def settled_lines(items: Iterable[Item], ledger: Ledger) -> list[Line]:
    """A line for each error that digests call open though it is settled, unless another line says so."""
    settled = {one.error.message_id: one for one in ledger.settled}
    if not settled:
        return []
    lines = [line for item in items for line in item.lines if line.source in settled]
    told = {line.source for line in lines if line.kind == "settled"}
    stale = dict.fromkeys(line.source for line in lines if line.kind == "error" and line.source not in told)
    found = [settled[source] for source in stale]
    return [
        Line(
            kind="settled",
            text=f"{one.how} in {one.by}" if one.by else one.how,
            source=one.error.message_id,
            order=one.order,
        )
        for one in sorted(found, key=lambda one: one.order)
    ]


def _with_lost(draft: Draft, ctx: PassContext) -> Draft:
    lines = [
        Line(
            kind="error",
            text=_short(f"{quote_attempt(one.attempt)}: {one.text}", ctx),
            source=one.message_id,
            order=one.order,
        )
        for one in reversed(_lost(draft, ctx))
    ]
    while lines:
        covers = [(line.order, line.order) for line in lines]
        digest = digest_item(lines, covers, ctx, id=f"r{ctx.number}.errors", by="show_errors")
        if draft.tokens + digest.tokens <= ctx.limit:
            return _inserted(draft, digest, ctx)
        lines.pop()
    return draft


def _with_settled(draft: Draft, ctx: PassContext) -> Draft:
    lines = settled_lines(draft.items, ctx.ledger)
    if not lines:
        return draft
    # In the newest digest, if this reduction made it: what was sent stays as it is.
    made = [item for item in draft.items if item.is_digest and item.message.role == "user"]
    newest = made[-1] if made and made[-1].reduction == ctx.number and not made[-1].unworded else None
    if newest is not None and newest.lines:
        longer = with_lines(newest, [*newest.lines, *lines], ctx, room=newest.room)
        after = draft.with_items(longer if item is newest else item for item in draft.items)
    else:
        order = max(span[1] for item in made for span in item.covers) if made else 0
        digest = digest_item(lines, [(order, order)], ctx, id=f"r{ctx.number}.settled", by="show_errors")
        after = _inserted(draft, digest, ctx)
    return after if after.tokens <= ctx.limit else draft


def _inserted(draft: Draft, digest: Item, ctx: PassContext) -> Draft:
    """The draft with a digest before the newest input: behind it, nothing may stand but its own turn."""
    leading = sum(item.order < ctx.timeline.leading for item in draft.items)
    position = next((at for at, item in enumerate(draft.items) if item.id == ctx.newest_input), leading)
    return draft.with_items((*draft.items[:position], digest, *draft.items[position:]))


def _lost(draft: Draft, ctx: PassContext) -> list[Failure]:
    shown = {item.id for item in draft.items} | {line.source for item in draft.items for line in item.lines}
    return [one for one in ctx.ledger.open_errors.values() if one.message_id not in shown]


def _short(text: str, ctx: PassContext) -> str:
    """The beginning of a text, by tokens: in some scripts a character takes several."""
    text = text[:200]
    while ctx.count(text) > _LINE:
        text = text[: len(text) // 2]
    return text
