"""Blocks: a long text in stretches of a few lines, and those of them that are worth their tokens."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from foveate.compile.note.interest import Interest

_LEAST: Final = 6
_MOST: Final = 24
# In tokens: the room from which on a block may be a line longer.
_OF_ROOM: Final = 20
_BEGINS: Final = re.compile(
    r"\s{0,12}(?:(?:export|public|private|protected|static|async|default|pub|unsafe|abstract|final)\s){0,4}"
    r"(?:def|class|func|fn|function|interface|type|struct|impl|enum|trait|module|describe|it|test|@\w|diff --git|@@|"
    r"#{1,4} )"
)
_EVERYWHERE: Final = 0.25
# Of what a block is worth for what stands beside it; of the best one, what another must be worth to be shown.
_NEAR: Final = 0.4
_LEAST_WORTH: Final = 0.03
# Of the room: when so much of a text is shown, its other blocks are worth half.
_FAIR: Final = 0.4
# A longer block is worth less for its size, but not in proportion: stretches read better than scraps.
_DENSITY: Final = 0.6
_MISSES: Final = 60
# In characters: a token, and what the mark and the end of a line take.
_TOKEN: Final = 3.4
_LINE: Final = 4


@dataclass(frozen=True, slots=True)
class Block:
    """Lines `first` to `end` of a text; `text` is which one of several."""

    text: int
    first: int
    end: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Valued:
    """A block with the names of interest in it, and what it is worth besides; `size` are its characters."""

    block: Block
    names: set[str]
    factor: float
    bonus: float
    size: int


def blocks_of(lines: Sequence[str], room: int, text: int = 0) -> list[Block]:
    """The stretches of a text: they begin where something is defined, or behind an empty line.

    In less room they are shorter, or none of them would fit.
    """
    most = max(_LEAST, min(_MOST, room // _OF_ROOM))
    found: list[Block] = []
    first = 0
    for index in range(1, len(lines) + 1):
        size = index - first
        if index == len(lines) or size >= most or (size >= _LEAST and _divides(lines, index)):
            found.append(Block(text, first, index, tuple(lines[first:index])))
            first = index
    return found


def _divides(lines: Sequence[str], index: int) -> bool:
    return not lines[index - 1].strip() or _BEGINS.match(lines[index]) is not None


def value_blocks(
    blocks: Iterable[Block],
    interest: Interest,
    *,
    factor: Callable[[Block], float],
    bonus: Callable[[Block], float],
) -> list[Valued]:
    """Each block with the names of interest in it."""
    return [
        Valued(
            block=one,
            names=interest.names_in("\n".join(one.lines)),
            factor=factor(one),
            bonus=bonus(one),
            size=sum(len(line) + _LINE for line in one.lines),
        )
        for one in blocks
    ]


def choose_blocks(
    valued: Sequence[Valued], interest: Interest, room: int, count: Callable[[str], int], *, around: int = 12
) -> list[Block]:
    """The blocks that say most of what is of interest in `room` tokens; `around` is what a label takes."""
    density = [worth / math.pow(one.size / _TOKEN + around, _DENSITY) for one, worth in _worths(valued, interest)]
    waiting = [(-value, at) for at, value in enumerate(density) if value > 0]
    heapq.heapify(waiting)
    least = _LEAST_WORTH * -waiting[0][0] if waiting else 0.0
    fair = max(1.0, _FAIR * room)
    taken = Counter[int]()
    chosen: set[int] = set()
    misses = 0
    while waiting and misses <= _MISSES:
        value, index = heapq.heappop(waiting)
        block = valued[index].block
        # A text of which much is shown already is worth less than one that nothing is known of.
        now = density[index] / (1.0 + taken[block.text] / fair)
        if now < least:
            continue
        if waiting and now < -waiting[0][0] and now < -value:
            heapq.heappush(waiting, (-now, index))
            continue
        beside = any(at in chosen and _adjoin(valued, index, at) for at in (index - 1, index + 1))
        cost = count("\n".join(block.lines)) + len(block.lines) + (0 if beside else around)
        if cost <= room:
            room -= cost
            chosen.add(index)
            taken[block.text] += cost
        else:
            misses += 1
    return [valued[index].block for index in sorted(chosen)]


def _worths(valued: Sequence[Valued], interest: Interest) -> list[tuple[Valued, float]]:
    """What each block is worth; what stands beside one that is of interest is more so than what stands alone."""
    spread = Counter(name for one in valued for name in one.names)
    weight = {name: interest.weights[name] / (1.0 + _EVERYWHERE * (number - 1)) for name, number in spread.items()}
    own = [one.factor * (one.bonus + sum(weight[name] for name in sorted(one.names))) for one in valued]
    found: list[tuple[Valued, float]] = []
    for index, one in enumerate(valued):
        near = [own[at] for at in (index - 1, index + 1) if 0 <= at < len(own) and _adjoin(valued, index, at)]
        found.append((one, own[index] + _NEAR * max(near, default=0.0)))
    return found


def _adjoin(valued: Sequence[Valued], one: int, other: int) -> bool:
    first, second = valued[min(one, other)].block, valued[max(one, other)].block
    return first.text == second.text and first.end == second.first


def joined(blocks: Iterable[Block]) -> list[Block]:
    """Blocks of a text that adjoin, as one."""
    found: list[Block] = []
    for one in blocks:
        last = found[-1] if found else None
        if last is not None and last.text == one.text and last.end == one.first:
            found[-1] = Block(one.text, last.first, one.end, last.lines + one.lines)
        else:
            found.append(one)
    return found
