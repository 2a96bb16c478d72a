"""Sections: named pieces of text beside the history."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from foveate.log.quoting import flatten_text, mark_lines

CacheTier = Literal["instructions", "stable", "volatile"]


class ContextSection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A named piece of text beside the history.

    One of instructions ends the system prompt, a stable one stands right after it, a volatile one after the history.
    """

    name: str
    content: str
    source: str | None = None
    tier: CacheTier = "volatile"


_HEADING: Final = re.compile("##(?!#)")
_FENCE: Final = re.compile(r"(`{3,})[\w+.#-]*")
# A line after which readers of Markdown may not agree where the next fence begins: a fence in a list, HTML.
_MAY_OPEN_BLOCK: Final = re.compile(r".*(?:```|~~~)| {0,3}<")


def contain_section(section: ContextSection) -> ContextSection:
    """A section that cannot go on as another one: its name is one line, and no line of it is a heading of a section.

    Headings of parts stay as they are, and so do instructions, which have no heading, and fenced text, of which code
    and diffs are copied from, where no reader can doubt that it is. What is recorded with a call is what was sent, so
    this is for what a caller gives, never for what is read from a record.
    """
    if section.tier == "instructions":
        return section
    lines = section.content.splitlines(keepends=True)
    end = _end_of_clear_fences(lines, fenced := set[int]())
    content = "".join(
        line if index < end and index in fenced else mark_lines(line, _HEADING) for index, line in enumerate(lines)
    )
    return msgspec.structs.replace(section, name=flatten_text(section.name), content=content)


def _end_of_clear_fences(lines: Sequence[str], fenced: set[int]) -> int:
    """Note the lines inside of fences; returns the first line from which on it is not clear what is fenced."""
    fence, opened = "", 0
    for index, line in enumerate(lines):
        shown = line.rstrip(" \t\r\n")
        if not fence:
            opening = _FENCE.fullmatch(shown)
            if opening is None and _MAY_OPEN_BLOCK.match(shown):
                return index
            fence, opened = (opening[1], index) if opening is not None else ("", 0)
        elif shown == fence:
            fenced.update(range(opened + 1, index))
            fence = ""
        elif fence in shown:
            # Some readers take it for the end.
            return opened
    # A fence that nothing closes keeps nothing in.
    return opened if fence else len(lines)
