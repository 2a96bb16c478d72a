"""A request by the rules of Gemini, ready to send."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from foveate.log.foreign import fields_of
from foveate.log.messages import Media, Message, Part, Text, Thinking, ToolCall, ToolResult
from foveate.wire.attachments import inline, is_address, left_out
from foveate.wire.format import Request
from foveate.wire.gemini_parts import NAME, call_of, media_of, part_of, response_of
from foveate.wire.names import fitting
from foveate.wire.tools import gemini_tools

LONGEST_NAME: Final = 64
VALID_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")
IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
OTHER_MEDIA: Final = ("audio/", "video/", "text/", "application/pdf")
OPENING: Final = "(The conversation begins with what you said.)"
"""What stands before words of the model that come first, as a request begins with the user."""
_ENDINGS: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "pdf": "application/pdf",
    "mp3": "audio/mp3",
    "wav": "audio/wav",
    "mp4": "video/mp4",
    "txt": "text/plain",
}


def lower(request: Request) -> dict[str, Any]:
    """The keywords of a call: `contents`, `systemInstruction`, `tools`.

    System messages before all others join the instruction; later ones are said as the user's. Thoughts are sent only
    with their signature. The names of `tools` stay as they are: the answer comes back under them.
    """
    lowering = _lowering(request)
    leading = next((at for at, one in enumerate(request.messages) if one.role != "system"), len(request.messages))
    system = [request.system or "", *(message.text for message in request.messages[:leading])]
    contents: list[dict[str, Any]] = []
    for message in request.messages[leading:]:
        for role, parts in _turns(message, lowering):
            if not parts:
                continue
            if contents and contents[-1]["role"] == role:
                contents[-1]["parts"] += parts
            else:
                contents.append({"role": role, "parts": parts})
    if contents and contents[0]["role"] == "model":
        contents.insert(0, {"role": "user", "parts": [{"text": OPENING}]})
    tools = gemini_tools(request.tools)
    said = [{"text": text} for text in system if text.strip()]
    return {
        "contents": contents,
        **({"systemInstruction": {"parts": said}} if said else {}),
        **({"tools": tools} if tools else {}),
    }


def takes(media_type: str) -> bool:
    """Whether the provider takes media of a type."""
    return media_type in IMAGES or media_type.startswith(OTHER_MEDIA)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lowering:
    """What is known of the whole request: tool messages by the call they answer, and the names to send."""

    answers: dict[str, Message]
    names: dict[str, str]


def _lowering(request: Request) -> _Lowering:
    names = [call.name for message in request.messages for call in message.calls]
    return _Lowering(
        answers={message.result.call_id: message for message in request.messages if message.result is not None},
        names=fitting(names, VALID_NAME, longest=LONGEST_NAME),
    )


def _turns(message: Message, lowering: _Lowering) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """What a message says, by role; calls are followed by their responses, in the order of the calls."""
    if message.result is not None:
        return
    if message.role != "assistant":
        yield "user", [part for one in message.parts if (part := _told(one)) is not None]
        return
    answered = [call for call in message.calls if call.id in lowering.answers]
    yield "model", [part for one in message.parts if (part := _said(one, answered, lowering)) is not None]
    yield "user", [_response(call, lowering.answers[call.id], lowering) for call in answered]
    # Media stand behind all responses: the provider wants as many responses as calls before anything else.
    yield "user", [media for call in answered for media in _attached(lowering.answers[call.id])]


def _said(part: Part, answered: list[ToolCall], lowering: _Lowering) -> dict[str, Any] | None:
    signature = fields_of(part.extra, NAME).get("part", {}).get("thoughtSignature")
    signed = {"thoughtSignature": signature} if isinstance(signature, str) and signature else {}
    match part:
        case Text() | Thinking() if "raw" in fields_of(part.extra, NAME):
            return _echo(part)
        case Thinking(text=text):
            return {"text": text, "thought": True, **signed} if signed else None
        case Text(text=text):
            return {"text": text, **signed} if text.strip() else None
        case ToolCall() if part in answered:
            return {"functionCall": _call(part, lowering), **signed}
        case Media():
            return {**_media(part), **signed}
        case _:
            return None


def _told(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(extra=extra) if "raw" in fields_of(extra, NAME):
            return _echo(part)
        case Text(text=text):
            return {"text": text} if text.strip() else None
        case Media():
            return _media(part)
        case _:
            return None


def _echo(part: Part) -> dict[str, Any] | None:
    """A part of another kind as it came, unless it says nothing."""
    echo = part_of(part)
    if not echo or (isinstance(echo.get("text"), str) and not echo["text"].strip() and "thoughtSignature" not in echo):
        return None
    return echo


def _call(call: ToolCall, lowering: _Lowering) -> dict[str, Any]:
    return call_of(call, is_named=_is_named(call), name=lowering.names[call.name])


def _is_named(call: ToolCall) -> bool:
    return fields_of(call.extra, NAME).get("minted") is False


def _response(call: ToolCall, message: Message, lowering: _Lowering) -> dict[str, Any]:
    result = message.result or ToolResult(call_id=call.id, text="")
    named = {"id": call.id} if _is_named(call) else {}
    response = response_of(result, failed=message.extra.get("is_error") is True)
    return {"functionResponse": {**named, "name": lowering.names[call.name], "response": response}}


def _attached(message: Message) -> list[dict[str, Any]]:
    return [_media(one) for one in message.result.media] if message.result is not None else []


def _media(media: Media) -> dict[str, Any]:
    """Media the provider takes, or words that they were there."""
    held = inline(media.reference)
    if held is not None and takes(held.media_type):
        return {"inlineData": {"mimeType": held.media_type, "data": held.content}}
    media_type = media.media_type or _ENDINGS.get(media.reference.rpartition(".")[2].lower(), "")
    own = "file" in fields_of(media.extra, NAME)
    if own and (not media.media_type or takes(media.media_type)):
        return media_of(media)
    if is_address(media.reference) and takes(media_type):
        return {"fileData": {"mimeType": media_type, "fileUri": media.reference}}
    return {"text": left_out(media)}
