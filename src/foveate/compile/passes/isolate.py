"""Isolation: what is left of the tool traffic of finished turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from foveate.compile.draft import Draft, Group, PassContext, groups, tail_start
from foveate.compile.passes.fold import folded
from foveate.compile.passes.mask import mask_output


class Isolation:
    """A pass that decides what finished turns leave; a policy has one of them at most."""

    __slots__ = ()


class Boundary(Isolation):
    """Keep the outcome of a finished turn and a compact trace of how it came about."""

    name = "isolate"
    recipe_name: ClassVar[str] = "isolate.boundary@1"
    runs_on: ClassVar[str] = "reduction"

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return folded(draft, ctx, _finished(draft, ctx), by=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationMasking(Isolation):
    """Keep reasoning and actions of finished turns, mask outputs of more than `above` tokens."""

    above: int = 120
    name: str = "isolate"
    recipe_name: ClassVar[str] = "isolate.masking@1"
    runs_on: ClassVar[str] = "reduction"

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        large = {
            item.id
            for group in _finished(draft, ctx)
            if not ctx.must_keep(group)
            for item in group.items
            if item.message.result is not None
            and item.tokens > self.above
            and item.is_unreduced
            and item.message.meta.outcome in (None, "ok")
        }
        return draft.with_items(
            mask_output(item, ctx, by=self.name, why="output of a finished turn") if item.id in large else item
            for item in draft.items
        )


class Transparent(Isolation):
    """Keep all of it; only the budget can reduce it."""

    name = "isolate"
    recipe_name: ClassVar[str] = "isolate.transparent@1"
    runs_on: ClassVar[str] = "reduction"

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        return draft


def _finished(draft: Draft, ctx: PassContext) -> list[Group]:
    """The tool exchanges of turns that are over, before the protected tail."""
    start = tail_start(draft, ctx)
    return [
        group
        for group in groups(draft.items)
        if group.start < start and len(group.items) > 1 and group.head.message.meta.execution_id != ctx.running
    ]
