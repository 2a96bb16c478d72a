"""Mask: old large tool outputs become placeholders that say what was there and how to get it back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from foveate.compile.draft import Draft, PassContext, tail_start
from foveate.compile.passes.placeholders import preview, with_result
from foveate.errors import ConfigError
from foveate.log.items import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """Mask outputs of more than `above` tokens before the protected tail; errors stay in full."""

    above: int = 160
    name: str = "mask"
    recipe_name: ClassVar[str] = "mask@1"
    runs_on: ClassVar[str] = "reduction"

    def __post_init__(self) -> None:
        if self.above < 1:
            raise ConfigError(f"`above` must be 1 token or more, got {self.above!r}")

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        start = tail_start(draft, ctx)
        newest = draft.items[-1].group if draft.items else ""
        items = []
        for index, item in enumerate(draft.items):
            if index < start and _maskable(item, self.above, ctx):
                item = mask_output(item, ctx, by=self.name)
            elif index >= start and item.group != newest and _maskable(item, ctx.large, ctx):
                # In the tail only what is very large, and more of it stays; the newest exchange has not been read yet.
                item = mask_output(item, ctx, by=self.name, why="very large output", chars=ctx.large, lines=40)
            items.append(item)
        return draft.with_items(items)


def _maskable(item: Item, above: int, ctx: PassContext) -> bool:
    return (
        item.tokens > above
        and item.message.result is not None
        and item.is_unreduced
        and item.message.meta.outcome in (None, "ok")
        and not ctx.must_keep_item(item)
    )


def mask_output(
    item: Item, ctx: PassContext, *, by: str, why: str = "large output of an old call", **size: int
) -> Item:
    """A tool result as a placeholder with a preview."""
    original = ctx.said(item.order)
    tokens = item.tokens if item.is_whole else ctx.count_message(original)
    text = preview(original.text, tokens, item.id, ctx, **size)
    return with_result(item, text, ctx, fate="masked", by=by, why=why)
