"""A request by the rules of OpenAI chat, ready to send.

Only fields that OpenAI knows are sent, and those by which servers that speak its language get their own reasoning and
cache marks back. Ids and names that are not allowed are replaced. A tool says text alone: images and files of its
results are shown by the user, behind all results of the exchange. What OpenAI does not take where it stands is left out
with a note; a message that says nothing without its reasoning is not sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from foveate.log.foreign import fields_of
from foveate.log.messages import Media, Message, Part, Text, ToolCall, ToolResult
from foveate.wire.attachments import data_uri, fetched, file_name, held, left_out
from foveate.wire.data_uri import kind_of
from foveate.wire.fields import plainest
from foveate.wire.format import OPENING, Request
from foveate.wire.names import OPENAI_IDS, OPENAI_NAMES, Spelling, fitting, spelling
from foveate.wire.openai_blocks import FORMAT, SOUNDS, is_refusal
from foveate.wire.openai_chat import custom_input
from foveate.wire.pieces import split

SHOWN: Final = "[shown by the user below]"
RESULTS: Final = "[images and files of the tool results above]"
VENDORS: Final = frozenset(
    {
        "reasoning_content",
        "reasoning",
        "reasoning_details",
        "cache_control",
        "provider_specific_fields",
        "extra_content",
    }
)
"""What other servers than OpenAI's send and want back."""
_DETAILS: Final = ("low", "high", "auto")

Block = dict[str, Any]


def lower(request: Request) -> list[dict[str, Any]]:
    """The messages of a request, system prompt first; tools and response format are sent beside them."""
    spelled = spelling(request, names=OPENAI_NAMES, ids=OPENAI_IDS)
    sent: list[dict[str, Any]] = []
    if request.system and request.system.strip():
        sent.append({"role": "system", "content": request.system})
    shown: list[Block] = []
    for message in request.messages:
        result = message.result
        if result is not None:
            sent.append(_answered(message, result, spelled))
            shown += [block for media in result.media if (block := _media(media)) is not None]
            continue
        sent += [*_attached(shown), *_said(message, spelled)]
        shown = []
    sent += _attached(shown)
    return sent or [{"role": "user", "content": OPENING}]


def _attached(shown: list[Block]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": RESULTS}, *shown]}] if shown else []


def _answered(message: Message, result: ToolResult, spelled: Spelling) -> dict[str, Any]:
    pieces = split(result, fields_of(result.extra, FORMAT).get("content")) if result.media or result.extra else []
    blocks = [_words(piece) for piece in pieces]
    content = result.text if not blocks else plainest([block for block in blocks if block["text"].strip()]) or ""
    return {"role": "tool", "tool_call_id": spelled.ids[result.call_id], "content": content, **_fields(message)}


def _words(piece: Text | Media) -> Block:
    if isinstance(piece, Text):
        return _text(piece)
    return {"type": "text", "text": left_out(piece) if _media(piece) is None else f"[{piece.kind}] {SHOWN}"}


def _said(message: Message, spelled: Spelling) -> Iterator[dict[str, Any]]:
    role = message.extra.get("role") if message.role == "system" else None
    blocks = [block for part in message.parts if (block := _block(part, message.role)) is not None]
    calls = [_call(call, spelled) for call in message.calls] if message.role == "assistant" else []
    fields = _fields(message)
    if not blocks and not calls and "audio" not in fields:
        return
    raw: dict[str, Any] = {"role": "developer" if role == "developer" else message.role, "content": None}
    if blocks:
        raw["content"] = plainest(blocks)
    if calls:
        raw["tool_calls"] = calls
    yield {**raw, **fields}


def _fields(message: Message) -> dict[str, Any]:
    """The fields of a message that OpenAI knows, or those that speak its language."""
    fields = _vendor(message.extra)
    match message.extra:
        case {"name": str() as name} if name:
            fields["name"] = fitting([name], OPENAI_NAMES.pattern, longest=OPENAI_NAMES.longest)[name]
        case _:
            pass
    match message.extra:
        case {"audio": {"id": str() as audio}} if message.role == "assistant" and audio:
            fields["audio"] = {"id": audio}
        case _:
            pass
    return fields


def _vendor(extra: dict[str, Any]) -> dict[str, Any]:
    return {key: extra[key] for key in extra if key in VENDORS and extra[key] is not None} if extra else {}


def _block(part: Part, role: str) -> Block | None:
    match part:
        case Text(text=text) if not text.strip():
            return None
        case Text(text=text, extra=extra) if role == "assistant" and is_refusal(extra):
            return {"type": "refusal", "refusal": text}
        case Text():
            return _text(part)
        case Media():
            block = _media(part) if role == "user" else None
            return {"type": "text", "text": left_out(part)} if block is None else block
        case _:
            return None


def _text(part: Text) -> Block:
    return {"type": "text", "text": part.text, **_vendor(part.extra)}


def _media(media: Media) -> Block | None:
    """The block of an image, a file or a sound; None if OpenAI does not take it."""
    content = held(FORMAT, media)
    if content is None:
        return _by_reference(media)
    match kind_of(content.media_type):
        case "image":
            return _image(data_uri(*content), media)
        case "audio":
            sound = {"data": content.content, "format": SOUNDS[content.media_type]}
            return {"type": "input_audio", "input_audio": sound, **_vendor(media.extra)}
        case "file":
            file = {"filename": file_name(media), "file_data": data_uri(*content)}
            return {"type": "file", "file": file, **_vendor(media.extra)}


def _by_reference(media: Media) -> Block | None:
    match media.extra:
        case {"type": "file", "file": {"file_id": str() as file_id}} if file_id:
            return {"type": "file", "file": {"file_id": file_id}}
        case {"type": "file", "file": {"file_data": str() as bytes_of, **named}} if bytes_of != media.reference:
            # Older logs hold the whole block here.
            return _media(Media(kind="file", reference=bytes_of, extra={"file": named}))
        case _:
            address = fetched(FORMAT, media)
            return None if address is None else _image(address, media)


def _image(address: str, media: Media) -> Block:
    detail = media.extra.get("detail")
    shown = {"detail": detail} if isinstance(detail, str) and detail in _DETAILS else {}
    beside = fields_of(media.extra, FORMAT).get("block", {})
    return {"type": "image_url", "image_url": {"url": address, **shown}, **_vendor(beside)}


def _call(call: ToolCall, spelled: Spelling) -> Block:
    call_id, name = spelled.ids[call.id], spelled.names[call.name]
    custom = custom_input(call)
    if custom is not None:
        return {"id": call_id, "type": "custom", "custom": {"name": name, "input": custom}, **_vendor(call.extra)}
    function = {"name": name, "arguments": call.arguments}
    return {"id": call_id, "type": "function", "function": function, **_vendor(call.extra)}
