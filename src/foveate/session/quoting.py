"""Quoting: somebody's words as a Markdown block quote that nothing in them can end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final


def quoted(text: str) -> str:
    """A text as a block quote, line by line."""
    return "\n".join(f"> {line}" if line else ">" for line in _without_tags(re.split(r"\r\n|\r|\n", text)))


def _without_tags(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a Markdown text with no tag in effect; code stays as it is where it is code for certain."""
    fence = ""
    # Off from a fence on that is indented or stands in a list: where it ends, only a whole Markdown parser knows.
    certain = True
    # Off from a backtick that has no partner in its line on, to the end of the paragraph: it may have one further down.
    paired = True
    for line in lines:
        opening = _OPENING.match(line) if certain else None
        if fence:
            if re.match(rf"\s*{fence[0]}{{{len(fence)},}}\s*$", line):
                certain = not line.rstrip(" \t").strip(fence[0])
                fence = ""
            yield line
        elif opening is not None:
            fence, paired = opening.group(1) or opening.group(2), True
            # Behind it may stand anything.
            yield _escaped(line)
        else:
            certain = certain and _INNER_FENCE.match(line) is None
            paired = paired if line.strip(" \t") else True
            # A bar may end a cell in the middle of a span, and who looks for partners in a giant line looks for long.
            trusted = certain and paired and "\\`" not in line and "|" not in line and len(line) < 2_000
            pieces = _SPAN.split(line) if trusted else [line]
            # Every third piece, from the first on, is no code.
            paired = paired and not any("`" in piece for piece in pieces[::3])
            yield "".join(_escaped(piece) if index % 3 == 0 else piece for index, piece in enumerate(pieces))


# With a bar in it, some parsers take it for the head of a table.
_OPENING: Final = re.compile(r"(`{3,})[^`|]*$|(~{3,})[^|]*$")
_INNER_FENCE: Final = re.compile(r"[\s>*+\-\d.)]*(?:```|~~~)")
_SPAN: Final = re.compile(r"(?<!`)(`+(?!`))(.*?(?<!`)\1(?!`))")
_TAG: Final = re.compile(r"(?<!\\)((?:\\\\)*)<(?=[A-Za-z/!?])")


def _escaped(text: str) -> str:
    return _TAG.sub(r"\1\\<", text) if "<" in text else text
