"""Blocks: a window as a list that a page shows from top to bottom, each with where it came from and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from foveate.inspect.request import RequestBlock, RequestContents
from foveate.web.fates import colour
from foveate.web.links import to_call, to_log
from foveate.web.replaying import Lens

_LONGEST: Final = 100_000
# As long as the rest together, and the same in every call.
_DEFINITIONS: Final = frozenset({"tools", "format"})
_RESTORABLE: Final = frozenset({"masked", "trimmed", "superseded", "repaired"})


def blocks_of(
    contents: RequestContents, predicted: int, session: str, lens: Lens | None, pins: Mapping[str, bool]
) -> list[dict[str, Any]]:
    """The blocks of a request in the order they are sent, with a mark where the cached prefix ends."""
    blocks = [_block(block, session, lens, is_pinned=pins.get(block.id, False)) for block in contents.blocks]
    if predicted and contents.cached_blocks < len(blocks):
        blocks[contents.cached_blocks]["cut"] = f"cached up to here: {predicted:,} tokens, as predicted"
    return blocks


def _block(block: RequestBlock, session: str, lens: Lens | None, *, is_pinned: bool) -> dict[str, Any]:
    several = block.sources > 1
    return {
        "key": block.id,
        "who": f"{block.speaker} · stands for {block.sources:,} messages" if several else block.speaker,
        "fate": block.fate,
        "colour": colour(block.fate),
        "text": _shortened(block.text),
        "calls": [{"name": name, "arguments": arguments} for name, arguments in block.calls],
        "tokens": _size(block),
        "by": block.by,
        "why": block.why,
        "call": block.made_at,
        "callLink": to_call(session, block.made_at, lens) if block.made_at else "",
        "source": f"from {block.source} on" if several and block.source else block.source,
        "sourceLink": to_log(session, block.source, lens) if block.source else "",
        "hasOriginal": block.fate in _RESTORABLE and bool(block.source) and not several,
        "pinned": is_pinned,
        "folded": block.id in _DEFINITIONS,
        "cut": "",
    }


def _size(block: RequestBlock) -> str:
    if block.tokens is None:
        return ""
    if block.before is not None and block.before != block.tokens:
        return f"{block.before:,} → {block.tokens:,} tokens"
    return f"{block.tokens:,} tokens"


def _shortened(text: str) -> str:
    left = len(text) - _LONGEST
    return text if left <= 0 else f"{text[:_LONGEST]}\n… {left:,} more characters; the log has them all"
