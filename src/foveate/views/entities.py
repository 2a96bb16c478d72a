"""Entities: the paths, identifiers and hashes in a text, by which actions and evidence are matched."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[A-Za-z0-9_~.][\w./@-]{2,}\w")
# A word is an entity if something in it is not plain prose: a separator, a digit, an inner capital.
_MARKED: Final = re.compile(r"[A-Za-z0-9][_/.\d-]\w|\d|[a-z][A-Z]|[A-Z]{2}[a-z]|^[_~./]")
_NUMBER: Final = re.compile(r"[\d.,:/-]+$")
_HYPHENATED_PROSE: Final = re.compile(r"[A-Za-z]+(?:-[a-z]+)+$")


def entities(text: str) -> list[str]:
    """The entities of a text in order, with repetitions.

    >>> entities("open src/app.py and fix parse_order for ORD-20931, then rest")
    ['src/app.py', 'parse_order', 'ORD-20931']
    """
    return [word for word in _WORD.findall(text) if is_entity(word)]


_known: dict[str, bool] = {}
_KNOWN_LIMIT: Final = 200_000


def is_entity(word: str) -> bool:
    """Whether a word names something, rather than being prose or a bare number."""
    known = _known.get(word)
    if known is None:
        known = (
            len(word) <= 200
            and _MARKED.search(word) is not None
            and _NUMBER.match(word) is None
            and _HYPHENATED_PROSE.match(word) is None
        )
        if len(_known) >= _KNOWN_LIMIT:
            _known.clear()
        _known[word] = known
    return known
