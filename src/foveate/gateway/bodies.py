"""Bodies of requests: the bytes of each item as they came, and a body with other items in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items: Final = msgspec.json.Decoder(list[msgspec.Raw])
decode: Final = msgspec.json.Decoder().decode
encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class WireBody:
    """A request's body in pieces: what stands before and behind its items, and the bytes of each."""

    raw: bytes
    fields: dict[str, Any]
    items: tuple[bytes, ...]
    head: bytes
    tail: bytes

    def with_items(self, items: Sequence[bytes]) -> bytes:
        """The body with other items; all else is as it came, byte for byte."""
        return b"".join((self.head, b"[", b",".join(items), b"]", self.tail))


def read_body(raw: bytes, name: str) -> WireBody | None:
    """A body in pieces, its items being those of field `name`; None if it is none that can be read."""
    try:
        found = _fields.decode(raw)
        whole = bytes(found.pop(name))
        items = tuple(bytes(item) for item in _items.decode(whole))
        fields = {key: decode(value) for key, value in found.items()}
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    at = raw.find(whole)
    return WireBody(raw, fields, items, raw[:at], raw[at + len(whole) :])
