"""Drop: oldest exchanges go, until the low mark is reached; the plain alternative to folding."""

from __future__ import annotations

from typing import ClassVar

from foveate.compile.draft import Draft, PassContext, groups, tail_start


class Drop:
    """Drop whole groups, oldest first, down to the low mark; nothing of them is left but what recall can give back."""

    name = "drop"
    recipe_name: ClassVar[str] = "drop@1"
    runs_on: ClassVar[str] = "reduction"

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        start, tokens = tail_start(draft, ctx), draft.tokens
        dropped: set[str] = set()
        for group in groups(draft.items):
            if tokens <= ctx.low or group.start >= start:
                break
            if not ctx.must_keep(group) and group.head.id != ctx.timeline.first_input:
                dropped.add(group.id)
                tokens -= group.tokens
        return draft.with_items(item for item in draft.items if item.group not in dropped)
