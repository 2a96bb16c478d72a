"""Images and files as providers take them: by address, or as their bytes in a data URI."""

from __future__ import annotations

from base64 import b64decode
from typing import Final

from foveate.log.messages import Media
from foveate.wire import data_uri as uris
from foveate.wire.data_uri import Inline, data_uri

__all__ = ["Inline", "data_uri", "inline", "is_address", "left_out", "words"]

_LONGEST: Final = 200


def inline(reference: str) -> Inline | None:
    """The bytes in a reference, as providers write them; None if it is an address, empty or unreadable."""
    held = uris.inline(reference)
    if held is None or not held.content:
        return None
    return Inline(held.media_type.strip().lower(), uris.usual(held.content))


def is_address(reference: str) -> bool:
    """Whether a provider could fetch a reference."""
    return reference.startswith(("https://", "http://"))


def words(content: Inline) -> str | None:
    """The text that inline bytes are; None if they are none."""
    try:
        return b64decode(content.content).decode()
    except UnicodeDecodeError:
        return None


def left_out(media: Media) -> str:
    """What stands in a request for an image or a file that its provider cannot take."""
    if media.reference.startswith("data:"):
        kind = media.media_type or media.reference[5:].partition(",")[0].partition(";")[0] or "data"
        return f"[{media.kind} left out: {kind[:_LONGEST]}, {len(media.reference)} characters]"
    shown = media.reference if len(media.reference) <= _LONGEST else f"{media.reference[:_LONGEST]}…"
    return f"[{media.kind} left out: {shown}]"
