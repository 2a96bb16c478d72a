"""OpenAI Responses items, read: the parts of what the model said, and the messages of all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from foveate.errors import MessageError
from foveate.log.messages import (
    Message,
    MessageMeta,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    fields_of,
    foreign,
)
from foveate.log.text import encodable
from foveate.wire.fields import arguments_text, name_of, rest, text_of, unknown_role
from foveate.wire.responses_blocks import NAME, answer_of, block_of, parts_of
from foveate.wire.responses_items import is_hosted, note

FUNCTION: Final = "function_call"
CUSTOM: Final = "custom_tool_call"
APPROVAL: Final = "mcp_approval_response"
TOLD: Final = ("user", "system", "developer")
PROGRAMS: Final = frozenset({"additional_tools", "configuration_update", "compaction_trigger"})
"""Items by which a program sets something up, or asks for something: they are nobody's words."""
_ROLES: Final[dict[str, Role]] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_CARRIERS: Final = ("arguments", "action", "operation", "input")
"""Where calls of other kinds than functions keep what they ask for."""
_MESSAGE: Final = frozenset({"type", "role", "content", "pinned"})
_CALL: Final = frozenset({"type", "call_id", "name", "arguments"})
_CUSTOM_CALL: Final = frozenset({"type", "call_id", "name", "input"})
_OUTPUT: Final = frozenset({"type", "call_id", "output", "is_error"})
_NOTHING: Final[frozenset[str]] = frozenset()


def plain_output(result: ToolResult) -> Any:
    """The output of a result: text, or a list if media came with it."""
    if not result.media:
        return result.text
    text = [{"type": "input_text", "text": result.text}] if result.text else []
    return [*text, *(block_of(one, "input_text") for one in result.media)]


def loads_tools(item: Mapping[str, Any]) -> bool:
    """Whether an item gives the model tools: it has them for as long as the item is in the request."""
    return item.get("type") == "tool_search_output" and bool(item.get("tools"))


def is_output(item: Mapping[str, Any]) -> bool:
    kind = item.get("type")
    if not isinstance(kind, str) or not kind.endswith("_output") or is_hosted(item):
        return False
    return kind == "function_call_output" or _names_its_call(item) or _is_named_by_id(item)


def _names_its_call(item: Mapping[str, Any]) -> bool:
    call_id = item.get("call_id")
    return isinstance(call_id, str) and bool(call_id)


def _is_named_by_id(item: Mapping[str, Any]) -> bool:
    """Outputs of the local shell name their call by `id`."""
    named = item.get("id")
    return item.get("type") == "local_shell_call_output" and isinstance(named, str) and bool(named)


def is_the_models(item: Mapping[str, Any], where: str) -> bool:
    kind = item.get("type", "message")
    if not isinstance(kind, str) or not kind:
        raise MessageError(f"{where}: `type` must be a non-empty string, got {kind!r:.80}")
    if kind != "message":
        return not (is_output(item) or kind == APPROVAL or _is_a_programs(item))
    role = item.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise unknown_role(role, _ROLES, where)
    return role == "assistant"


def _is_a_programs(item: Mapping[str, Any]) -> bool:
    """Whether an item that is no message was sent by a program: it says so by its type or by a role."""
    return item.get("type") in PROGRAMS or item.get("role") in TOLD


def said_parts(item: Mapping[str, Any], before: list[Part], where: str) -> list[Part]:
    """The parts of one item of the model."""
    kind = item.get("type", "message")
    if kind == "message" and item.get("content"):
        fields = rest(item, _MESSAGE, where)
        parts: list[Part] = [*parts_of(item["content"], "output_text", where)]
        return [_marked(parts[0], fields), *parts[1:]]
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
    if kind not in ("reasoning", "message"):
        return [Opaque(format=NAME, raw=rest(item, _NOTHING, where), extra={"whole": True})]
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
    return msgspec.structs.replace(part, extra=extra)


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
        arguments=arguments_text(fields.get(carrier_of(fields), {}), where),
        extra=foreign(NAME, {"type": kind, "item": fields, **more}),
    )


def carrier_of(fields: Mapping[str, Any]) -> str:
    return next((field for field in _CARRIERS if field in fields), _CARRIERS[0])


def told_message(item: Mapping[str, Any], where: str) -> Message:
    if item.get("type") == APPROVAL:
        return Message(id="", role="user", parts=(_ran(item, {}, where),))
    if item.get("type", "message") != "message":
        part = Opaque(format=NAME, raw=rest(item, _NOTHING, where), extra={"whole": True})
        return Message(id="", role="system", parts=(part,))
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


def result_message(item: Mapping[str, Any], where: str) -> Message:
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
    meta = MessageMeta(pinned=loads_tools(item))
    return Message(id="", role="tool", parts=(result,), meta=meta, extra=_own_flag(item, "is_error", where))


def _own_flag(item: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    """What a caller marks for Foveate, if anything."""
    return rest({name: item[name]}, _NOTHING, where) if name in item else {}
