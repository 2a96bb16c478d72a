"""Matching: items of a history told apart by what they say, however they are written this time.

Clients move cache marks from item to item, and write a text as a text or as the one block of it. Neither makes another
item.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

MARK: Final = "cache_control"
_BYTES: Final = 12
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode


def canonical(item: Any) -> bytes:
    """An item as bytes that are the same however it is written: no marks, a text as its block, keys in order."""
    plain = unmarked(item)
    if isinstance(plain, dict) and isinstance(plain.get("content"), str):
        plain = {**plain, "content": [{"type": "text", "text": plain["content"]}]}
    return _encode_sorted(plain)


def unmarked(value: Any) -> Any:
    """A value without its cache marks."""
    if isinstance(value, dict):
        return {key: unmarked(one) for key, one in value.items() if key != MARK}
    return [unmarked(one) for one in value] if isinstance(value, list | tuple) else value


def shared_length(one: Sequence[str], other: Sequence[str]) -> int:
    """How many keys two lists begin with in common."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (first, second) in enumerate(pairs) if first != second), min(len(one), len(other)))


def item_key(item: Any) -> str:
    """The key of an item: a hash of its canonical form."""
    try:
        said = canonical(item)
    except (TypeError, ValueError):
        # Half characters, or values that are not JSON: whether it can be recorded, its format says.
        said = repr(item).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=_BYTES).hexdigest()


def item_keys(items: Iterable[Any]) -> tuple[str, ...]:
    """The keys of items, in their order."""
    return tuple(map(item_key, items))
