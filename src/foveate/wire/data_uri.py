"""Data URIs: files that stand in the message itself."""

from __future__ import annotations

import base64
import binascii
from typing import Literal, NamedTuple
from urllib.parse import unquote_to_bytes

Kind = Literal["image", "file", "audio"]


class Inline(NamedTuple):
    """A file in a message: its media type and its bytes in base64."""

    media_type: str
    content: str


def data_uri(media_type: str, content: str) -> str:
    """The data URI of bytes in base64."""
    return f"data:{media_type};base64,{content}"


def made_of(reference: str) -> Inline:
    """The media type and the base64 that `data_uri` was given."""
    media_type, _, content = reference.removeprefix("data:").partition(";base64,")
    return Inline(media_type, content)


def inline(reference: str) -> Inline | None:
    """What a data URI holds, in the usual base64; None for any other reference, an empty and an unreadable one."""
    if not reference.startswith("data:"):
        return None
    head, comma, body = reference.removeprefix("data:").partition(",")
    media_type, *options = (word.strip().lower() for word in head.split(";"))
    if not comma:
        return None
    if "base64" not in options:
        body = base64.b64encode(unquote_to_bytes(body)).decode()
    return Inline(media_type or "text/plain", usual(body)) if body and is_base64(body) else None


def is_base64(content: str) -> bool:
    """Whether a text is base64, in the usual alphabet or in that for addresses."""
    try:
        binascii.a2b_base64(content.translate(_USUAL), strict_mode=True)
    except (ValueError, UnicodeEncodeError):
        return False
    return True


def usual(content: str) -> str:
    """Base64 in the usual alphabet."""
    return content.translate(_USUAL)


def for_addresses(content: str) -> str:
    """Base64 in the alphabet that addresses may have."""
    return content.translate(_ADDRESS)


def kind_of(media_type: str | None) -> Kind:
    """What a media type is to a model."""
    match (media_type or "").partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case _:
            return "file"


_USUAL = str.maketrans("-_", "+/")
_ADDRESS = str.maketrans("+/", "-_")
