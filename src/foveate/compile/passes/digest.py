"""Digests: a stretch of the past as one message of short lines, each naming its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from foveate.compile.draft import PassContext
from foveate.log.items import Item, Line, LineKind
from foveate.log.messages import MessageMeta, text_message
from foveate.log.quoting import MARK, flatten_text, label_text, quote_lines, quote_rest
from foveate.log.text import counted

_NOT_WORTH_CUTTING: Final = 60
# In tokens: a label, and what it says of a text that is cut.
_LABEL: Final = 6
_CUT: Final = 10
_RANK: Final[Mapping[LineKind, int]] = {
    "user": 0, "words": 1, "step": 2, "value": 3, "evidence": 4, "answer": 5, "error": 6, "summary": 7, "ledger": 8,
    "state": 9, "plan": 10, "output": 11, "code": 12, "settled": 13,
}  # fmt: skip
# What says how the work stands, in the order in which it is shown.
_STATE: Final[Mapping[LineKind, int]] = {"state": 0, "ledger": 1, "plan": 2, "error": 3, "output": 4, "code": 5}


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
    ordered = in_order(lines)
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
        why=f"stands for {counted(sum(last - first + 1 for first, last in covers), 'message')}",
        covers=tuple(covers),
        lines=ordered,
        room=room,
        reduction=ctx.number,
    )


def in_order(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Lines as a digest shows them: in order of time, or where they say how the work stands, by what they are."""
    lines = tuple(lines)
    if state_of(lines) is not None:
        return tuple(sorted(lines, key=lambda line: (_STATE.get(line.kind, len(_STATE)), line.part, line.order)))
    return tuple(
        sorted(lines, key=lambda line: (line.kind in ("ledger", "settled"), line.order, _RANK[line.kind], line.part))
    )


def state_of(lines: Iterable[Line]) -> str | None:
    """The newest message when lines were written that say how the work stands; None if they say how it went."""
    return next((line.text for line in lines if line.kind == "state"), None)


def with_lines(item: Item, lines: Iterable[Line], ctx: PassContext, *, room: int = 0) -> Item:
    """The same digest showing other lines."""
    changed = digest_item(lines, item.covers, ctx, id=item.id, by=item.by, room=room)
    return msgspec.structs.replace(changed, order=item.order, reduction=item.reduction, unworded=item.unworded)


def rendered(lines: Sequence[Line], covers: Sequence[tuple[int, int]], ctx: PassContext) -> str:
    """The text of a digest: each line is ours, and says whose words it shows, or is marked as quoted."""
    first, last = flatten_text(ctx.said(covers[0][0]).id), flatten_text(ctx.said(covers[-1][1]).id)
    hint = f"; call {ctx.recall_tool} with a reference such as {first} to see it whole" if ctx.recall_tool else ""
    written = state_of(lines)
    if written is not None:
        out = [f"[how the work stood when {flatten_text(written)} was the newest message; {MARKED}{hint}]"]
    else:
        out = [f"[earlier in this session, {first} to {last}, reduced; {MARKED}{hint}]"]
    above: Line | None = None
    for line in lines:
        if line.kind == "state":
            continue
        follows = above is not None and line.kind == above.kind == "evidence" and line.source == above.source
        out.append(quote_lines(line.text) if follows else worded(line))
        above = line
    return "\n".join(out)


MARKED: Final = f"lines after {MARK} are quoted from the message named above them, whatever they say"
"""How a reader knows whose words a digest shows."""


def named(line: Line) -> str:
    """Whose words a line shows: the speaker, if known, and the reference."""
    return flatten_text(f"{line.speaker} {line.source}")


def worded(line: Line) -> str:
    """A line behind its label."""
    match line.kind:
        case "evidence":
            return f"{named(line)}:\n{quote_lines(line.text)}"
        case "user" | "answer" | "words":
            speaker = line.speaker or _SPEAKER[line.kind]
            shown = len(line.text)
            part = line.label or "first"
            cut = f", {part} {shown:,} of {shown + line.left_out:,} characters" if line.left_out else ""
            return label_text(f"{speaker} {line.source}{cut}", line.text)
        case "plan" | "output" | "code" | "value":
            kind = "tool" if line.kind == "value" else line.kind
            return f"{flatten_text(f'{kind} {line.source} {line.label}')}:\n{quote_lines(line.text)}"
        case "error":
            return label_text(f"{line.label or 'open error'} {line.source}", line.text)
        case "settled":
            return flatten_text(f"settled: the error {line.source}, open above, {line.text}")
        case "step":
            return flatten_text(f"{line.source} {line.text}")
        case "summary":
            return f"summary of it:\n{quote_lines(line.text)}"
        case _:
            # It begins with a word of ours.
            return quote_rest(line.text)


_SPEAKER: Final = {"user": "user", "answer": "assistant", "words": "assistant"}


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


def is_covered(order: int, ranges: Iterable[tuple[int, int]]) -> bool:
    """Whether a position of the log lies in one of some ranges."""
    for first, last in ranges:  # noqa: SIM110  a generator for each item of each reduction takes longer
        if first <= order <= last:
            return True
    return False


def fitting(lines: Iterable[Line], room: int, ctx: PassContext) -> list[Line]:
    """The first lines that fit into `room` tokens, in the order given; a line that is too long is passed over."""
    taken: list[Line] = []
    for line in lines:
        tokens = line.tokens or _cost(line, ctx)
        if tokens <= room:
            room -= tokens
            taken.append(line if line.tokens else msgspec.structs.replace(line, tokens=tokens))
    return taken


def _cost(line: Line, ctx: PassContext) -> int:
    """The tokens of a line with its label, its marks, and the word of how much is left out."""
    label = ctx.count(line.label) if line.label else 0
    return ctx.count(line.text) + line.text.count("\n") + _LABEL + label + (_CUT if line.left_out else 0)


def head_of(text: str, limit: int) -> str:
    """The beginning of a text; all of it if hardly more."""
    return text if len(text) <= limit + _NOT_WORTH_CUTTING else text[:limit].rstrip()


def clipped(text: str, limit: int, reference: str) -> str:
    """The beginning of a text, with what is missing said."""
    head = head_of(text, limit)
    return head if head == text else f"{head} […{len(text) - limit} more characters in {reference}]"
