"""Cap: a tool output that is larger than one may be is shown by its beginning and end, from its first call on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

import msgspec

from foveate.compile.draft import Draft, PassContext
from foveate.compile.ledger import error_line
from foveate.compile.passes.mask import mask_output
from foveate.compile.passes.placeholders import NOTE, with_result
from foveate.log.items import Item
from foveate.log.messages import Message
from foveate.log.quoting import escape_lines
from foveate.recall.tool import is_answer

# For the note that stands for what is left out; an output that is hardly larger than the cap is not worth one.
_NOTE: Final = 60


class Cap:
    """Cap outputs that no request has shown yet: what was sent is left alone, so the cached prefix stays as it is."""

    name = "cap"
    recipe_name: ClassVar[str] = "cap@1"
    runs_on: ClassVar[str] = "request"
    # What was sent whole stays so.
    reaches_back: ClassVar[bool] = False

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
        and item.is_whole
        and _may_be_cut(item.message, ctx)
        and not ctx.must_keep_item(item)
    )


def _may_be_cut(message: Message, ctx: PassContext) -> bool:
    """Whether a message is an output that its reader can get back: an image cannot be, nor half of what was recalled.

    An answer of the recall tool that is cut would say that recalling restores it, and so would the next one.
    """
    result = message.result
    return result is not None and not result.media and not _is_recalled(message, ctx.recall_tool)


def _is_recalled(message: Message, recall_tool: str | None) -> bool:
    """Whether a result is what the recall tool answered, or the command that stands in for it."""
    if message.result is not None and is_answer(message.result.text):
        return True
    if recall_tool is None or not recall_tool.startswith("`"):
        return recall_tool is not None and message.meta.tool_name == recall_tool
    # What a call of a shell tries is known by the program and its subcommand.
    program = " ".join(recall_tool.strip("`").split()[:2])
    return f" {program}" in (message.meta.attempt or "")


def _capped(item: Item, ctx: PassContext) -> Item:
    text, cap = ctx.said(item.order).text, ctx.part(ctx.shares.output)
    # As many characters as the cap has tokens for, half of them from either end.
    half = len(text) * cap // item.tokens // 2
    capped = _cut(item, ctx, half)
    while half and capped.tokens > cap + _NOTE:
        # The ends take more tokens than the rest of the text: another script, or numbers around prose.
        half = half * cap // capped.tokens
        capped = _cut(item, ctx, half)
    shown = capped.message.result
    line = error_line(text) if item.message.meta.outcome not in (None, "ok") else ""
    if not line or shown is None or line in shown.text:
        return capped
    # What went wrong is said in the middle, which is left out.
    said = f"{shown.text}\n{escape_lines(line, NOTE)}"
    told = with_result(item, said, ctx, fate=capped.fate, by=capped.by, why=capped.why)
    return told if told is item else msgspec.structs.replace(told, capped=True)


def _cut(item: Item, ctx: PassContext, half: int) -> Item:
    cut = mask_output(item, ctx, by=Cap.name, why="larger than one output may be", chars=half, lines=half)
    return cut if cut is item else msgspec.structs.replace(cut, capped=True)
