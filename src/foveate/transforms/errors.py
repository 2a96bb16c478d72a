"""Open errors: whatever passes took away, each gets its line back."""

from __future__ import annotations

from typing import Final

from foveate.log.items import Line
from foveate.transforms.digest import digest_item
from foveate.views.draft import Draft, PassContext

_LINE: Final = 60


def with_open_errors(draft: Draft, ctx: PassContext) -> Draft:
    """The draft with one line for each open error that lost its place, newest first, as far as there is room."""
    shown = {item.id for item in draft.items} | {line.source for item in draft.items for line in item.lines}
    lost = [one for one in ctx.timeline.ledger.open_errors.values() if one.message_id not in shown]
    lines = [
        Line(
            kind="error",
            text=_short(f"{one.attempt}: {one.text}", ctx),
            source=one.message_id,
            order=one.order,
        )
        for one in reversed(lost)
    ]
    while lines:
        covers = [(line.order, line.order) for line in lines]
        digest = digest_item(lines, covers, ctx, id=f"r{ctx.number}.errors", by="errors")
        if draft.tokens + digest.tokens <= ctx.limit:
            # Before the newest input: behind it, nothing may stand but its own turn.
            leading = sum(item.order < ctx.timeline.leading for item in draft.items)
            position = next((i for i, item in enumerate(draft.items) if item.id == ctx.newest_input), leading)
            return draft.with_items((*draft.items[:position], digest, *draft.items[position:]))
        lines.pop()
    return draft


def _short(text: str, ctx: PassContext) -> str:
    """The beginning of a text, by tokens: in some scripts a character takes several."""
    text = text[:200]
    while ctx.count(text) > _LINE:
        text = text[: len(text) // 2]
    return text
