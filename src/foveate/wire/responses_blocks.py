"""Blocks in items of OpenAI Responses, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from foveate.errors import MessageError
from foveate.log.messages import Media, Opaque, Text, fields_of, foreign
from foveate.log.text import encodable
from foveate.wire.attachments import data_uri, fetched, file_name, held, inline, shown_kind
from foveate.wire.data_uri import kind_of
from foveate.wire.fields import arguments_text, mapping, rest
from foveate.wire.pieces import Piece

NAME: Final = "openai-responses"

_NOTHING: Final[frozenset[str]] = frozenset()
_DETAILS: Final = frozenset({"low", "high", "auto", "original"})


def parts_of(content: object, kind: str, where: str) -> tuple[Piece, ...]:
    match content:
        case str():
            return (Text(text=encodable(content)),)
        case list() | tuple():
            return tuple(_part(block, kind, f"{where}, content block {index}") for index, block in enumerate(content))
        case _:
            raise MessageError(f"{where}: `content` must be text or a list of blocks, got {type(content).__name__}")


def answer_of(output: object, where: str) -> tuple[str, tuple[Media | Opaque, ...]]:
    """The text and the media of an output of any kind."""
    match output:
        case str():
            return encodable(output), ()
        case [{"type": _}, *_] | []:
            parts = parts_of(output, "input_text", where)
            texts = [part.text for part in parts if isinstance(part, Text)]
            return "\n".join(texts), tuple(part for part in parts if not isinstance(part, Text))
        case {"type": "computer_screenshot", "image_url": str() as url}:
            return "", (Media(kind="image", reference=encodable(url)),)
        case _:
            return arguments_text(output, where), ()


def block_of(part: Piece, kind: str) -> dict[str, Any]:
    """The block of a part as it came; text of no own type is of type `kind`."""
    kept = fields_of(part.extra, NAME)
    block: dict[str, Any] = kept.get("block", {})
    match part:
        case Opaque(raw=raw):
            return dict(raw)
        case Text(text=text) if kept.get("raw") is True:
            return dict(block) if text == _unread(block) else {"type": kind, "text": text}
        case Text(text=text):
            type = str(block.get("type", kind))
            return {"type": type, "refusal" if type == "refusal" else "text": text, **block}
        case Media(reference=reference) if isinstance(kept.get("sound"), dict):
            data = reference.partition(";base64,")[2]
            return {**block, "type": "input_audio", "input_audio": {**kept["sound"], "data": data}}
        case Media(reference=reference, extra=extra):
            detail = {"detail": extra["detail"]} if "detail" in extra else {}
            type, by = ("input_image", "image_url") if part.kind == "image" else ("input_file", "file_url")
            return {"type": type, kept.get("by", by): reference, **detail, **block}


def sent_media(media: Media) -> dict[str, Any] | None:
    """The block of an image or a file with what the provider takes of it; None if it does not take it."""
    kept = fields_of(media.extra, NAME)
    kind = media.kind if kept.get("by") == "file_id" else shown_kind(media)
    type = "input_image" if kind == "image" else "input_file"
    detail = media.extra.get("detail")
    shown = {"detail": detail} if type == "input_image" and isinstance(detail, str) and detail in _DETAILS else {}
    if kept.get("by") == "file_id":
        return {"type": type, "file_id": media.reference, **shown}
    if (content := held(NAME, media)) is not None:
        if kind_of(content.media_type) == "image":
            return {"type": "input_image", "image_url": data_uri(*content), **shown}
        return {"type": "input_file", "filename": file_name(media), "file_data": data_uri(*content)}
    address = fetched(NAME, media)
    if address is None:
        return None
    return {"type": type, "image_url" if type == "input_image" else "file_url": address, **shown}


def _part(raw: object, kind: str, where: str) -> Piece:
    block = mapping(raw, where)
    type = block.get("type")
    if not isinstance(type, str) or not type:
        raise MessageError(f"{where}: `type` must be a non-empty string, got {type!r:.80}")
    spoken = "refusal" if type == "refusal" else "text"
    if isinstance(block.get(spoken), str):
        fields = rest(block, frozenset({spoken} if type != kind else {spoken, "type"}), where)
        return Text(text=encodable(block[spoken]), extra=foreign(NAME, {"block": fields} if fields else {}))
    if type in ("input_image", "input_file"):
        media = _media(block, type, where)
        if media is not None:
            return media
    if type == "input_audio" and (sound := _sound(block, where)) is not None:
        return sound
    return Opaque(format=NAME, raw=rest(block, _NOTHING, where))


def _unread(block: Mapping[str, Any]) -> str:
    """What stands for a block of which nothing can be read."""
    return encodable(f"[{str(block.get('type'))[:80]} left out]")


def _sound(block: Mapping[str, Any], where: str) -> Media | None:
    """What can be heard in a block; None if it does not say what that is."""
    inner = block.get("input_audio")
    match inner:
        case {"data": str() as data, "format": str() as form} if data and form.isalnum():
            fields = rest(block, frozenset({"type", "input_audio"}), where)
            kept = {
                "sound": rest(mapping(inner, where), frozenset({"data"}), where),
                **({"block": fields} if fields else {}),
            }
            media_type = f"audio/{encodable(form)}"
            reference = data_uri(media_type, encodable(data))
            return Media(kind="audio", reference=reference, media_type=media_type, extra=foreign(NAME, kept))
        case _:
            return None


def _media(block: Mapping[str, Any], type: str, where: str) -> Media | None:
    own = "image_url" if type == "input_image" else "file_url"
    by = next((key for key in (own, "file_data", "file_id") if isinstance(block.get(key), str) and block[key]), None)
    if by is None:
        return None
    fields = rest(block, frozenset({"type", by, "detail"}), where)
    kept: dict[str, Any] = {**({"by": by} if by != own else {}), **({"block": fields} if fields else {})}
    detail = rest({"detail": block["detail"]}, _NOTHING, where) if "detail" in block else {}
    return Media(
        kind="image" if type == "input_image" else "file",
        reference=encodable(block[by]),
        media_type=found.media_type if (found := inline(block[by])) is not None else None,
        extra={**detail, **foreign(NAME, kept)},
    )
