"""Quotes: the parts of code and outputs that the agent's latest words and actions name, if they are out of view."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from foveate.compile.draft import PassContext
from foveate.compile.facts.code_view import CodeView, Piece
from foveate.compile.facts.known_files import Doubt
from foveate.compile.note.blocks import Block, blocks_of, choose_blocks, joined, value_blocks
from foveate.compile.note.interest import Interest
from foveate.compile.note.recent import Output, Work
from foveate.log.items import Item, Line
from foveate.log.semantics import argument_texts

_FILES: Final = 16
_MOST_LINES: Final = 4_000
# Fewer lines of a file that nobody wrote are what a search showed.
_STRETCH: Final = 4
_SHORT_ANSWER: Final = 600
_LEAST_LINES: Final = 3
_LEAST_ROOM: Final = 40
_MOSTLY: Final = 0.6
# In messages: after so many, what was read or printed counts half.
_CODE_FADE: Final = 16.0
_FADE: Final = 24.0
_RECENT: Final = 1.5
_ANY: Final = 0.2
_MOST_IN_USE: Final = 2.0
_UNPLACED: Final = 0.6
# Stale text misleads more than none.
_TRUST: Final[Mapping[Doubt, float]] = {"none": 1.0, "user": 0.5, "patch": 0.8, "command": 0.5}
_STANDING: Final[Mapping[Doubt, str]] = {
    "none": "current",
    "user": "as read, may have changed since",
    "patch": "as patched, may stand elsewhere",
    "command": "as read, may have changed since",
}
_NAMED_PLACE: Final = 2.0
_BEGINNING: Final = 0.3
_ANYWHERE: Final = 0.05
_IMPORT: Final = re.compile(
    r"\s{0,8}(?:import\b|from \S{1,200} import\b|package \w|use \w|using \w|#include|require\b|"
    r"\w{0,20} ?\"[\w./@-]{1,200}\"$|\(?\)?;?$)"
)
_NUMBERED: Final = re.compile(r"\s{0,12}\d{1,7}(?:→|\t| \| |: ?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A text that may be quoted; `order` is where it was last seen, `weight` what its blocks count."""

    lines: Sequence[str]
    order: int
    weight: float
    source: str
    label: str
    start: int | None = None
    near: frozenset[int] = frozenset()
    # Of code; an output has none.
    path: str = ""


def quoted_lines(shown: Sequence[Item], work: Work, interest: Interest, room: int, ctx: PassContext) -> list[Line]:
    """Code and outputs, as far as they are in use and not in `shown`, in `room` tokens."""
    if room < _LEAST_ROOM:
        return []
    sources = [*_code_sources(work.code, interest, ctx), *_output_sources(work, shown, ctx)]
    visible = _visible_lines(shown)
    blocks = [
        block
        for number, one in enumerate(sources)
        for block in blocks_of(one.lines[:_MOST_LINES], room, number)
        if _is_worth_a_label(block) and not _is_visible(block, visible)
    ]
    valued = value_blocks(
        blocks,
        interest,
        factor=lambda block: _factor(sources[block.text], block),
        bonus=lambda block: _bonus(sources[block.text], block),
    )
    chosen = joined(choose_blocks(valued, interest, room, ctx.count))
    return [_line(sources[block.text], block, part) for part, block in enumerate(chosen)]


def _code_sources(code: CodeView, interest: Interest, ctx: PassContext) -> list[_Source]:
    """The pieces of the files most in use."""
    recency = {path: at for at, path in enumerate(dict.fromkeys(piece.path for piece in code.pieces))}
    ranked = sorted(recency, key=lambda path: (interest.in_file(path), recency[path]), reverse=True)
    in_use = set(ranked[:_FILES])
    written = {change.path for change in code.changes}
    return [
        _code_source(piece, interest, ctx)
        for piece in code.pieces
        if piece.path in in_use and (len(piece.lines) >= _STRETCH or piece.whole or piece.path in written)
    ]


def _code_source(piece: Piece, interest: Interest, ctx: PassContext) -> _Source:
    source = piece.sources[-1]
    order = ctx.timeline.position(source) or 0
    recency = math.exp2((order - ctx.timeline.message_count) / _CODE_FADE)
    in_use = _ANY + min(_MOST_IN_USE, interest.in_file(piece.path)) + _RECENT * recency
    placed = 1.0 if piece.start is not None else _UNPLACED
    near = interest.places.get(piece.path.rpartition("/")[2], frozenset())
    return _Source(
        lines=piece.lines,
        order=order,
        weight=_TRUST[piece.doubt] * placed * in_use,
        source=source,
        path=piece.path,
        label=_STANDING[piece.doubt],
        start=piece.start,
        near=near,
    )


def _output_sources(work: Work, shown: Sequence[Item], ctx: PassContext) -> list[_Source]:
    """What calls printed that is not in view, without the lines that say nothing."""
    in_view = {item.order for item in shown if not item.is_digest}
    # A short answer stands in the story, where it was given.
    in_view |= {one.order for one in work.answers if one.source == "outside" and one.size <= _SHORT_ANSWER}
    return [
        _Source(
            lines=one.lines,
            order=one.order,
            weight=_weight_of(one) * math.exp2((one.order - ctx.timeline.message_count) / _FADE),
            source=one.message.id,
            label=f"of {one.what}",
        )
        for one in work.outputs
        if one.order not in in_view
    ]


def _weight_of(one: Output) -> float:
    if one.failed:
        return 1.2
    return 0.5 if one.kind in ("looked", "searched") else 0.8


def _factor(one: _Source, block: Block) -> float:
    if not one.path:
        return one.weight
    imports = sum(_IMPORT.match(line) is not None for line in block.lines)
    return 0.0 if imports > len(block.lines) // 2 else one.weight


def _bonus(one: _Source, block: Block) -> float:
    if not one.path:
        return _BEGINNING if block.first == 0 else _ANYWHERE
    start = one.start
    named = start is not None and any(block.first <= line - start < block.end for line in one.near)
    return _NAMED_PLACE if named else _ANYWHERE


def _line(one: _Source, block: Block, part: int) -> Line:
    text = "\n".join(block.lines).strip("\n")
    if not one.path:
        return Line(kind="output", text=text, source=one.source, order=one.order, part=part, label=one.label)
    lines = f" lines {one.start + block.first}-{one.start + block.end - 1}" if one.start is not None else ""
    label = f"{one.path}{lines}, {one.label}"
    return Line(kind="code", text=text, source=one.source, order=one.order, part=part, label=label)


def _visible_lines(shown: Sequence[Item]) -> set[str]:
    found: set[str] = set()
    for item in shown:
        if not item.is_digest:
            texts = (item.message.text, *(argument_texts(call.arguments) for call in item.message.calls))
            found.update(_bare(line) for text in texts for line in text.split("\n"))
    return found


def _is_visible(block: Block, visible: set[str]) -> bool:
    """Whether most lines of a block are shown; no further line is looked at once too many are not."""
    hits = misses = 0
    for line in block.lines:
        bare = _bare(line)
        if len(bare) > _LEAST_LINES:
            hits, misses = (hits + 1, misses) if bare in visible else (hits, misses + 1)
            if misses > (1 - _MOSTLY) * len(block.lines):
                return False
    return hits > _MOSTLY * (hits + misses)


def _is_worth_a_label(block: Block) -> bool:
    """Whether a block has lines that say something, brackets apart."""
    return sum(len(line.strip()) > 1 for line in block.lines) >= _LEAST_LINES


def _bare(line: str) -> str:
    text = line.lstrip()
    return " ".join((_NUMBERED.sub("", text, count=1) if text[:1].isdigit() else text).split())
