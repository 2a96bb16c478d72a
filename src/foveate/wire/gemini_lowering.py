"""A request by the rules of Gemini, ready to send."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from foveate.log.foreign import fields_of
from foveate.log.messages import Media, Message, Part, Text, Thinking, ToolCall, ToolResult
from foveate.wire.answer_format import answer_format
from foveate.wire.attachments import fetched, held, left_out, takes, type_of
from foveate.wire.data_uri import kind_of
from foveate.wire.format import OPENING, Request
from foveate.wire.gemini_parts import NAME, call_of, echo_of, response_of, signature_of
from foveate.wire.names import ANY, GEMINI_NAMES, spelling
from foveate.wire.tools import gemini_tools

UNSIGNED: Final = "skip_thought_signature_validator"
"""What the provider takes for the signature of a call that it did not make itself."""


def lower(request: Request) -> dict[str, Any]:
    """The keywords of a call: `contents`, `systemInstruction`, `tools`, `generationConfig`.

    System messages before all others join the instruction; later ones are said as the user's. Thoughts are sent only
    with their signature. Where a content has calls, newer models want the first of them signed: one that has no
    signature gets the placeholder that is documented for this, wherever it stands, so that the bytes of a content stay
    the same as the conversation goes on.
    """
    lowering = _lowering(request)
    leading = next((at for at, one in enumerate(request.messages) if one.role != "system"), len(request.messages))
    system = [request.system or "", *(_prompt(message) for message in request.messages[:leading])]
    contents: list[dict[str, Any]] = []
    for message in request.messages[leading:]:
        for role, parts in _turns(message, lowering):
            if not parts:
                continue
            if contents and contents[-1]["role"] == role:
                contents[-1]["parts"] += parts
            else:
                contents.append({"role": role, "parts": parts})
    if not contents or contents[0]["role"] == "model":
        contents.insert(0, {"role": "user", "parts": [{"text": OPENING}]})
    tools = gemini_tools(request.tools, lowering.names)
    said = [{"text": text} for text in system if text.strip()]
    return {
        "contents": [_signed(content) for content in contents],
        **({"systemInstruction": {"parts": said}} if said else {}),
        **({"tools": tools} if tools else {}),
        **_config(request.response_format),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lowering:
    """What is known of the whole request: tool messages by the call they answer, and the names to send."""

    answers: Mapping[str, Message]
    names: Mapping[str, str]


def _lowering(request: Request) -> _Lowering:
    return _Lowering(
        answers={message.result.call_id: message for message in request.messages if message.result is not None},
        names=spelling(request, names=GEMINI_NAMES, ids=ANY).names,
    )


def _prompt(message: Message) -> str:
    """What a message says as part of the instruction, which is text alone."""
    shown = [part for part in message.parts if isinstance(part, Text | Media)]
    return "\n".join(left_out(part) if isinstance(part, Media) else part.text for part in shown)


def _config(response_format: dict[str, Any] | None) -> dict[str, Any]:
    asked = answer_format(response_format)
    if asked is None:
        return {}
    schema = {} if asked.schema is None else {"responseJsonSchema": asked.schema}
    return {"generationConfig": {"responseMimeType": "application/json", **schema}}


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
    signed = signature_of(fields_of(part.extra, NAME).get("part", {}))
    if (echo := echo_of(part)) is not None:
        return echo
    match part:
        case Thinking(text=text):
            return {"text": text, "thought": True, **signed} if signed else None
        case Text(text=text):
            return {"text": text, **signed} if text.strip() else None
        case ToolCall() if part in answered:
            call = call_of(part, is_named=_is_named(part), name=lowering.names[part.name])
            return {"functionCall": call, **signed}
        case Media():
            return {**_media(part), **signed}
        case _:
            return None


def _told(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text=text):
            return {"text": text} if text.strip() else None
        case Media():
            return _media(part)
        case _:
            return None


def _signed(content: dict[str, Any]) -> dict[str, Any]:
    """A content whose first call is signed, if it has calls."""
    at = next((at for at, part in enumerate(content["parts"]) if "functionCall" in part), None)
    if at is None or "thoughtSignature" in content["parts"][at]:
        return content
    parts = list(content["parts"])
    parts[at] = {**parts[at], "thoughtSignature": UNSIGNED}
    return {**content, "parts": parts}


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
    if (content := held(NAME, media)) is not None:
        return {"inlineData": {"mimeType": content.media_type, "data": content.content}}
    media_type = type_of(media)
    own = "file" in fields_of(media.extra, NAME)
    if own and (not media_type or takes(NAME, kind_of(media_type), media_type)):
        return {"fileData": {**({"mimeType": media_type} if media_type else {}), "fileUri": media.reference}}
    if media_type and (address := fetched(NAME, media)) is not None:
        return {"fileData": {"mimeType": media_type, "fileUri": address}}
    return {"text": left_out(media)}
