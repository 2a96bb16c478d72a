"""OpenAI chat messages, both ways."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from foveate.errors import MessageError
from foveate.log.foreign import domestic
from foveate.log.messages import Media, Message, MessageMeta, Part, Role, Text, ToolCall, ToolResult
from foveate.log.text import encodable
from foveate.wire.fields import arguments_text, rest
from foveate.wire.format import Request, Where

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_KNOWN: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "id"})


def decode(raw: object, *, where: str = "message") -> Message:
    """The message of an OpenAI chat dict; a malformed shape is refused with a `MessageError`."""
    if isinstance(raw, Message):
        return raw
    if not isinstance(raw, Mapping):
        raise MessageError(f"{where}: expected a mapping with `role`, got {type(raw).__name__}")
    role = raw.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise MessageError(f"{where}: unknown `role` {role!r}; known are {', '.join(_ROLES)}")
    extra = rest(raw, _KNOWN, where)
    if role == "developer":
        extra["role"] = role
    parts = _tool_parts(raw, where) if role == "tool" else _said_parts(raw, role, where)
    return Message(id="", role=_ROLES[role], parts=parts, meta=_meta(raw), extra=extra)


def encode(message: Message) -> dict[str, Any]:
    """The OpenAI chat dict of a message."""
    result = message.result
    if message.role == "tool" and result is not None:
        return {"role": "tool", "tool_call_id": result.call_id, "content": _result(result), **_wire_extra(message)}
    out: dict[str, Any] = {"role": message.role, "content": _content(message)}
    calls = message.calls
    if calls:
        out["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
                **domestic(call.extra),
            }
            for call in calls
        ]
    out.update(_wire_extra(message))
    return out


def decode_all(raws: Sequence[object], where: Where) -> list[Message]:
    """The messages of OpenAI chat dicts, in order."""
    return [decode(raw, where=where(index)) for index, raw in enumerate(raws)]


def encode_all(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The OpenAI chat dicts of messages, in order."""
    return [encode(message) for message in messages]


def lower(request: Request) -> list[dict[str, Any]]:
    """The messages of a request, system prompt first; tools and response format are sent beside them."""
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, *encode_all(request.messages)]


def _meta(raw: Mapping[str, Any]) -> MessageMeta:
    return MessageMeta(pinned=raw.get("pinned") is True)


def _wire_extra(message: Message) -> dict[str, Any]:
    # What a caller marks for Foveate alone does not go to the provider.
    return {key: value for key, value in domestic(message.extra).items() if key not in ("is_error", "pinned")}


def _content(message: Message) -> Any:
    shown = [part for part in message.parts if isinstance(part, Text | Media)]
    if not shown:
        return None if message.calls else ""
    if len(shown) == 1 and isinstance(shown[0], Text) and not domestic(shown[0].extra):
        return shown[0].text
    return [_block(part) for part in shown]


def _result(result: ToolResult) -> Any:
    """The content of a tool message: text, or what came with images as it came."""
    if not result.media:
        return result.text
    text = [_block(Text(text=result.text))] if result.text else []
    return [*text, *(_block(one) for one in result.media)]


def _block(part: Text | Media) -> dict[str, Any]:
    match part:
        case Text(text=text, extra=extra):
            return {"type": "text", "text": text, **domestic(extra)}
        case Media(kind="image", reference=reference, extra=extra):
            return {"type": "image_url", "image_url": {"url": reference, **domestic(extra)}}
        case Media(extra=extra):
            return dict(extra)


def _said_parts(raw: Mapping[str, Any], role: str, where: str) -> tuple[Part, ...]:
    parts: list[Part] = [*_content_parts(raw.get("content"), where)]
    calls = raw.get("tool_calls")
    if calls is not None and not isinstance(calls, list | tuple):
        raise MessageError(f"{where}: `tool_calls` must be a list, got {type(calls).__name__}")
    if calls and role != "assistant":
        raise MessageError(f"{where}: only an assistant message has `tool_calls`, not {role!r}")
    parts += [_call(call, f"{where}, tool call {index}") for index, call in enumerate(calls or ())]
    return tuple(parts)


def _call(raw: object, where: str) -> ToolCall:
    if not isinstance(raw, Mapping):
        raise MessageError(f"{where}: expected a mapping, got {type(raw).__name__}")
    call_id = raw.get("id")
    if not isinstance(call_id, str) or not call_id:
        raise MessageError(f"{where}: `id` must be a non-empty string, got {call_id!r}; every call needs one")
    function = raw.get("function")
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise MessageError(f"{where}: `function` must be a mapping with a `name`, got {function!r}")
    arguments = function.get("arguments", "{}")
    if not isinstance(arguments, str | Mapping):
        raise MessageError(f"{where}: `arguments` must be JSON text, got {type(arguments).__name__}")
    extra = rest(raw, frozenset({"id", "type", "function"}), where)
    return ToolCall(
        id=encodable(call_id),
        name=encodable(function["name"]),
        arguments=arguments_text(arguments, where),
        extra=extra,
    )


def _tool_parts(raw: Mapping[str, Any], where: str) -> tuple[Part, ...]:
    call_id = raw.get("tool_call_id")
    if not isinstance(call_id, str) or not call_id:
        raise MessageError(f"{where}: `tool_call_id` must be a non-empty string, got {call_id!r}")
    parts = _content_parts(raw.get("content"), where)
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    media = tuple(part for part in parts if isinstance(part, Media))
    return (ToolResult(call_id=encodable(call_id), text=text, media=media),)


def _content_parts(content: object, where: str) -> list[Text | Media]:
    match content:
        case None:
            return []
        case str():
            return [Text(text=encodable(content))]
        case list() | tuple():
            return [_part(block, f"{where}, content block {index}") for index, block in enumerate(content)]
        case _:
            raise MessageError(f"{where}: `content` must be text or a list of blocks, got {type(content).__name__}")


def _part(block: object, where: str) -> Text | Media:
    match block:
        case str():
            return Text(text=encodable(block))
        case {"type": "text" | "input_text" | "output_text", "text": str() as text, **more}:
            extra = rest(more, frozenset(), where)
            return Text(text=encodable(text), extra=extra)
        case {"type": "image_url", "image_url": {"url": str() as url, **more}}:
            return Media(kind="image", reference=encodable(url), extra=rest(more, frozenset(), where))
        case {"type": "image_url", "image_url": str() as url}:
            return Media(kind="image", reference=url)
        case {"type": "file" | "input_audio" as kind, **more}:
            extra = {"type": kind, **rest(more, frozenset(), where)}
            reference = msgspec.json.encode(extra).decode()
            return Media(kind="file" if kind == "file" else "audio", reference=reference, extra=extra)
        case {"type": kind}:
            raise MessageError(f"{where}: unknown `type` {kind!r}; known are text, image_url, file, input_audio")
        case _:
            raise MessageError(f"{where}: expected text or a block with `type`, got {block!r:.80}")


def recognises(raw: object) -> bool:
    """Whether a raw message can only be an OpenAI chat message."""
    return isinstance(raw, Mapping) and (
        "tool_calls" in raw or "tool_call_id" in raw or raw.get("role") in ("tool", "developer")
    )
