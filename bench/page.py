"""The page as HTML: one file with its plots inside, that needs neither network nor scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import takewhile
from typing import Final

from markdown_it import MarkdownIt

from bench.blocks import Block, Figure, Heading, Items, Paragraph, Row, Table, chapters, code
from bench.drawing import COLOURS, INK, RAISED, RULE, SOFT, WARNINGS

# On the page a drawing takes the page's colours, which follow the reader's choice of light or dark.
_THEMED: Final = {
    RAISED: "raised",
    INK: "ink",
    SOFT: "soft",
    RULE: "rule",
    COLOURS["foveate"]: "foveate",
    COLOURS["own"]: "own",
    **{colour: name for name, colour in WARNINGS.items()},
}
# A cell with more text than this is wrapped.
_LONG: Final = 40

_inline = MarkdownIt("commonmark", {"html": False})


def page(title: str, blocks: Sequence[Block], drawn: Mapping[str, str]) -> str:
    """The page; `drawn` has the SVG of each of its figures."""
    lede = list(takewhile(lambda block: isinstance(block, Paragraph), blocks))
    parts = {
        "title": escape(title),
        "style": _packaged("page.css"),
        "lede": "\n".join(_rendered(block, drawn) for block in lede),
        "contents": _list(f'<a href="#{one.anchor}">{escape(one.text)}</a>' for one in chapters(blocks)),
        "body": "\n".join(_rendered(block, drawn) for block in blocks[len(lede) :]),
    }
    # In one pass, so that nothing inside a part is taken for a place of another.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _packaged("page.html"))


def themed(svg: str) -> str:
    """A drawing in the colours of the page it stands on."""
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: _colour(found[0]), svg)


def _colour(found: str) -> str:
    return f"var(--{_THEMED[found]})" if found in _THEMED else found


def _packaged(name: str) -> str:
    return files("bench").joinpath(name).read_text(encoding="utf-8")


def _rendered(block: Block, drawn: Mapping[str, str]) -> str:
    match block:
        case Heading():
            return f'<h{block.level} id="{block.anchor}">{escape(block.text)}</h{block.level}>'
        case Paragraph():
            return f"<p>{_text(block.text)}</p>"
        case Items():
            items = _list(map(_text, block.items))
            return f"<details><summary>{_text(block.title)}</summary>{items}</details>" if block.title else items
        case Table():
            return _table(block)
        case Figure():
            return _figure(block, themed(drawn[block.name]))


def _text(markdown: str) -> str:
    return str(_inline.renderInline(markdown))


def _list(items: Iterable[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{item}</li>" for item in items) + "\n</ul>"


def _figure(figure: Figure, svg: str) -> str:
    alt = escape(figure.alt, quote=True)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)
    return (
        f'<figure>\n<div class="scroll drawing" tabindex="0" role="group" aria-label="{alt}">\n{svg}</div>\n'
        f"<figcaption>{_text(figure.caption)}</figcaption>\n{_from(figure.command)}</figure>"
    )


def _table(table: Table) -> str:
    head = "".join(
        f'<th scope="col"{" class=" + chr(34) + "word" + chr(34) if place < table.words else ""}>{_text(cell)}</th>'
        for place, cell in enumerate(table.head)
    )
    rows = "\n".join(_row(row, table.words) for row in table.rows)
    title = _text(table.title)
    # A table of sentences is read from beginning to end; one of numbers is looked up.
    kind = "scroll whole" if table.words == len(table.head) else "scroll"
    return (
        f'<div class="numbers">\n<h4>{title}</h4>\n'
        f'<div class="{kind}" tabindex="0" role="group" aria-label="{escape(table.title, quote=True)}">\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>\n{_from(table.command)}</div>"
    )


def _row(row: Row, words: int) -> str:
    cells = "".join(_cell(cell, place, words) for place, cell in enumerate(row.cells))
    return f'<tr class="{row.mark}">{cells}</tr>' if row.mark else f"<tr>{cells}</tr>"


def _cell(cell: str, place: int, words: int) -> str:
    classes = [*(["word"] if place < words else []), *(["long"] if len(cell) > _LONG else [])]
    marked = f' class="{" ".join(classes)}"' if classes else ""
    if place == 0:
        return f'<th scope="row"{marked}>{_text(cell)}</th>'
    return f"<td{marked}>{_text(cell)}</td>"


def _from(command: str) -> str:
    return f'<p class="from">From: {_text(code(command))}</p>\n' if command else ""
