"""Supersede: a read that a later one made stale, and all but the last try of a retry, become pointers."""

from __future__ import annotations

from typing import ClassVar

from foveate.compile.draft import Draft, PassContext, groups, tail_start
from foveate.compile.passes.placeholders import with_result
from foveate.log.items import Item
from foveate.log.quoting import flatten_text


class Supersede:
    """Retire earlier reads of a resource that was later read again or overwritten.

    Only tools with declared semantics take part; failed and partial reads retire nothing.
    """

    name = "supersede"
    recipe_name: ClassVar[str] = "supersede@1"
    runs_on: ClassVar[str] = "reduction"

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        start = tail_start(draft, ctx)
        kept = {item.id for group in groups(draft.items) if ctx.must_keep(group) for item in group.items}
        latest: dict[str, Item] = {}
        for item in draft.items:
            meta = item.message.meta
            if meta.outcome == "ok" and not meta.partial and item.is_whole:
                for resource in (*meta.reads, *meta.writes):
                    latest[resource] = item
        items = []
        for index, item in enumerate(draft.items):
            if index < start and item.id not in kept:
                item = self._retired(item, latest, ctx)
            items.append(item)
        return draft.with_items(items)

    def _retired(self, item: Item, latest: dict[str, Item], ctx: PassContext) -> Item:
        meta = item.message.meta
        if item.message.result is None or not item.is_unreduced:
            return item
        if item.id in ctx.ledger.retried:
            text = f"[failed, tried again later: {ctx.ledger.said_of(item.id)}; reference {item.id}]"
            return with_result(
                item, flatten_text(text), ctx, fate="superseded", by=self.name, why="a later attempt at the same"
            )
        if meta.outcome != "ok" or not meta.reads:
            return item
        newer = [latest[resource] for resource in meta.reads if resource in latest]
        if len(newer) < len(meta.reads) or any(other.order <= item.order for other in newer):
            return item
        verb = "overwritten" if newer[0].message.meta.writes else "read again"
        text = f"[outdated: {', '.join(meta.reads)} was {verb} later, in {newer[0].id}; reference {item.id}]"
        return with_result(
            item, flatten_text(text), ctx, fate="superseded", by=self.name, why=f"{verb} in {newer[0].id}"
        )
