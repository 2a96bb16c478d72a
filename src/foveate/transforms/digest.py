"""Digests: a stretch of the past as one message of short lines, each naming its source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from foveate.log.items import Item, Line
from foveate.log.messages import MessageMeta, text_message
from foveate.views.draft import PassContext

_NOT_WORTH_CUTTING: Final = 60
_RANK: Final = {"user": 0, "step": 1, "evidence": 2, "answer": 3, "error": 4, "summary": 5, "ledger": 6}


def digest_item(
    lines: Iterable[Line],
    covers: Sequence[tuple[int, int]],
    ctx: PassContext,
    *,
    id: str,
    by: str,
    room: int = 0,
) -> Item:
    """The item that stands for the messages in `covers`, showing `lines` in time order."""
    ordered = tuple(sorted(lines, key=lambda line: (line.kind == "ledger", line.order, _RANK[line.kind], line.part)))
    covers = merged(covers)
    text = rendered(ordered, covers, ctx)
    meta = MessageMeta(origin="summary", kind="summary", scope="historical", compacted=True)
    message = text_message(id, "user", text, meta)
    return Item(
        id=id,
        message=message,
        tokens=ctx.count_message(message),
        order=covers[0][0],
        group=id,
        fate="folded",
        by=by,
        why=f"stands for {sum(last - first + 1 for first, last in covers)} messages",
        covers=tuple(covers),
        lines=ordered,
        room=room,
    )


def with_lines(item: Item, lines: Iterable[Line], ctx: PassContext, *, room: int = 0) -> Item:
    """The same digest showing other lines."""
    changed = digest_item(lines, item.covers, ctx, id=item.id, by=item.by, room=room)
    return msgspec.structs.replace(changed, order=item.order)


def rendered(lines: Sequence[Line], covers: Sequence[tuple[int, int]], ctx: PassContext) -> str:
    """The text of a digest."""
    first, last = ctx.said(covers[0][0]).id, ctx.said(covers[-1][1]).id
    hint = f"; call {ctx.recall_tool} with a reference such as {first} to see it whole" if ctx.recall_tool else ""
    out = [f"[earlier in this session, {first} to {last}, reduced; lines below a reference are quoted from it{hint}]"]
    source = ""
    for line in lines:
        match line.kind:
            case "evidence":
                # Quoted lines stand alone, with no mark of ours in front, so that they can be copied and searched for.
                if line.source != source:
                    out.append(f"{line.source}:")
                out.append(line.text)
            case "user":
                out.append(f"user {line.source}: {line.text}")
            case "answer":
                out.append(f"assistant {line.source}: {line.text}")
            case "error":
                out.append(f"open error {line.source}: {line.text}")
            case "step":
                out.append(f"{line.source} {line.text}")
            case _:
                out.append(line.text)
        source = line.source
    return "\n".join(out)


def merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, neighbours joined.

    >>> merged([(4, 6), (0, 1), (2, 3)])
    [(0, 6)]
    """
    result: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], last))
        else:
            result.append((first, last))
    return result


def fitting(lines: Iterable[Line], room: int, ctx: PassContext) -> list[Line]:
    """The first lines that fit into `room` tokens, in the order given; a line that is too long is passed over."""
    taken: list[Line] = []
    for line in lines:
        tokens = line.tokens or ctx.count(line.text) + 6
        if tokens <= room:
            room -= tokens
            taken.append(line if line.tokens else msgspec.structs.replace(line, tokens=tokens))
    return taken


def clipped(text: str, limit: int, reference: str) -> str:
    """The beginning of a text, with what is missing said."""
    if len(text) <= limit + _NOT_WORTH_CUTTING:
        return text
    return f"{text[:limit].rstrip()} […{len(text) - limit} more characters in {reference}]"
