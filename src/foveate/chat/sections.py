"""Sections: a Markdown text cut at its headings, and the blocks that are fenced off in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*+((?:[^`]*[^` \t])?)[ \t]*+")
_LONE_TAG: Final = re.compile(r"[ \t]*\{%.*%\}[ \t]*")
_HEADING: Final = re.compile(r" {0,3}#{1,2}[ \t]+(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: its label, its text, and its lines with the fences, counted from 0, the end not included."""

    label: str
    text: str
    first: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading of the first or second level and the lines it stands over; what stands before any has no heading.

    A section begins with the tags such as `{% if plan %}` that stand before its heading; `body` is the line after it.
    """

    heading: str
    first: int
    body: int
    end: int


def blocks_in(lines: Sequence[str]) -> list[Block]:
    """The fenced blocks of a text; one that is never closed goes on to the end."""
    found: list[Block] = []
    start, fence, label = -1, "", ""
    for place, line in enumerate(lines):
        marked = _FENCE.fullmatch(line)
        if start < 0 and marked is not None:
            start, fence, label = place, marked.group(1), marked.group(2)
        elif marked is not None and not marked.group(2) and marked.group(1).startswith(fence):
            found.append(_block(lines, label, start, place + 1, place))
            start = -1
    if start >= 0:
        found.append(_block(lines, label, start, len(lines), len(lines)))
    return found


def sections_in(lines: Sequence[str]) -> list[Section]:
    """The sections of a text in order; a heading in a fenced block is none."""
    headings = list(_headings(lines))
    firsts = [0, *(_first(lines, place) for place, _ in headings)]
    bodies = [(0, ""), *((place + 1, heading) for place, heading in headings)]
    return [
        Section(heading=heading, first=first, body=body, end=end)
        for first, (body, heading), end in zip(firsts, bodies, [*firsts[1:], len(lines)], strict=True)
    ]


def _block(lines: Sequence[str], label: str, first: int, end: int, text_end: int) -> Block:
    return Block(label=label.lower(), text="\n".join(lines[first + 1 : text_end]), first=first, end=end)


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    fenced = {place for block in blocks_in(lines) for place in range(block.first, block.end)}
    for place, line in enumerate(lines):
        found = _HEADING.fullmatch(line) if line[:5].lstrip(" ").startswith("#") and place not in fenced else None
        if found is not None:
            yield place, found.group(1).rstrip(" \t").rstrip("#").strip(" \t")


def _first(lines: Sequence[str], heading: int) -> int:
    first = heading
    for place in range(heading - 1, -1, -1):
        if _LONE_TAG.fullmatch(lines[place]):
            first = place
        elif lines[place].strip():
            break
    return first
