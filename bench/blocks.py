"""Blocks: what a page is made of, and the page as Markdown.

Texts are Markdown of one line. What comes from elsewhere (a peer's error, a call) goes through `literal` or `code`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

NOTHING: Final = "–"

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MARKUP = re.compile(r"[\\`*_\[\]]")
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "~": "&#126;"}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 2 or 3; its text is unique on the page, so that it can be linked to."""

    text: str
    level: int = 2

    @property
    def anchor(self) -> str:
        """The name that Markdown viewers give it."""
        return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", self.text.lower()))


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list; one with a title is closed on the HTML page until somebody opens it."""

    items: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; `mark` says which family an arm is of."""

    cells: tuple[str, ...]
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with a title and the command that makes its numbers; the first `words` columns are text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    command: str
    words: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A plot: a file of this name in `figures`."""

    name: str
    alt: str
    caption: str
    command: str


Block = Heading | Paragraph | Items | Table | Figure


def literal(text: str) -> str:
    """Text of any origin, so that it is shown as it is."""
    flat = " ".join(_CONTROL.sub("", text).split())
    flat = _MARKUP.sub(r"\\\g<0>", flat)
    flat = re.sub(r"[&<>~]", lambda found: _ENTITIES[found[0]], flat)
    # What would begin a heading, a rule or a list.
    return re.sub(r"^(?:(?=[#+=-])|(\d+)(?=[.)](?: |$)))", r"\1\\", flat)


def code(text: str) -> str:
    """Text of any origin as code."""
    flat = " ".join(_CONTROL.sub("", text).split())
    longest = max(map(len, re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{flat}{pad}{fence}" if flat else ""


def number(value: float | None, digits: int = 2) -> str:
    """A number with so many digits behind the point; None and what is no number are a dash."""
    # Only NaN differs from itself.
    return NOTHING if value is None or value != value else f"{value:,.{digits}f}"  # noqa: PLR0124


def milliseconds(value: float | None) -> str:
    """Milliseconds with the digits that mean something."""
    return number(value, 2 if value is not None and value < 1 else 1 if value is not None and value < 100 else 0)


def prose(name: str) -> tuple[str, ...]:
    """The items of a list that lies beside the code, in Markdown with one item a line."""
    text = files("bench").joinpath(name).read_text(encoding="utf-8")
    return tuple(line.removeprefix("- ") for line in text.splitlines() if line)


def markdown(title: str, blocks: Sequence[Block]) -> str:
    """The page as Markdown, with its plots beside it in `figures`."""
    contents = "\n".join(f"- [{literal(one.text)}](#{one.anchor})" for one in chapters(blocks))
    first = next((place for place, one in enumerate(blocks) if isinstance(one, Heading)), len(blocks))
    parts = [f"# {title}", *map(_rendered, blocks[:first]), contents, *map(_rendered, blocks[first:])]
    return "\n\n".join(filter(None, parts)) + "\n"


def chapters(blocks: Iterable[Block]) -> list[Heading]:
    """The headings for the table of contents."""
    return [block for block in blocks if isinstance(block, Heading) and block.level == 2]


def listed(names: Iterable[str], most: int = 4) -> str:
    """Some names in a row, the rest of them as a number."""
    every = list(names)
    shown = ", ".join(every[:most])
    return f"{shown} and {len(every) - most} more" if len(every) > most else shown


def rows_of(head: Sequence[str], rows: Iterable[Row], *, words: int) -> str:
    """A table in Markdown; the first `words` columns are text."""
    rule = [":--" if place < words else "--:" for place in range(len(head))]
    lines = [head, rule, *(row.cells for row in rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _rendered(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {literal(block.text)}"
        case Paragraph():
            return block.text
        case Items():
            title = f"{block.title}:\n\n" if block.title else ""
            return title + "\n".join(f"- {item}" for item in block.items)
        case Table():
            return (
                f"**{block.title}**\n\n{rows_of(block.head, block.rows, words=block.words)}\n\n{_from(block.command)}"
            )
        case Figure():
            alt = block.alt.replace("[", "(").replace("]", ")")
            return f"![{alt}](figures/{block.name}.svg)\n\n*{block.caption}*\n\n{_from(block.command)}"


def _from(command: str) -> str:
    return f"From: {code(command)}" if command else ""
