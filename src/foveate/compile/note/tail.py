"""The tail: the newest messages as they were said, but for outputs too large, of which the parts in use stay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from foveate.compile.draft import Group, PassContext
from foveate.compile.note.blocks import blocks_of, choose_blocks, joined, value_blocks
from foveate.compile.note.interest import Interest
from foveate.compile.passes.mask import mask_output
from foveate.compile.passes.placeholders import NOTE, with_result
from foveate.log.items import Item
from foveate.log.quoting import escape_lines, flatten_text

_ENDS: Final = 1.0
_ANYWHERE: Final = 0.01
_LONG_LINE: Final = 4_000
_FEW_LINES: Final = 8
# In tokens: the notes of what is left out.
_NOTES: Final = 20


def tail_from(found: Sequence[Group], wanted: int, cap: int, large: int, ctx: PassContext) -> int:
    """The number of the first group that stays: at least the newest, then as many as are wanted, below the cap."""
    start, tokens = len(found), 0
    for index in range(len(found) - 1, -1, -1):
        group = found[index]
        if group.head.is_digest:
            break
        size = size_in_tail(group, large)
        enough = tokens >= wanted or tokens + size > cap
        if tokens and enough and group.head.anchor != ctx.newest_input:
            break
        start, tokens = index, tokens + size
    return start


def size_in_tail(group: Group, large: int) -> int:
    """The tokens of a group whose outputs are cut to what a large one may take."""
    return sum(min(item.tokens, large) if item.message.role == "tool" else item.tokens for item in group.items)


def level(group: Group, room: int) -> int:
    """The tokens that each output of an exchange may take, so that all of them have `room`."""
    sizes = sorted(item.tokens for item in group.items if item.message.role == "tool")
    for at, size in enumerate(sizes):
        share = room // (len(sizes) - at)
        if size > share:
            return share
        room -= size
    return max([*sizes, room])


def shortened(item: Item, most: int, interest: Interest, ctx: PassContext) -> Item:
    """A tool result with the parts of it that are in use, in `most` tokens; one that is hardly longer stays whole."""
    if item.message.result is None or item.tokens <= most * 5 // 4 or not item.is_unreduced or ctx.must_keep_item(item):
        return item
    text = ctx.said(item.order).text
    lines = text.split("\n")
    if max(map(len, lines)) > _LONG_LINE or len(lines) < _FEW_LINES:
        return mask_output(item, ctx, by="note", why="large output", chars=most * 3 // 2, lines=200)
    valued = value_blocks(
        blocks_of(lines, most),
        interest,
        factor=lambda _: 1.0,
        bonus=lambda block: _ENDS if block.first == 0 or block.end == len(lines) else _ANYWHERE,
    )
    chosen = joined(choose_blocks(valued, interest, most - _NOTES, ctx.count))
    shown = "\n".join(_with_notes(lines, [(one.first, one.end) for one in chosen], item, ctx))
    return with_result(item, shown, ctx, fate="masked", by="note", why="large output; the parts in use stay")


def _with_notes(lines: Sequence[str], kept: Sequence[tuple[int, int]], item: Item, ctx: PassContext) -> Iterator[str]:
    """The lines that stay, with a note of ours where others are left out; no line of the output can pass for one."""
    hint = f"; {ctx.recall_tool} restores it" if ctx.recall_tool else ""
    at = 0
    for first, end in (*kept, (len(lines), len(lines))):
        if first > at:
            where = f"lines {at + 1} to {first} of {len(lines)} left out"
            yield f"{NOTE} {where}; reference {flatten_text(item.id)}{hint} …]"
        if end > first:
            yield escape_lines("\n".join(lines[first:end]), NOTE)
        at = end
