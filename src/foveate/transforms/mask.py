"""Mask: old large tool outputs become placeholders that say what was there and how to get it back."""

from __future__ import annotations

from dataclasses import dataclass

from foveate.errors import ConfigError
from foveate.log.items import Item
from foveate.transforms.placeholders import preview, with_result
from foveate.views.draft import Draft, PassContext, groups, tail_start


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """Mask outputs of more than `above` tokens before the protected tail; errors stay in full."""

    above: int = 160
    name: str = "mask"

    def __post_init__(self) -> None:
        if self.above < 1:
            raise ConfigError(f"`above` must be 1 token or more, got {self.above!r}")

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        start = tail_start(draft, ctx)
        masked = {
            item.id
            for group in groups(draft.items)
            if group.start < start and not ctx.must_keep(group)
            for item in group.items
            if item.fate in ("verbatim", "repaired")
            and item.message.result is not None
            and item.tokens > self.above
            and item.message.meta.outcome in (None, "ok")
        }
        return draft.with_items(
            mask_output(item, ctx, by=self.name) if item.id in masked else item for item in draft.items
        )


def mask_output(
    item: Item, ctx: PassContext, *, by: str, why: str = "large output of an old call", **size: int
) -> Item:
    """A tool result as a placeholder with a preview."""
    text = preview(ctx.said(item.order).text, item.tokens, item.id, ctx, **size)
    return with_result(item, text, ctx, fate="masked", by=by, why=why)
