"""Cap: a tool output that is larger than one may be is shown by its beginning and end, from its first call on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from foveate.log.items import Item
from foveate.transforms.mask import mask_output
from foveate.views.draft import Draft, PassContext

# For the note that stands for what is left out; an output that is hardly larger than the cap is not worth one.
_NOTE: Final = 60


class Cap:
    """Cap outputs that no request has shown yet: what was sent is left alone, so the cached prefix stays as it is."""

    name = "cap"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether there is an output to be capped."""
        return next(iter(_large(draft.items, ctx)), None) is not None

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        large = {item.id for item in _large(draft.items, ctx)}
        return draft.with_items(_capped(item, ctx) if item.id in large else item for item in draft.items)


def _large(items: Iterable[Item], ctx: PassContext) -> Iterable[Item]:
    if ctx.shares.output >= 1:
        return ()
    most = ctx.part(ctx.shares.output) + _NOTE
    sent = ctx.timeline.sent_messages
    return (
        item
        for item in items
        if item.tokens > most
        and item.order >= sent
        and item.message.result is not None
        and item.fate in ("verbatim", "repaired")
        and not ctx.must_keep_item(item)
    )


def _capped(item: Item, ctx: PassContext) -> Item:
    text = ctx.said(item.order).text
    # As many characters as the cap has tokens for, half of them from either end.
    half = len(text) * ctx.part(ctx.shares.output) // item.tokens // 2
    return mask_output(item, ctx, by=Cap.name, why="larger than one output may be", chars=half, lines=half)
