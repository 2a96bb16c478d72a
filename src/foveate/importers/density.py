"""Density: how many values a JSON text has, counted before any of them is made.

Bytes say little of the memory that a text takes once it is read: `{},{},…` takes a hundred times its own. What each
value stands behind is counted instead: `{`, `[`, `,` and `:` outside of strings.
"""

from __future__ import annotations

import re
from typing import Final

_STRUCTURE: Final = b"{[,:"
_CHUNK: Final = 262_144
_BACKSLASHES: Final = re.compile(rb"\\++")


def has_more_values(data: bytes, most: int, *, chunk: int = _CHUNK) -> bool:
    r"""Whether a JSON text has more values than so many; of one that is broken, before the place where it is.

    >>> has_more_values(b'[{}, {}]', 3), has_more_values(b'[{}, {}]', 4), has_more_values(b'["[,\\",,"]', 1)
    (True, False, False)
    """
    # Few texts have that many such bytes anywhere, and to count these takes no time.
    if len(data) <= most or sum(data.count(one) for one in (b"{", b"[", b",", b":")) <= most:
        return False
    found, at, inside = 0, 0, False
    while at < len(data) and found <= most:
        end = _chunk_end(data, at + chunk)
        pieces = data[at:end].replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        outside = b"".join(pieces[inside::2])
        found += len(outside) - len(outside.translate(None, _STRUCTURE))
        # Each quotation mark between two pieces leads into a string, or out of it.
        inside ^= len(pieces) % 2 == 0
        at = end
    return found > most


def _chunk_end(data: bytes, at: int) -> int:
    """Where a chunk ends: never between a backslash and what it stands before."""
    end = min(at, len(data))
    if data[end - 1 : end] != b"\\":
        return end
    run = _BACKSLASHES.match(data, end)
    return (run.end() if run is not None else end) + 1
