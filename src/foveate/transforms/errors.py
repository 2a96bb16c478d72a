"""Open errors: whatever passes took away, each gets its line back."""

from __future__ import annotations

from typing import ClassVar, Final

from foveate.log.items import Line
from foveate.log.quoting import quote_attempt
from foveate.transforms.digest import digest_item
from foveate.views.draft import Draft, PassContext
from foveate.views.ledger import Failure

_LINE: Final = 60


class ShowErrors:
    """Give each open error that lost its place one line, newest first, as far as there is room."""

    name = "show_errors"
    recipe_name: ClassVar[str] = "show_errors@1"
    runs_on: ClassVar[str] = "reduction"

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        """Whether an open error is not shown."""
        return bool(_lost(draft, ctx))

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
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
            digest = digest_item(lines, covers, ctx, id=f"r{ctx.number}.errors", by=self.name)
            if draft.tokens + digest.tokens <= ctx.limit:
                # Before the newest input: behind it, nothing may stand but its own turn.
                leading = sum(item.order < ctx.timeline.leading for item in draft.items)
                position = next((i for i, item in enumerate(draft.items) if item.id == ctx.newest_input), leading)
                return draft.with_items((*draft.items[:position], digest, *draft.items[position:]))
            lines.pop()
        return draft


def _lost(draft: Draft, ctx: PassContext) -> list[Failure]:
    shown = {item.id for item in draft.items} | {line.source for item in draft.items for line in item.lines}
    return [one for one in ctx.ledger.open_errors.values() if one.message_id not in shown]


def _short(text: str, ctx: PassContext) -> str:
    """The beginning of a text, by tokens: in some scripts a character takes several."""
    text = text[:200]
    while ctx.count(text) > _LINE:
        text = text[: len(text) // 2]
    return text
