"""LangChain messages read: the data of its `messages_to_dict`, of `model_dump`, or of its serialized constructors.

Everything is written again as it was, as data of `messages_to_dict`, up to this: a field that is null or an empty list
or mapping is left out; a list of one plain text is that text; the order of `tool_calls` is that of their blocks, if
they have such; a `tool_result` block in a human message becomes a tool message of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from foveate.errors import MessageError
from foveate.log.messages import Message, MessageMeta, Part, Role, ToolCall, fields_of, foreign
from foveate.log.text import encodable
from foveate.wire.fields import arguments_text, mapping, name_of, rest
from foveate.wire.format import Where
from foveate.wire.langchain_blocks import Block, answer, block_part, is_result, told_part

NAME: Final = "langchain"

ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "human": "user",
    "ai": "assistant",
    "tool": "tool",
    "function": "user",
    "chat": "user",
}
_CLASSES: Final = {
    f"{name}Message{chunk}": f"{name}Message{chunk}" if chunk else kind
    for name, kind in (
        ("System", "system"),
        ("Human", "human"),
        ("AI", "ai"),
        ("Tool", "tool"),
        ("Function", "function"),
        ("Chat", "chat"),
        ("Remove", "remove"),
    )
    for chunk in ("", "Chunk")
}
_TYPES: Final = frozenset(_CLASSES.values())
_SPEAKERS: Final[Mapping[str, Role]] = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
_KNOWN: Final = frozenset({"type", "content", "name", "tool_calls", "invalid_tool_calls", "tool_call_id", "status"})


def recognises(raw: object) -> bool:
    """Whether a raw message can only be one of LangChain."""
    if not isinstance(raw, Mapping):
        return False
    match raw:
        case {"lc": int(), "type": "constructor", "id": [*_, str() as name]}:
            return name in _CLASSES
        case {"type": str() as kind, "data": Mapping()}:
            return kind in _TYPES
        case {"type": "human" | "ai", "content": _}:
            return "role" not in raw
        case {"type": str() as kind, "content": _, "additional_kwargs": _}:
            return kind in _TYPES
        case _:
            return False


def decode(raws: Sequence[object], where: Where) -> list[Message]:
    """The messages of LangChain messages, in order."""
    return [message for index, raw in enumerate(raws) for message in _messages(raw, where(index))]


def role_of(kind: str, speaker: object = None) -> Role | None:
    """The role of a type of message, or of its chunks."""
    kind = kind.removesuffix("MessageChunk").lower()
    if kind == "chat" and isinstance(speaker, str):
        return "system" if speaker in ("system", "developer") else _SPEAKERS.get(speaker, "user")
    return ROLES.get(kind)


def _messages(raw: object, where: str) -> list[Message]:
    kind, fields = _opened(mapping(raw, where), where)
    if kind == "remove":
        raise MessageError(f"{where}: a RemoveMessage changes the state of a graph and says nothing; leave it out")
    role = role_of(kind, fields.get("role"))
    if role is None:
        raise MessageError(f"{where}: unknown `type` {kind!r:.80}; known are {', '.join(ROLES)}")
    extra = _extra(kind, fields, where)
    if role == "tool":
        return [_result(fields, extra, where)]
    results, parts, opening = _told(fields, role, where)
    if role == "assistant":
        parts = _with_calls(parts, fields, where)
    if results and not parts:
        return results
    if opening:
        extra = {**extra, **foreign(NAME, {**fields_of(extra, NAME), "opening": opening})}
    return [*results, Message(id="", role=role, parts=tuple(parts), meta=_meta(fields), extra=extra)]


def _told(fields: Mapping[str, Any], role: Role, where: str) -> tuple[list[Message], list[Part], list[Any]]:
    """The results in a message, its parts, and what no model is shown before the first of them."""
    results: list[Message] = []
    parts: list[Part] = []
    opening: list[Any] = []
    for index, block in enumerate(_content(fields, where)):
        place = f"{where}, content block {index}"
        if is_result(block):
            results.append(_block_result(mapping(block, place), place))
        elif isinstance(block, Mapping) and not isinstance(block.get("type"), str):
            # A mark such as Bedrock's for its cache: it stands in the extra of what it follows.
            note = rest(block, frozenset(), place)
            if parts:
                parts[-1] = _followed(parts[-1], note)
            else:
                opening.append(note)
        else:
            parts.append(block_part(block, place) if role == "assistant" else told_part(block, place))
    return results, parts, opening


def _followed(part: Part, note: Any) -> Part:
    own = fields_of(part.extra, NAME)
    noted = foreign(NAME, {**own, "after": [*own.get("after", ()), note]})
    return msgspec.structs.replace(part, extra={**part.extra, **noted})


def _opened(raw: Mapping[str, Any], where: str) -> tuple[str, Mapping[str, Any]]:
    """The type of a message and its fields, from any of the ways to write it down."""
    if raw.get("lc") is not None:
        path = raw.get("id")
        name = path[-1] if isinstance(path, list) and path else None
        if not isinstance(name, str) or name not in _CLASSES:
            raise MessageError(f"{where}: `id` must name a class of messages, got {path!r:.80}")
        return _CLASSES[name], mapping(raw.get("kwargs"), f"{where}, `kwargs`")
    kind = name_of(raw, "type", where)
    return kind, mapping(raw["data"], f"{where}, `data`") if "data" in raw else raw


def _extra(kind: str, fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    kept = {key: value for key, value in rest(fields, _KNOWN, where).items() if value not in (None, {}, [])}
    usual = {} if kind in ("system", "human", "ai", "tool") else {"type": kind}
    name = fields.get("name")
    if name is not None and not isinstance(name, str):
        raise MessageError(f"{where}: `name` must be text, got {type(name).__name__}")
    own = foreign(NAME, {**usual, **({"data": kept} if kept else {})})
    return {**({"name": encodable(name)} if name else {}), **own}


def _meta(fields: Mapping[str, Any]) -> MessageMeta:
    kwargs = fields.get("additional_kwargs")
    return MessageMeta(pinned=isinstance(kwargs, Mapping) and kwargs.get("pinned") is True)


def _content(fields: Mapping[str, Any], where: str) -> Sequence[object]:
    content = fields.get("content")
    match content:
        case None | "":
            return ()
        case str():
            return (content,)
        case list() | tuple():
            return content
        case _:
            raise MessageError(f"{where}: `content` must be text or a list of blocks, got {type(content).__name__}")


# --- calls --------------------------------------------------------------------------------------------------------


def _with_calls(parts: list[Part], fields: Mapping[str, Any], where: str) -> list[Part]:
    """The parts of an answer with its calls: where their blocks are, the others behind."""
    calls = [
        _call(call, f"{where}, tool call {index}", broken=False)
        for index, call in enumerate(_list(fields, "tool_calls", where))
    ]
    broken = [
        _call(call, f"{where}, invalid tool call {index}", broken=True)
        for index, call in enumerate(_list(fields, "invalid_tool_calls", where))
    ]
    listed = [*calls, *broken]
    waiting: dict[str, list[int]] = {}
    for index, call in enumerate(listed):
        waiting.setdefault(call.id, []).append(index)
    placed: list[Part] = []
    for part in parts:
        if not isinstance(part, ToolCall):
            placed.append(part)
        elif waiting.get(part.id):
            placed.append(_merged(part, listed[waiting[part.id].pop(0)]))
        else:
            placed.append(_only_block(part))
    return [*placed, *(listed[index] for index in sorted(index for places in waiting.values() for index in places))]


def _call(raw: object, where: str, *, broken: bool) -> ToolCall:
    fields = mapping(raw, where)
    call_id = fields.get("id")
    if not isinstance(call_id, str) or not call_id:
        raise MessageError(f"{where}: `id` must be a non-empty string, got {call_id!r:.80}; every call needs one")
    kept = rest(fields, frozenset({"id", "name", "args", "type"}), where)
    arguments = fields.get("args")
    name = fields.get("name")
    if broken:
        name = name or "unknown"
        own: dict[str, Any] = {
            "invalid": {**kept, **{key: fields.get(key) for key in ("name", "args") if not fields.get(key)}}
        }
    else:
        own = {"call": kept} if kept else {}
        if not isinstance(arguments, Mapping):
            raise MessageError(f"{where}: `args` must be an object, got {type(arguments).__name__}")
    if not isinstance(name, str) or not name:
        raise MessageError(f"{where}: `name` must be a non-empty string, got {name!r:.80}")
    text = "" if arguments is None else arguments_text(arguments, where)
    return ToolCall(id=encodable(call_id), name=encodable(name), arguments=text, extra=foreign(NAME, own))


def _only_block(call: ToolCall) -> ToolCall:
    own = fields_of(call.extra, NAME)
    return msgspec.structs.replace(call, extra=foreign(NAME, {**_without_input(own), "unlisted": True}))


def _merged(block: ToolCall, listed: ToolCall) -> ToolCall:
    """The call as it is listed, where its block is; another input of the block is kept."""
    own = fields_of(block.extra, NAME)
    if block.arguments == listed.arguments:
        own = _without_input(own)
    if block.name != listed.name:
        own = {**own, "block": {**own["block"], "name": block.name}}
    return msgspec.structs.replace(listed, extra=foreign(NAME, {**own, **fields_of(listed.extra, NAME)}))


def _without_input(own: dict[str, Any]) -> dict[str, Any]:
    """What a block keeps besides its input, if that can be made of the arguments again."""
    expected = str if own["block"]["type"] == "function_call" else dict
    is_usual = isinstance(own.get("input"), expected)
    return {key: value for key, value in own.items() if key != "input" or not is_usual}


def _list(fields: Mapping[str, Any], key: str, where: str) -> Sequence[object]:
    value = fields.get(key)
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise MessageError(f"{where}: `{key}` must be a list, got {type(value).__name__}")
    return value


# --- results ------------------------------------------------------------------------------------------------------


def _result(fields: Mapping[str, Any], extra: dict[str, Any], where: str) -> Message:
    result = answer(name_of(fields, "tool_call_id", where), fields.get("content"), {}, where)
    status = fields.get("status")
    if status not in (None, "success", "error"):
        raise MessageError(f"{where}: `status` must be 'success' or 'error', got {status!r:.80}")
    # Success is what LangChain writes for everything that raised nothing, so it says nothing.
    failed = {"is_error": True} if status == "error" else {}
    return Message(id="", role="tool", parts=(result,), meta=_meta(fields), extra={**extra, **failed})


def _block_result(block: Block, where: str) -> Message:
    kept = rest(block, frozenset({"type", "tool_use_id", "content", "is_error"}), where)
    call_id = name_of(block, "tool_use_id", where)
    result = answer(call_id, block.get("content"), {"result": kept} if kept else {}, where)
    failed = {"is_error": True} if block.get("is_error") is True else {}
    return Message(id="", role="tool", parts=(result,), extra=failed)
