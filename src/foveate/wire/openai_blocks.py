"""OpenAI chat content blocks, each as a part of a message and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from foveate.errors import MessageError
from foveate.log.messages import Media, Opaque, Text, domestic, fields_of, foreign
from foveate.log.text import encodable
from foveate.wire.attachments import data_uri, inline, left_out
from foveate.wire.data_uri import made_of
from foveate.wire.fields import rest
from foveate.wire.pieces import Piece

FORMAT: Final = "openai"
_NONE: Final[frozenset[str]] = frozenset()
KNOWN_TYPES: Final = frozenset({"text", "input_text", "output_text", "refusal", "image_url", "file", "input_audio"})
SOUNDS: Final = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def is_telling(block: object) -> bool:
    """Whether a block can only be of OpenAI chat."""
    match block:
        case (
            {"type": "image_url", "image_url": _}
            | {"type": "input_audio", "input_audio": _}
            | {"type": "file", "file": _}
        ):
            return True
        case _:
            return False


def is_responses_media(block: object) -> bool:
    """Whether a block is an image or a file as only OpenAI Responses writes them."""
    return isinstance(block, Mapping) and block.get("type") in ("input_image", "input_file")


def content_parts(content: object, where: str) -> list[Piece]:
    """What the content of a message shows."""
    match content:
        case None:
            return []
        case str():
            return [Text(text=encodable(content))]
        case list() | tuple():
            return [_part(block, f"{where}, content block {index}") for index, block in enumerate(content)]
        case _:
            raise MessageError(f"{where}: `content` must be text or a list of blocks, got {type(content).__name__}")


def block_of(part: Piece) -> dict[str, Any]:
    """The block of a part; what OpenAI has no block for is said in words."""
    match part:
        case Opaque(raw=raw):
            return dict(raw)
        case Text(text=text, extra=extra) if is_refusal(extra):
            return {"type": "refusal", "refusal": text, **wire_fields(extra)}
        case Text(text=text, extra=extra):
            return {"type": "text", "text": text, **wire_fields(extra)}
        case Media(kind="image", reference=reference, extra=extra):
            block = fields_of(extra, FORMAT).get("block", {})
            return {"type": "image_url", "image_url": {"url": reference, **wire_fields(extra)}, **block}
        case Media(extra={"type": str()}):
            return _own_file(part)
        case Media():
            return _foreign_file(part) or {"type": "text", "text": left_out(part)}


def is_refusal(extra: Mapping[str, Any]) -> bool:
    """Whether a text came as what the model refused."""
    return bool(fields_of(extra, FORMAT).get("refusal"))


def extra_of(fields: Mapping[str, Any], **ours: Any) -> dict[str, Any]:
    """An `extra` of fields of the wire and of what we noted; a field that looks like a note of ours is kept apart."""
    if not fields:
        return foreign(FORMAT, ours)
    odd = {name: value for name, value in fields.items() if name.startswith("@")}
    noted = {**ours, **({"fields": odd} if odd else {})}
    return {**{name: value for name, value in fields.items() if name not in odd}, **foreign(FORMAT, noted)}


def wire_fields(extra: dict[str, Any]) -> dict[str, Any]:
    """The fields of the wire in an `extra`."""
    if not extra:
        return {}
    odd = fields_of(extra, FORMAT).get("fields")
    return {**domestic(extra), **odd} if odd else domestic(extra)


def _part(block: object, where: str) -> Piece:
    match block:
        case str():
            return Text(text=encodable(block))
        case {"type": "text" | "input_text" | "output_text", "text": str() as text, **more}:
            return Text(text=encodable(text), extra=extra_of(rest(more, _NONE, where)))
        case {"type": "refusal", "refusal": str() as text, **more}:
            return Text(text=encodable(text), extra=extra_of(rest(more, _NONE, where), refusal=True))
        case {"type": "image_url", "image_url": str() as url, **more}:
            return Media(kind="image", reference=encodable(url), extra=_beside({}, more, where))
        case {"type": "image_url", "image_url": {"url": str() as url, **more}, **beside}:
            return Media(kind="image", reference=encodable(url), extra=_beside(more, beside, where))
        case {"type": "file", **more}:
            return _file(rest(more, _NONE, where))
        case {"type": "input_audio", **more}:
            return _sound(rest(more, _NONE, where))
        case {"type": str() as kind, **more} if kind and kind not in KNOWN_TYPES:
            return Opaque(format=FORMAT, raw={"type": encodable(kind), **rest(more, _NONE, where)})
        case {"type": kind}:
            raise MessageError(f"{where}: a block of the `type` {kind!r:.80} does not have what that type needs")
        case _:
            raise MessageError(f"{where}: expected text or a block with `type`, got {block!r:.80}")


def _beside(image: Mapping[Any, Any], block: Mapping[Any, Any], where: str) -> dict[str, Any]:
    more = rest(block, _NONE, where)
    return extra_of(rest(image, _NONE, where), **({"block": more} if more else {}))


def _file(more: dict[str, Any]) -> Media:
    """A file by its bytes or its id; the bytes stand in the reference and nowhere else."""
    match more.get("file"):
        case {"file_data": str() as reference, **others}:
            held = inline(reference)
            media_type = None if held is None else held.media_type
            extra = extra_of({**more, "type": "file", "file": others}, held="file_data")
            return Media(kind="file", reference=reference, media_type=media_type, extra=extra)
        case {"file_id": str() as reference}:
            return Media(kind="file", reference=reference, extra=extra_of({**more, "type": "file"}))
        case _:
            return _unread("file", more)


def _sound(more: dict[str, Any]) -> Media:
    match more.get("input_audio"):
        case {"data": str() as base64, "format": str() as form, **others} if "," not in form:
            extra = extra_of({**more, "type": "input_audio", "input_audio": {**others, "format": form}}, held="data")
            reference = data_uri(f"audio/{form}", base64)
            return Media(kind="audio", reference=reference, media_type=f"audio/{form}", extra=extra)
        case _:
            return _unread("input_audio", more)


def _unread(kind: str, more: dict[str, Any]) -> Media:
    block = {"type": kind, **more}
    reference = msgspec.json.encode(block).decode()
    return Media(kind="file" if kind == "file" else "audio", reference=reference, extra=extra_of(block))


def _own_file(media: Media) -> dict[str, Any]:
    """A file or sound as it came; one that was recorded with its bytes in the block goes out as it is."""
    block = wire_fields(media.extra)
    match fields_of(media.extra, FORMAT).get("held"):
        case "file_data":
            return {**block, "file": {**block["file"], "file_data": media.reference}}
        case "data":
            return {**block, "input_audio": {**block["input_audio"], "data": made_of(media.reference).content}}
        case _:
            return dict(block)


def _foreign_file(media: Media) -> dict[str, Any] | None:
    """The block of a file that came in another format, if it is here as its bytes."""
    held = inline(media.reference)
    if held is None:
        return None
    if media.kind == "file":
        name = f"file.{held.media_type.rpartition('/')[2]}"
        return {"type": "file", "file": {"filename": name, "file_data": data_uri(*held)}}
    sound = SOUNDS.get(held.media_type)
    return None if sound is None else {"type": "input_audio", "input_audio": {"data": held.content, "format": sound}}
