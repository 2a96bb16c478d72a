"""Open errors: whatever passes took away, each gets its line back."""

from __future__ import annotations

from foveate.log.items import Line
from foveate.transforms.digest import clipped, digest_item
from foveate.views.draft import Draft, PassContext


def with_open_errors(draft: Draft, ctx: PassContext) -> Draft:
    """The draft with one line for each open error that lost its place, newest first, as far as there is room."""
    shown = {item.id for item in draft.items} | {line.source for item in draft.items for line in item.lines}
    lost = [one for one in ctx.timeline.ledger.open_errors.values() if one.message_id not in shown]
    lines = [
        Line(
            kind="error",
            text=clipped(f"{one.attempt}: {one.text}", 200, one.message_id),
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
            position = next((i for i, item in enumerate(draft.items) if item.id == ctx.newest_input), 0)
            return draft.with_items((*draft.items[:position], digest, *draft.items[position:]))
        lines.pop()
    return draft
