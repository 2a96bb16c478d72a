"""Blocks: a window as a list that a page shows from top to bottom, each with where it came from and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from foveate.web.fates import colour
from foveate.web.links import to_call, to_log
from foveate.web.replaying import Lens
from foveate.web.window import Piece, Window

_LONGEST: Final = 100_000
# As long as the rest together, and the same in every call.
_DEFINITIONS: Final = frozenset({"tools", "format"})
_RESTORABLE: Final = frozenset({"masked", "trimmed", "superseded", "repaired"})


def blocks_of(
    window: Window, predicted: int, session: str, lens: Lens | None, pins: Mapping[str, bool]
) -> list[dict[str, Any]]:
    """The blocks of a request in the order they are sent, with a mark where the cached prefix ends."""
    blocks = [_block(piece, session, lens, is_pinned=pins.get(piece.id, False)) for piece in window.pieces]
    if predicted and window.cached < len(blocks):
        blocks[window.cached]["cut"] = f"cached up to here: {predicted:,} tokens, as predicted"
    return blocks


def _block(piece: Piece, session: str, lens: Lens | None, *, is_pinned: bool) -> dict[str, Any]:
    several = piece.sources > 1
    return {
        "key": piece.id,
        "who": f"{piece.who} · stands for {piece.sources:,} messages" if several else piece.who,
        "fate": piece.fate,
        "colour": colour(piece.fate),
        "text": _shortened(piece.text),
        "calls": [{"name": name, "arguments": arguments} for name, arguments in piece.calls],
        "tokens": _size(piece),
        "by": piece.by,
        "why": piece.why,
        "call": piece.made_at,
        "callLink": to_call(session, piece.made_at, lens) if piece.made_at else "",
        "source": f"from {piece.source} on" if several and piece.source else piece.source,
        "sourceLink": to_log(session, piece.source, lens) if piece.source else "",
        "hasOriginal": piece.fate in _RESTORABLE and not several,
        "pinned": is_pinned,
        "folded": piece.id in _DEFINITIONS,
        "cut": "",
    }


def _size(piece: Piece) -> str:
    if piece.tokens is None:
        return ""
    if piece.before is not None and piece.before != piece.tokens:
        return f"{piece.before:,} → {piece.tokens:,} tokens"
    return f"{piece.tokens:,} tokens"


def _shortened(text: str) -> str:
    left = len(text) - _LONGEST
    return text if left <= 0 else f"{text[:_LONGEST]}\n… {left:,} more characters; the log has them all"
