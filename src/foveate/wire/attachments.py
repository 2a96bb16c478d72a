"""Images, files and sounds as providers take them: by address, or as their bytes in a data URI."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeGuard

from foveate.log.messages import Media, fields_of
from foveate.wire.data_uri import Inline, Kind, data_uri, inline, kind_of

__all__ = [
    "Inline",
    "data_uri",
    "fetched",
    "file_name",
    "held",
    "inline",
    "is_address",
    "left_out",
    "shown_kind",
    "takes",
    "type_of",
    "words",
]

Provider = Literal["openai", "openai-responses", "anthropic", "gemini"]


class Taken(NamedTuple):
    """What a provider takes of one kind: media types, those of a whole family by its beginning; which addresses."""

    types: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    but: tuple[str, ...] = ()


PDF: Final = "application/pdf"
_ANY_WEB: Final = ("https://", "http://")
_GOOGLES: Final = tuple(
    f"{scheme}{host}/"
    for scheme in _ANY_WEB
    for host in ("generativelanguage.googleapis.com", "youtube.com", "www.youtube.com", "m.youtube.com", "youtu.be")
)
"""Addresses that Gemini alone takes media from."""
_IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_SOUNDS: Final = ("audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3")
TABLE: Final[Mapping[tuple[Provider, Kind], Taken]] = {
    ("openai", "image"): Taken(_IMAGES, _ANY_WEB, _GOOGLES),
    ("openai", "file"): Taken((PDF,)),
    ("openai", "audio"): Taken(_SOUNDS),
    ("openai-responses", "image"): Taken(_IMAGES, _ANY_WEB, _GOOGLES),
    ("openai-responses", "file"): Taken((PDF,), _ANY_WEB, _GOOGLES),
    ("openai-responses", "audio"): Taken(),
    ("anthropic", "image"): Taken(_IMAGES, ("https://",), _GOOGLES),
    # Plain text is taken as its words, but not fetched.
    ("anthropic", "file"): Taken((PDF,), ("https://",), _GOOGLES),
    ("anthropic", "audio"): Taken(),
    ("gemini", "image"): Taken(
        ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"), (*_ANY_WEB, "gs://")
    ),
    ("gemini", "file"): Taken((PDF, "text/", "video/"), (*_ANY_WEB, "gs://")),
    ("gemini", "audio"): Taken(("audio/",), (*_ANY_WEB, "gs://")),
}
_ENDINGS: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
    "bmp": "image/bmp",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "heic": "image/heic",
    "heif": "image/heif",
    "pdf": PDF,
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "mp3": "audio/mp3",
    "wav": "audio/wav",
    "mp4": "video/mp4",
}
_LONGEST: Final = 200


def takes(provider: Provider, kind: Kind, media_type: str) -> bool:
    """Whether a provider takes a kind of media in a type."""
    types = TABLE[provider, kind].types
    return any(media_type.startswith(one) if one.endswith("/") else media_type == one for one in types)


def held(provider: Provider, media: Media) -> Inline | None:
    """The bytes of an image, a file or a sound, if they are there and the provider takes them."""
    content = inline(media.reference)
    if content is None:
        return None
    content = Inline(_usual(content.media_type), content.content)
    return content if takes(provider, kind_of(content.media_type), content.media_type) else None


def fetched(provider: Provider, media: Media) -> str | None:
    """The address of an image, a file or a sound, if it has one and the provider takes what is there."""
    media_type, kind = type_of(media), shown_kind(media)
    taken, address = TABLE[provider, kind], media.reference
    allowed = not media_type or takes(provider, kind, media_type)
    return address if allowed and address.startswith(taken.addresses) and not address.startswith(taken.but) else None


def file_name(media: Media) -> str:
    """The name of a PDF, which OpenAI wants to have one; chat and Responses each say it in their own place."""
    places = (media.extra.get("file"), fields_of(media.extra, "openai-responses").get("block"))
    names = (fields.get("filename") for fields in places if isinstance(fields, dict))
    name = next((name for name in names if _is_name(name)), "file.pdf")
    return name if name.lower().endswith(".pdf") else f"{name}.pdf"


def shown_kind(media: Media) -> Kind:
    """What media are to a model: by their media type if it is known."""
    media_type = type_of(media)
    return kind_of(media_type) if media_type else media.kind


def type_of(media: Media) -> str:
    """The media type as far as it is known: as it was said, or by the ending of the address."""
    if media.media_type:
        return _usual(media.media_type)
    path = media.reference.partition("?")[0].partition("#")[0]
    return _ENDINGS.get(path.rpartition(".")[2].lower(), "") if is_address(media.reference) else ""


def is_address(reference: str) -> bool:
    """Whether a reference is an address on the web."""
    return reference.startswith(_ANY_WEB)


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


def _is_name(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and name.isprintable() and bool(name.strip()) and len(name) <= _LONGEST


def _usual(media_type: str) -> str:
    media_type = media_type.partition(";")[0].strip().lower()
    return "image/jpeg" if media_type == "image/jpg" else media_type
