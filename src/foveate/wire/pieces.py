"""The pieces of a tool result: texts and images in the order they came, though the log joins the texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foveate.log.messages import Media, Opaque, Text, ToolResult

Piece = Text | Media | Opaque


def joined(call_id: str, pieces: Sequence[Piece]) -> ToolResult:
    """The result that pieces make: their texts joined by newlines, their images and files beside them."""
    return ToolResult(
        call_id=call_id,
        text="\n".join(piece.text for piece in pieces if isinstance(piece, Text)),
        media=tuple(piece for piece in pieces if not isinstance(piece, Text)),
    )


def outline(result: ToolResult, pieces: Sequence[Piece]) -> list[Any] | None:
    """What a result does not say of its pieces: length and extra of each text; None if it says all."""
    # An empty text is the same as none.
    if list(pieces) in (_plain(result), [Text(text="")]):
        return None
    return [[len(piece.text), piece.extra] if isinstance(piece, Text) else None for piece in pieces]


def listed(pieces: Sequence[Piece]) -> list[Any] | None:
    """The outline of one text that came in a list, which no other outline tells from a text alone."""
    match pieces:
        case [Text(text=text, extra=extra)] if text and not extra:
            return [[len(text), {}]]
        case _:
            return None


def split(result: ToolResult, outline: object) -> list[Piece]:
    """The pieces by an outline; text and then images if there is none, or if the text was changed since."""
    pieces = _outlined(result, outline) if isinstance(outline, list) else None
    return _plain(result) if pieces is None else pieces


def follows(result: ToolResult, outline: object) -> bool:
    """Whether a result still is what its outline says."""
    return isinstance(outline, list) and _outlined(result, outline) is not None


def _plain(result: ToolResult) -> list[Piece]:
    return [*([Text(text=result.text)] if result.text else []), *result.media]


def _outlined(result: ToolResult, outline: Sequence[Any]) -> list[Piece] | None:
    pieces: list[Piece] = []
    media = iter(result.media)
    start = 0
    # Each text after the first stands behind a newline.
    between = ""
    for entry in outline:
        match entry:
            case [int() as length, dict() as extra]:
                if not result.text.startswith(between, start):
                    return None
                start += len(between)
                pieces.append(Text(text=result.text[start : start + length], extra=extra))
                start += length
                between = "\n"
            case _:
                one = next(media, None)
                if one is None:
                    return None
                pieces.append(one)
    return pieces if start == len(result.text) and next(media, None) is None else None
