"""OpenAI Responses items, both ways.

Consecutive items of the model (reasoning, messages, calls, and what the provider ran itself) are one assistant message
with its parts in order; each output of a call is a tool message. What the provider ran itself is kept as it came behind
what can be read of it, which other formats send; an item of which nothing can be read is kept on a thinking part, which
they do not.

What went in comes out again, up to this: a message gets its `type`; content that is text becomes one block;
`arguments` given as an object become JSON text; a message without content has an empty list; `pinned` and `is_error`
are meant for Foveate and stay here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from foveate.errors import MessageError
from foveate.log.foreign import fields_of, foreign
from foveate.log.messages import Media, Message, MessageMeta, Part, Role, Text, Thinking, ToolCall, ToolResult
from foveate.log.text import encodable
from foveate.wire.fields import arguments_object, arguments_text, mapping, name_of, rest, text_of
from foveate.wire.format import Where
from foveate.wire.responses_blocks import NAME, answer_of, block_of, parts_of
from foveate.wire.responses_items import is_hosted, note

FUNCTION: Final = "function_call"
CUSTOM: Final = "custom_tool_call"
APPROVAL: Final = "mcp_approval_response"

_ROLES: Final[dict[str, Role]] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_OWN_TYPES: Final = frozenset(
    {"reasoning", "compaction", "compaction_summary", "item_reference", "mcp_list_tools", "mcp_approval_request"}
)
_OWN_ENDINGS: Final = ("_call", "_call_output", "_search_output", "_approval_response")
_OWN_BLOCKS: Final = frozenset({"input_text", "output_text", "input_image", "input_file", "refusal"})
_CARRIERS: Final = ("arguments", "action", "operation", "input")
"""Where calls of other kinds than functions keep what they ask for."""
_MESSAGE: Final = frozenset({"type", "role", "content", "pinned"})
_CALL: Final = frozenset({"type", "call_id", "name", "arguments"})
_CUSTOM_CALL: Final = frozenset({"type", "call_id", "name", "input"})
_OUTPUT: Final = frozenset({"type", "call_id", "output", "is_error"})
_NOTHING: Final[frozenset[str]] = frozenset()


def recognises(raw: object) -> bool:
    """Whether a raw message can only be an item of OpenAI Responses."""
    if not isinstance(raw, Mapping):
        return False
    kind, content = raw.get("type"), raw.get("content")
    if kind is None or kind == "message":
        if isinstance(content, str):
            return kind == "message" and "role" in raw
        return isinstance(content, list | tuple) and any(_is_own_block(block) for block in content)
    return isinstance(kind, str) and "role" not in raw and (kind in _OWN_TYPES or kind.endswith(_OWN_ENDINGS))


def decode(raws: Sequence[object], where: Where) -> list[Message]:
    """The messages of items, in order."""
    messages: list[Message] = []
    said: list[Part] = []
    for index, raw in enumerate(raws):
        item, place = mapping(raw, where(index)), where(index)
        if _is_the_models(item, place):
            said += _said(item, said, place)
            continue
        if said:
            messages.append(Message(id="", role="assistant", parts=tuple(said)))
            said = []
        messages.append(_result(item, place) if _is_output(item) else _told(item, place))
    if said:
        messages.append(Message(id="", role="assistant", parts=tuple(said)))
    return messages


def encode(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The items of messages, in order, as they came."""
    items: list[dict[str, Any]] = []
    kinds: dict[str, str] = {}
    for message in messages:
        result = message.result
        if result is not None:
            items.append(output_item(result, kinds.get(result.call_id, FUNCTION)))
        elif message.role == "assistant":
            items += said_items(message)
            kinds.update((call.id, kind_of(call)) for call in message.calls)
        else:
            items.append(told_item(message))
    return items


def said_items(message: Message) -> list[dict[str, Any]]:
    """The items of what the model said, in order."""
    items: list[dict[str, Any]] = []
    content: list[dict[str, Any]] | None = None
    for part in message.parts:
        kept = fields_of(part.extra, NAME)
        if (item := as_it_ran(part)) is not None:
            content = None
            items.append(dict(item))
            continue
        if isinstance(part, Text | Media):
            if content is None or "item" in kept:
                content = []
                items.append({"type": "message", "role": "assistant", "content": content, **kept.get("item", {})})
            content.append(block_of(part, "output_text"))
            continue
        content = None
        if isinstance(part, ToolCall):
            items.append(call_item(part))
        elif "item" in kept:
            items.append(dict(kept["item"]))
    return items


def told_item(message: Message) -> dict[str, Any]:
    """The item of what a user or a system prompt said."""
    item = as_it_ran(message.parts[0]) if len(message.parts) == 1 else None
    if item is not None:
        return dict(item)
    content = [block_of(part, "input_text") for part in message.parts if isinstance(part, Text | Media)]
    return {"type": "message", "role": role_of(message), "content": content, **item_fields(message.extra)}


def as_it_ran(part: Part) -> dict[str, Any] | None:
    """The item of what the provider ran itself, if a part was one and still says what can be read of it."""
    item = fields_of(part.extra, NAME).get("ran")
    return item if isinstance(item, dict) and isinstance(part, Text) and part.text == note(item) else None


def role_of(message: Message) -> str:
    """The role of a message that the model did not say."""
    return "developer" if message.extra.get("role") == "developer" else message.role


def kind_of(call: ToolCall) -> str:
    """The type of a call's item."""
    return str(fields_of(call.extra, NAME).get("type", FUNCTION))


def call_item(call: ToolCall) -> dict[str, Any]:
    """The item of a call, of the kind it came as."""
    kind, fields = kind_of(call), item_fields(call.extra)
    match kind:
        case "function_call":
            return {"type": kind, "call_id": call.id, "name": call.name, "arguments": call.arguments, **fields}
        case "custom_tool_call":
            return {"type": kind, "call_id": call.id, "name": call.name, "input": custom_input(call), **fields}
        case _:
            if not is_as_it_came(call):
                fields[_carrier(fields)] = arguments_object(call.arguments)
            return {"type": kind, "call_id": call.id, **fields}


def custom_input(call: ToolCall) -> str:
    """What a custom tool was given."""
    given = arguments_object(call.arguments)
    text = given.get("input")
    return text if isinstance(text, str) and len(given) == 1 else call.arguments


def is_as_it_came(call: ToolCall) -> bool:
    """Whether a call of another kind than functions still asks for what it asked for."""
    fields = item_fields(call.extra)
    return arguments_text(fields.get(_carrier(fields), {}), "call") == call.arguments


def output_item(result: ToolResult, kind: str) -> dict[str, Any]:
    """The item of a result; `kind` is the type of its call, for results that do not say their own."""
    kept = fields_of(result.extra, NAME)
    named = {"id" if kept.get("named") == "id" else "call_id": result.call_id}
    kind = str(kept.get("type", f"{kind}_output"))
    output = kept["output"] if answers_as_it_came(result) else plain_output(result)
    return {"type": kind, **named, "output": output, **item_fields(result.extra)}


def answers_as_it_came(result: ToolResult) -> bool:
    """Whether a result that was no plain text still says what it said."""
    kept = fields_of(result.extra, NAME)
    return "output" in kept and answer_of(kept["output"], "result") == (result.text, result.media)


def plain_output(result: ToolResult) -> Any:
    """The output of a result: text, or a list if media came with it."""
    if not result.media:
        return result.text
    text = [{"type": "input_text", "text": result.text}] if result.text else []
    return [*text, *(block_of(one, "input_text") for one in result.media)]


def item_fields(extra: Mapping[str, Any]) -> dict[str, Any]:
    """What an item says besides what has its place in a message."""
    return dict(fields_of(extra, NAME).get("item", {}))


def _is_own_block(block: object) -> bool:
    return isinstance(block, Mapping) and isinstance(block.get("type"), str) and block["type"] in _OWN_BLOCKS


def _is_output(item: Mapping[str, Any]) -> bool:
    kind = item.get("type")
    if not isinstance(kind, str) or not kind.endswith("_output"):
        return False
    return kind == "function_call_output" or _names_its_call(item) or _is_named_by_id(item)


def _names_its_call(item: Mapping[str, Any]) -> bool:
    call_id = item.get("call_id")
    return isinstance(call_id, str) and bool(call_id)


def _is_named_by_id(item: Mapping[str, Any]) -> bool:
    """Outputs of the local shell name their call by `id`."""
    named = item.get("id")
    return item.get("type") == "local_shell_call_output" and isinstance(named, str) and bool(named)


def _is_the_models(item: Mapping[str, Any], where: str) -> bool:
    kind = item.get("type", "message")
    if not isinstance(kind, str) or not kind:
        raise MessageError(f"{where}: `type` must be a non-empty string, got {kind!r:.80}")
    if kind != "message":
        return not _is_output(item) and kind != APPROVAL
    role = item.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise MessageError(f"{where}: unknown `role` {role!r:.80}; known are {', '.join(_ROLES)}")
    return role == "assistant"


def _said(item: Mapping[str, Any], before: list[Part], where: str) -> list[Part]:
    """The parts of one item of the model."""
    kind = item.get("type", "message")
    if kind == "message" and item.get("content"):
        fields = rest(item, _MESSAGE, where)
        parts: list[Part] = [*parts_of(item["content"], "output_text", where)]
        if fields or (before and isinstance(before[-1], Text | Media)):
            parts[0] = _marked(parts[0], fields)
        return parts
    if kind == FUNCTION:
        return [_call(item, where)]
    if kind == CUSTOM:
        return [_custom_call(item, where)]
    if kind.endswith("_call") and _names_its_call(item):
        return [_other_call(item, kind, _led(before), where)]
    if kind == "message" and item.get("content") not in (None, "", []):
        raise MessageError(f"{where}: `content` must be text or a list of blocks, got {item['content']!r:.80}")
    if is_hosted(item):
        return [_ran(item, _led(before), where)]
    return [Thinking(text=_thoughts(item), extra=foreign(NAME, {"item": rest(item, _NOTHING, where)}))]


def _led(before: list[Part]) -> dict[str, Any]:
    """The mark of what the provider wants back only behind the reasoning that led to it."""
    return {"led": True} if before and isinstance(before[0], Thinking) else {}


def _ran(item: Mapping[str, Any], more: dict[str, Any], where: str) -> Text:
    ran = rest(item, _NOTHING, where)
    return Text(text=note(ran), extra=foreign(NAME, {"ran": ran, **more}))


def _marked(part: Part, fields: dict[str, Any]) -> Part:
    """The first part of a message item, with what the item says of itself."""
    extra = {**part.extra, **foreign(NAME, {**fields_of(part.extra, NAME), "item": fields})}
    match part:
        case Text(text=text):
            return Text(text=text, extra=extra)
        case Media():
            return Media(kind=part.kind, reference=part.reference, media_type=part.media_type, extra=extra)
        case _:
            return part


def _thoughts(item: Mapping[str, Any]) -> str:
    """What a reasoning item lets one read of it."""
    for field in ("summary", "content"):
        blocks = item.get(field)
        if item.get("type") == "reasoning" and isinstance(blocks, list | tuple):
            texts = [block.get("text") for block in blocks if isinstance(block, Mapping)]
            words = "\n\n".join(text for text in texts if isinstance(text, str))
            if words:
                return encodable(words)
    return ""


def _call(item: Mapping[str, Any], where: str) -> ToolCall:
    arguments = item.get("arguments", "{}")
    if not isinstance(arguments, str | Mapping):
        raise MessageError(f"{where}: `arguments` must be JSON text, got {type(arguments).__name__}")
    fields = rest(item, _CALL, where)
    return ToolCall(
        id=name_of(item, "call_id", where),
        name=name_of(item, "name", where),
        arguments=arguments_text(arguments, where),
        extra=foreign(NAME, {"item": fields} if fields else {}),
    )


def _custom_call(item: Mapping[str, Any], where: str) -> ToolCall:
    fields = rest(item, _CUSTOM_CALL, where)
    return ToolCall(
        id=name_of(item, "call_id", where),
        name=name_of(item, "name", where),
        arguments=arguments_text({"input": text_of(item, "input", where)}, where),
        extra=foreign(NAME, {"type": CUSTOM, **({"item": fields} if fields else {})}),
    )


def _other_call(item: Mapping[str, Any], kind: str, more: dict[str, Any], where: str) -> ToolCall:
    fields = rest(item, frozenset({"type", "call_id"}), where)
    name = fields.get("name")
    return ToolCall(
        id=name_of(item, "call_id", where),
        name=name if isinstance(name, str) and name else kind.removesuffix("_call") or kind,
        arguments=arguments_text(fields.get(_carrier(fields), {}), where),
        extra=foreign(NAME, {"type": kind, "item": fields, **more}),
    )


def _carrier(fields: Mapping[str, Any]) -> str:
    return next((field for field in _CARRIERS if field in fields), _CARRIERS[0])


def _told(item: Mapping[str, Any], where: str) -> Message:
    if item.get("type") == APPROVAL:
        return Message(id="", role="user", parts=(_ran(item, {}, where),))
    role = str(item.get("role"))
    content = item.get("content")
    fields = rest(item, _MESSAGE, where)
    extra: dict[str, Any] = {"role": role} if role == "developer" else {}
    pinned = item.get("pinned") is True
    return Message(
        id="",
        role=_ROLES[role],
        parts=() if content is None else parts_of(content, "input_text", where),
        meta=MessageMeta(pinned=pinned),
        extra={
            **extra,
            **_own_flag(item, "pinned", where),
            **(foreign(NAME, {"item": fields}) if fields else {}),
        },
    )


def _result(item: Mapping[str, Any], where: str) -> Message:
    kind = str(item["type"])
    by_id = _is_named_by_id(item) and not _names_its_call(item)
    output = item.get("output", "")
    text, media = answer_of(output, where)
    result = ToolResult(call_id=name_of(item, "id" if by_id else "call_id", where), text=text, media=media)
    kept: dict[str, Any] = {"type": kind} if kind != "function_call_output" else {}
    if by_id:
        kept["named"] = "id"
    fields = rest(item, _OUTPUT | {"id"} if by_id else _OUTPUT, where)
    if fields:
        kept["item"] = fields
    if not isinstance(output, str) and plain_output(result) != output:
        kept["output"] = rest({"output": output}, _NOTHING, where)["output"]
    result = ToolResult(call_id=result.call_id, text=text, media=media, extra=foreign(NAME, kept))
    return Message(id="", role="tool", parts=(result,), extra=_own_flag(item, "is_error", where))


def _own_flag(item: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    """What a caller marks for Foveate, if anything."""
    return rest({name: item[name]}, _NOTHING, where) if name in item else {}
