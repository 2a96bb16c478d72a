"""Text and data that can be stored and sent."""

from __future__ import annotations

import json
from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def encodable(text: str) -> str:
    """The text with half characters replaced: JSON can carry them, UTF-8 and every provider refuse them."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def printable(line: str) -> str:
    """A line of others without what would move a terminal's cursor or change its colours."""
    return "".join(letter if letter.isprintable() else " " for letter in line.expandtabs(4))


def printable_lines(text: str) -> str:
    """A text of others without what would move a terminal's cursor or change its colors, its lines as they are."""
    return "\n".join(map(printable, text.split("\n")))


def counted(number: int, what: str) -> str:
    """A number of things: "1 message", "1,203 messages"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def own_copy(value: Any) -> Any:
    """A copy of plain data that nobody else can change; a `ValueError` says what in it is no plain data."""
    try:
        return _decode(_encoded(value))
    except (TypeError, RecursionError, OverflowError, msgspec.MsgspecError) as error:
        raise ValueError(f"{error}") from error


def _encoded(value: Any) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:
        # Half a character somewhere inside: a cut emoji must not cost the message.
        return encodable(json.dumps(value, ensure_ascii=False, allow_nan=False)).encode()
