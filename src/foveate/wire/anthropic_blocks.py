"""Anthropic content blocks, each as a part of a message and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from foveate.errors import MessageError
from foveate.log.messages import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult, fields_of, foreign
from foveate.log.text import encodable
from foveate.wire.attachments import data_uri, is_address, left_out
from foveate.wire.data_uri import made_of
from foveate.wire.fields import arguments_object, arguments_text, mapping, name_of, plainest, rest, text_of
from foveate.wire.opaque import readable_opaque
from foveate.wire.pieces import Piece, follows, joined, listed, outline, split

FORMAT: Final = "anthropic"
# What is ours among the kept fields begins with this; a field of the wire that begins with it gets one more.
_NOTE: Final = "@"
_SIGNER: Final = {"signer": FORMAT}


def said_part(block: object, where: str) -> Part:
    """What an assistant says with a block."""
    raw = mapping(block, where)
    match raw.get("type"):
        case "thinking":
            signature = None if raw.get("signature") is None else text_of(raw, "signature", where)
            known = frozenset({"type", "thinking"} | ({"signature"} if signature is not None else set()))
            extra = _kept(raw, known, where, **(_SIGNER if signature else {}))
            return Thinking(text=text_of(raw, "thinking", where), signature=signature, extra=extra)
        case "redacted_thinking":
            extra = _kept(raw, frozenset({"type", "data"}), where, redacted=True, **_SIGNER)
            return Thinking(text="", signature=text_of(raw, "data", where), extra=extra)
        case "tool_use":
            if not isinstance(raw.get("input", {}), Mapping):
                raise MessageError(f"{where}: `input` must be an object, got {type(raw['input']).__name__}")
            return ToolCall(
                id=name_of(raw, "id", where),
                name=name_of(raw, "name", where),
                arguments=arguments_text(raw.get("input", {}), where),
                extra=_kept(raw, frozenset({"type", "id", "name", "input"}), where),
            )
        case _:
            return shown_part(raw, where)


def shown_part(block: object, where: str) -> Piece:
    """What a block shows; one of a type that has no part of its own is opaque."""
    raw = mapping(block, where)
    match raw.get("type"):
        case "text":
            text = text_of(raw, "text", where)
            return Text(text=text, extra=_kept(raw, frozenset({"type", "text"}), where))
        case "image" | "document" as kind:
            return _media(raw, kind, where) or _document(raw, where) or _whole(raw, where)
        case str():
            return _whole(raw, where)
        case kind:
            raise MessageError(f"{where}: `type` of a block must be text, got {kind!r:.80}")


def result_part(block: object, where: str) -> ToolResult:
    """What a tool answered, its text blocks joined by newlines."""
    raw = mapping(block, where)
    known = {"type", "tool_use_id", "content"} | ({"is_error"} if isinstance(raw.get("is_error"), bool) else set())
    call_id = name_of(raw, "tool_use_id", where)
    shape: list[Any] | None = None
    match raw.get("content"):
        case None:
            pieces: list[Piece] = []
        case str() as text:
            pieces = [Text(text=encodable(text))]
        case list() | tuple() as blocks:
            pieces = [shown_part(one, f"{where}, content block {index}") for index, one in enumerate(blocks)]
            shape = listed(pieces)
        case content:
            raise MessageError(f"{where}: `content` must be text or a list of blocks, got {type(content).__name__}")
    result = joined(call_id, pieces)
    shape = shape or outline(result, pieces)
    notes = {} if shape is None else {"content": shape}
    return msgspec.structs.replace(result, extra=_kept(raw, frozenset(known), where, **notes))


def result_pieces(result: ToolResult) -> list[Piece]:
    """The texts and images of a result as they came, or the text before the images if it was changed since."""
    return split(result, note(result.extra, "content"))


def block_of(part: Part) -> dict[str, Any]:
    """The block of a part, with everything that came from this format in it again."""
    extra = part.extra
    match part:
        case Text():
            return _text_block(part)
        case Media():
            return _media_block(part)
        case Thinking(signature=data) if note(extra, "redacted"):
            return {"type": "redacted_thinking", "data": data or "", **wire_fields(extra)}
        case Thinking(text=text, signature=signature):
            signed = {} if signature is None else {"signature": signature}
            return {"type": "thinking", "thinking": text, **signed, **wire_fields(extra)}
        case ToolCall(id=call_id, name=name, arguments=arguments):
            given = arguments_object(arguments)
            return {"type": "tool_use", "id": call_id, "name": name, "input": given, **wire_fields(extra)}
        case Opaque(raw=raw):
            return dict(raw)
        case ToolResult(call_id=call_id):
            blocks = [block_of(piece) for piece in result_pieces(part)]
            content = blocks if follows(part, note(extra, "content")) else plainest(blocks) or ""
            return {"type": "tool_result", "tool_use_id": call_id, "content": content, **wire_fields(extra)}


def kept(fields: Mapping[str, Any], **notes: Any) -> dict[str, Any]:
    """An `extra` of fields of the wire and of our own notes on them."""
    given = {_NOTE + name if name.startswith(_NOTE) else name: value for name, value in fields.items()}
    return foreign(FORMAT, {**given, **{_NOTE + name: value for name, value in notes.items()}})


def wire_fields(extra: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the wire in an `extra`."""
    fields = fields_of(extra, FORMAT)
    doubled = _NOTE * 2
    return {
        name.removeprefix(_NOTE) if name.startswith(doubled) else name: value
        for name, value in fields.items()
        if name.startswith(doubled) or not name.startswith(_NOTE)
    }


def note(extra: Mapping[str, Any], name: str) -> Any:
    """One of our own notes in an `extra`."""
    return fields_of(extra, FORMAT).get(_NOTE + name)


def signed(*, redacted: bool = False) -> dict[str, Any]:
    """The `extra` of thinking that Anthropic signed, in whichever format it came."""
    return kept({}, **_SIGNER, **({"redacted": True} if redacted else {}))


def is_signed(thinking: Thinking) -> bool:
    """Whether Anthropic signed some thinking: others sign theirs too, and note that they did."""
    return bool(thinking.signature) and (not thinking.extra or bool(fields_of(thinking.extra, FORMAT)))


def _kept(raw: Mapping[str, Any], known: frozenset[str], where: str, **notes: Any) -> dict[str, Any]:
    return kept(rest(raw, known, where), **notes)


def _media(raw: Mapping[str, Any], kind: str, where: str) -> Media | None:
    media_type: str | None = None
    match raw.get("source"):
        case {"type": "base64", "media_type": str() as given, "data": str() as base64} if "," not in given:
            media_type = encodable(given)
            reference, used = data_uri(media_type, encodable(base64)), "data"
        case {"type": "url", "url": str() as reference}:
            used = "url"
        case {"type": "file", "file_id": str() as reference}:
            used = "file_id"
        case _:
            return None
    reference = encodable(reference)
    source = rest(raw["source"], frozenset({used, "media_type"} if media_type is not None else {used}), where)
    # An address or bytes speak for themselves; an id is worth nothing without the name of who gave it.
    plain = used != "file_id" and source == {"type": _source_type(reference)}
    notes = {} if plain else {"source": source}
    return Media(
        kind="image" if kind == "image" else "file",
        reference=reference,
        media_type=media_type,
        extra=_kept(raw, frozenset({"type", "source"}), where, **notes),
    )


def _source_type(reference: str) -> str:
    if reference.startswith("data:") and ";base64," in reference:
        return "base64"
    return "url" if is_address(reference) else "file"


def _document(raw: Mapping[str, Any], where: str) -> Text | None:
    """A document that is given as its text is text: it can be read, searched and shortened."""
    match raw:
        case {"type": "document", "source": {"type": "text", "data": str() as text} as source}:
            extra = _kept(raw, frozenset({"type", "source"}), where, document=rest(source, frozenset({"data"}), where))
            return Text(text=encodable(text), extra=extra)
        case _:
            return None


def _whole(raw: Mapping[str, Any], where: str) -> Opaque:
    return Opaque(format=FORMAT, raw=rest(raw, frozenset(), where))


def _text_block(part: Text) -> dict[str, Any]:
    # Logs of 0.1 hold a block of an unknown type as the text that can be read of it.
    whole, document = note(part.extra, "block"), note(part.extra, "document")
    if isinstance(whole, dict) and readable_opaque(whole) == part.text:
        return dict(whole)
    if isinstance(document, dict):
        return {"type": "document", "source": {**document, "data": part.text}, **wire_fields(part.extra)}
    return {"type": "text", "text": part.text, **wire_fields(part.extra)}


def _media_block(part: Media) -> dict[str, Any]:
    if part.kind == "audio":
        return {"type": "text", "text": left_out(part)}
    source = note(part.extra, "source") or {"type": _source_type(part.reference)}
    match source["type"]:
        case "base64":
            media_type, base64 = made_of(part.reference)
            source = {**source, "media_type": media_type, "data": base64}
        case "url":
            source = {**source, "url": part.reference}
        case _:
            source = {**source, "file_id": part.reference}
    return {"type": "image" if part.kind == "image" else "document", "source": source, **wire_fields(part.extra)}
