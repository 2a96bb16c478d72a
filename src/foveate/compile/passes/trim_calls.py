"""Trim calls: large arguments of old calls, such as a written file, become pointers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from foveate.compile.draft import Draft, PassContext, groups, tail_start
from foveate.compile.passes.placeholders import with_short_calls


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimCalls:
    """Cut argument values of more than `longest` characters in calls before the protected tail."""

    longest: int = 400
    name: str = "trim_calls"
    recipe_name: ClassVar[str] = "trim_calls@1"
    runs_on: ClassVar[str] = "reduction"

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        start = tail_start(draft, ctx)
        old = {
            group.head.id
            for group in groups(draft.items)
            if group.start < start and group.head.message.calls and not ctx.must_keep(group)
        }
        return draft.with_items(
            with_short_calls(item, ctx, by=self.name, longest=self.longest) if item.id in old else item
            for item in draft.items
        )
