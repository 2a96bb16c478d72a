"""OpenAI chat messages, both ways.

What comes in goes out again byte for byte, but for half characters, which are replaced. `is_error` and `pinned` are for
Foveate alone and stay here. Blocks of types that Foveate has no part for are opaque.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeGuard

import msgspec

from foveate.errors import MessageError
from foveate.log.messages import (
    Media,
    Message,
    MessageMeta,
    Opaque,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    fields_of,
    foreign,
    has_content,
)
from foveate.log.text import encodable
from foveate.wire.fields import arguments_object, arguments_text, mapping, name_of, plainest, rest, unknown_role
from foveate.wire.format import Where
from foveate.wire.opaque import without_alien_parts
from foveate.wire.openai_blocks import (
    FORMAT,
    block_of,
    content_parts,
    extra_of,
    is_responses_media,
    is_telling,
    wire_fields,
)
from foveate.wire.originals import NOTES, RAW, difference, rewritten
from foveate.wire.pieces import follows, joined, listed, outline, split

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_KNOWN: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "id"})
_PLAIN: Final = {
    **dict.fromkeys(("system", "user", "assistant"), ("role", "content")),
    "tool": ("role", "tool_call_id", "content"),
}
"""The fields of messages that hold a text and nothing else, in the order in which they are written."""
FOR_FOVEATE: Final = ("is_error", "pinned")
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
_NOT_SAID: Final = (
    VENDORS
    | _KNOWN
    | {*FOR_FOVEATE, "name", "refusal", "annotations", "function_call", "parsed", "tool_call_id"}
    # How messages of other formats say that they are one.
    | {"type"}
)
_LEGACY: Final = "function_call"
_BESIDE: Final = "beside"
_NONE: Final[frozenset[str]] = frozenset()


def recognises(raw: object) -> bool:
    """Whether a raw message can only be an OpenAI chat message."""
    if not isinstance(raw, Mapping) or (raw.get("role") == "developer" and _is_item(raw)):
        return False
    if "tool_calls" in raw or "tool_call_id" in raw or raw.get("role") in ("tool", "developer"):
        return True
    if isinstance(raw.get(_LEGACY), Mapping) or (raw.get("role") == "function" and "parts" not in raw):
        return "role" in raw
    content = raw.get("content")
    if content is None and raw.get("role") == "assistant":
        # No other format has roles and leaves the content out; an item of Responses says its type.
        return not {"type", "parts", "data", "kind"} & raw.keys()
    return "role" in raw and isinstance(content, list | tuple) and any(is_telling(block) for block in content)


def _is_item(raw: Mapping[str, Any]) -> bool:
    """Whether a message of the developer can only be an item of Responses: both formats have such messages."""
    content = raw.get("content")
    blocks = content if isinstance(content, list | tuple) else ()
    return raw.get("type") == "message" or any(map(is_responses_media, blocks))


def decode(raw: object, *, where: str = "message") -> Message:
    """The message of an OpenAI chat dict; a malformed shape is refused with a `MessageError`."""
    if isinstance(raw, Message):
        return raw
    if not isinstance(raw, Mapping):
        raise MessageError(f"{where}: expected a mapping with `role`, got {type(raw).__name__}")
    message = _decoded(raw, where)
    if tuple(raw) == _PLAIN.get(raw["role"]) and isinstance(raw["content"], str):
        # The commonest messages: nothing of them can be written in two ways.
        return message
    came = {key: value for key, value in raw.items() if key not in FOR_FOVEATE}
    notes = difference(came, _encoded(message))
    if not notes:
        return message
    known = fields_of(message.extra, FORMAT)
    return msgspec.structs.replace(message, extra={**message.extra, **foreign(FORMAT, {**known, **notes})})


def _decoded(raw: Mapping[str, Any], where: str) -> Message:
    role = raw.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise unknown_role(role, _ROLES, where)
    if "parts" in raw and "content" not in raw and "tool_calls" not in raw:
        raise MessageError(f"{where}: `parts` is no field of an OpenAI chat message; give `content`")
    # An id is nothing a provider wants to hear, so it is kept apart from what is sent.
    noted = {**(rest({"id": raw["id"]}, _NONE, where) if "id" in raw else {}), "form": _form(raw)}
    if role == "function":
        noted["role"] = role
    known = _KNOWN if role != "assistant" else _KNOWN | _read_of_assistant(raw)
    extra = extra_of(rest(raw, known, where), **noted)
    if role == "developer":
        extra["role"] = role
    parts = _tool_parts(raw, where) if _ROLES[role] == "tool" else _said_parts(raw, role, where)
    if role == "assistant" and not any(map(has_content, parts)) and (unknown := unknown_fields(raw)):
        # All that the message says: a sound that the provider keeps, or what nobody here knows.
        said = rest({key: raw[key] for key in unknown}, _NONE, where)
        parts = (*parts, Opaque(format=FORMAT, raw=said, extra={"whole": True}))
        extra = extra_of(rest(raw, known | said.keys(), where), **noted)
    meta = MessageMeta(pinned=raw.get("pinned") is True)
    return Message(id="", role=_ROLES[role], parts=parts, meta=meta, extra=extra)


def unknown_fields(raw: Mapping[str, Any]) -> list[str]:
    """The fields by which a message says something beside its content and its calls."""
    return [str(key) for key, value in raw.items() if value is not None and value != [] and key not in _NOT_SAID]


def is_whole(part: Part) -> TypeGuard[Opaque]:
    """Whether a part is fields of a message, and no block in it."""
    return isinstance(part, Opaque) and part.extra.get("whole") is True


def is_original(message: Message) -> bool:
    """Whether a message is as it came from this format: what a pass reduced has lost its notes."""
    return "form" in fields_of(message.extra, FORMAT)


def is_legacy(message: Message) -> bool:
    """Whether a message calls a function, or is what it gave, as was usual before there were tools."""
    if message.result is not None:
        return fields_of(message.extra, FORMAT).get("role") == "function"
    return any(fields_of(call.extra, FORMAT).get(_LEGACY) for call in message.calls)


def encode(message: Message) -> dict[str, Any]:
    """The OpenAI chat dict of a message."""
    message = without_alien_parts(message, FORMAT)
    given = fields_of(message.extra, FORMAT)
    raw = given.get(RAW)
    if isinstance(raw, dict) and _same(_decoded(raw, "original"), message):
        return dict(raw)
    return rewritten(_encoded(message), given)


def _same(original: Message, message: Message) -> bool:
    """Whether a message says what its original did."""
    notes = {key: value for key, value in fields_of(message.extra, FORMAT).items() if key not in NOTES}
    extra = {key: value for key, value in message.extra.items() if key not in FOR_FOVEATE and key != f"@{FORMAT}"}
    return (original.role, original.parts) == (message.role, message.parts) and original.extra == {
        **extra,
        **foreign(FORMAT, notes),
    }


def _encoded(message: Message) -> dict[str, Any]:
    given = fields_of(message.extra, FORMAT)
    fields = {**({"id": given["id"]} if "id" in given else {}), **_wire_extra(message)}
    result = message.result if message.role == "tool" else None
    if result is not None:
        if given.get("role") == "function":
            return {"role": "function", "content": _result(result), **fields}
        return {"role": "tool", "tool_call_id": result.call_id, "content": _result(result), **fields}
    beside = [part for part in message.parts if isinstance(part, Text) and part.extra and _is_beside(part)]
    for part in message.parts:
        if is_whole(part):
            fields = {**part.raw, **fields}
    all_calls = message.calls
    content = _content(message, given.get("form"), beside, all_calls)
    out: dict[str, Any] = {"role": message.role, "content": content}
    if given.get("form") == "absent" and content in (None, ""):
        del out["content"]
    calls = [call for call in all_calls if not fields_of(call.extra, FORMAT).get(_LEGACY)] if all_calls else []
    if calls:
        out["tool_calls"] = [_encoded_call(call) for call in calls]
    for call in all_calls[len(calls) :]:
        out[_LEGACY] = _function(call)
    for part in beside:
        out["refusal"] = part.text
    out.update(fields)
    return out


def decode_all(raws: Sequence[object], where: Where) -> list[Message]:
    """The messages of OpenAI chat dicts, in order."""
    return [decode(raw, where=where(index)) for index, raw in enumerate(raws)]


def encode_all(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The OpenAI chat dicts of messages, in order."""
    return [encode(message) for message in messages]


def custom_input(call: ToolCall) -> str | None:
    """The free text of a call that has such instead of arguments; None for any other."""
    if not isinstance(fields_of(call.extra, FORMAT).get("custom"), dict):
        return None
    text = arguments_object(call.arguments).get("input")
    return text if isinstance(text, str) else call.arguments


def _wire_extra(message: Message) -> dict[str, Any]:
    # What a caller marks for Foveate alone does not go to the provider.
    fields = wire_fields(message.extra)
    return {key: value for key, value in fields.items() if key not in FOR_FOVEATE} if fields else fields


def call_of_unknown_type(call: ToolCall) -> dict[str, Any] | None:
    """A call of a type that nobody knows as it came, under its id by now; None if it asks for something else by now."""
    raw = fields_of(call.extra, FORMAT).get("unknown")
    if not isinstance(raw, dict):
        return None
    asked = raw.get(raw["type"])
    same = arguments_text({} if asked is None else asked, "call") == call.arguments
    return {**raw, "id": call.id} if same else None


def _encoded_call(call: ToolCall) -> dict[str, Any]:
    if (unknown := call_of_unknown_type(call)) is not None:
        return unknown
    ours = fields_of(call.extra, FORMAT)
    text = custom_input(call)
    if text is not None:
        given = {"name": call.name, "input": text, **ours["custom"]}
        return {"id": call.id, "type": "custom", "custom": given, **wire_fields(call.extra)}
    return {"id": call.id, "type": "function", "function": _function(call), **wire_fields(call.extra)}


def _function(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.arguments, **fields_of(call.extra, FORMAT).get("function", {})}


def _form(raw: Mapping[str, Any]) -> str:
    """How the content of a message is written."""
    match raw.get("content"):
        case str():
            return "text"
        case None:
            return "null" if "content" in raw else "absent"
        case _:
            return "blocks"


def _content(message: Message, form: object, beside: Sequence[Text], calls: Sequence[ToolCall]) -> Any:
    """The content of a message without what stood `beside` it."""
    shown = [
        part
        for part in message.parts
        if isinstance(part, Text | Media | Opaque) and part not in beside and not is_whole(part)
    ]
    if form == "blocks":
        return [block_of(part) for part in shown]
    if not shown and form == "null":
        return None
    if not shown:
        return None if calls or beside else ""
    if len(shown) == 1 and isinstance(shown[0], Text) and not shown[0].extra:
        return shown[0].text
    return plainest([block_of(part) for part in shown])


def _is_beside(part: Text) -> bool:
    """Whether a text is a refusal that stood beside the content."""
    return fields_of(part.extra, FORMAT).get("refusal") == _BESIDE


def _result(result: ToolResult) -> Any:
    """The content of a tool message: text, or blocks if it came with more than one text."""
    if not result.media and not result.extra:
        return result.text
    shape = fields_of(result.extra, FORMAT).get("content")
    blocks = [block_of(piece) for piece in split(result, shape)]
    return blocks if follows(result, shape) else plainest(blocks) or ""


def _said_parts(raw: Mapping[str, Any], role: str, where: str) -> tuple[Part, ...]:
    parts: list[Part] = [*content_parts(raw.get("content"), where)]
    calls = raw.get("tool_calls")
    if calls is not None and not isinstance(calls, list | tuple):
        raise MessageError(f"{where}: `tool_calls` must be a list, got {type(calls).__name__}")
    if role != "assistant":
        if calls:
            raise MessageError(f"{where}: only an assistant message has `tool_calls`, not {role!r}")
        return tuple(parts)
    if (refusal := _refused(raw)) is not None:
        parts.append(Text(text=encodable(refusal), extra=foreign(FORMAT, {"refusal": _BESIDE})))
    parts += [_call(call, f"{where}, tool call {index}") for index, call in enumerate(calls or ())]
    if _has_legacy_call(raw):
        parts.append(_legacy_call(mapping(raw[_LEGACY], f"{where}, `{_LEGACY}`"), f"{where}, `{_LEGACY}`"))
    return tuple(parts)


def _read_of_assistant(raw: Mapping[str, Any]) -> frozenset[str]:
    """The fields that are read of a response, and of no other message."""
    fields = {_LEGACY} if _has_legacy_call(raw) else set[str]()
    return frozenset(fields | {"refusal"} if _refused(raw) else fields)


def _refused(raw: Mapping[str, Any]) -> str | None:
    """What a response says in the place of its content."""
    refusal = raw.get("refusal")
    return refusal if isinstance(refusal, str) and refusal.strip() else None


def _has_legacy_call(raw: Mapping[str, Any]) -> bool:
    """Whether a response calls a function as was usual before there were tools."""
    return raw.get(_LEGACY) is not None


def _legacy_call(raw: Mapping[str, Any], where: str) -> ToolCall:
    name = name_of(raw, "name", where)
    others = rest(raw, frozenset({"name", "arguments"}), where)
    noted = {_LEGACY: True, **({"function": others} if others else {})}
    arguments = _arguments(raw.get("arguments", "{}"), where)
    return ToolCall(id=_legacy_id(name), name=name, arguments=arguments, extra=foreign(FORMAT, noted))


def _legacy_id(name: str) -> str:
    """The id by which such a call and its result find each other: they have nothing but the name in common."""
    return f"{_LEGACY}-{name}"


def _call(raw: object, where: str) -> ToolCall:
    if not isinstance(raw, Mapping):
        raise MessageError(f"{where}: expected a mapping, got {type(raw).__name__}")
    call_id = raw.get("id")
    if not isinstance(call_id, str) or not call_id:
        raise MessageError(f"{where}: `id` must be a non-empty string, got {call_id!r:.80}; every call needs one")
    match raw:
        case {"type": "custom", "custom": {"name": str() as name, "input": str() as text, **others}}:
            arguments = json.dumps({"input": encodable(text)}, ensure_ascii=False)
            extra = extra_of(rest(raw, frozenset({"id", "type", "custom"}), where), custom=rest(others, _NONE, where))
        case {"function": {"name": str() as name, **others}}:
            arguments = _arguments(others.pop("arguments", "{}"), where)
            more = rest(others, _NONE, where)
            fields = rest(raw, frozenset({"id", "type", "function"}), where)
            extra = extra_of(fields, **({"function": more} if more else {}))
        case {"type": str() as kind} if kind not in ("", "function", "custom"):
            asked = raw.get(kind)
            named = asked.get("name") if isinstance(asked, Mapping) else None
            name = named if isinstance(named, str) and named else kind
            arguments = arguments_text({} if asked is None else asked, where)
            extra = foreign(FORMAT, {"unknown": rest(raw, _NONE, where)})
        case _:
            function = raw.get("function")
            raise MessageError(f"{where}: `function` must be a mapping with a `name`, got {function!r:.80}")
    return ToolCall(id=encodable(call_id), name=encodable(name), arguments=arguments, extra=extra)


def _arguments(arguments: object, where: str) -> str:
    if not isinstance(arguments, str | Mapping):
        raise MessageError(f"{where}: `arguments` must be JSON text, got {type(arguments).__name__}")
    return arguments_text(arguments, where)


def _tool_parts(raw: Mapping[str, Any], where: str) -> tuple[Part, ...]:
    call_id = raw.get("tool_call_id")
    if raw.get("role") == "function":
        call_id = _legacy_id(name_of(raw, "name", where))
    if not isinstance(call_id, str) or not call_id:
        raise MessageError(f"{where}: `tool_call_id` must be a non-empty string, got {call_id!r:.80}")
    pieces = content_parts(raw.get("content"), where)
    result = joined(encodable(call_id), pieces)
    shape = (listed(pieces) if _form(raw) == "blocks" else None) or outline(result, pieces)
    return (result if shape is None else msgspec.structs.replace(result, extra=foreign(FORMAT, {"content": shape})),)
