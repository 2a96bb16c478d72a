"""LangChain messages written: as they came, or by what every model behind it wants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from foveate.log.messages import (
    Media,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    domestic,
    fields_of,
    foreign,
    has_content,
)
from foveate.wire.attachments import left_out
from foveate.wire.fields import arguments_object
from foveate.wire.format import OPENING, Request, framed_as_system, opening_of_nothing
from foveate.wire.langchain_blocks import NAME, answer_content, content_of, part_block
from foveate.wire.opaque import without_alien

_TYPES: Final = {"system": "system", "user": "human", "assistant": "ai", "tool": "tool"}
# What belongs to a type of message that is not sent as such.
_UNUSUAL: Final = frozenset({"role", "tool_call_chunks", "chunk_position"})


def encode(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The data of messages, with everything in them."""
    return [_encoded(message) for message in without_alien(messages, NAME)]


def lower(request: Request) -> list[dict[str, Any]]:
    """The messages for a chat model.

    The system prompt comes first; a system message behind anything else is said by the user, in a frame that names the
    system. A conversation that begins with the assistant gets a line of the user before it. Blank texts, recorded cache
    marks, and thinking that no provider would take back are left out; a note stands for a file of the assistant that
    came from another format. Every call is in `tool_calls` with an object as its arguments; chunks, and messages of
    functions or other speakers, become messages of the usual types.
    """
    said = request.system is not None and bool(request.system.strip())
    lowered = [_new("system", {"content": request.system})] if said else []
    names: dict[str, str] = {}
    begun = False
    for message in without_alien(request.messages, NAME):
        names.update((call.id, call.name) for call in message.calls)
        asked = framed_as_system(message) if begun and request.wire > 1 else message
        sent = _lowered(asked, names, system=not begun and message.role == "system")
        if not any(map(has_content, message.parts)):
            continue
        if message.role == "assistant" and not begun:
            lowered.append(_new("human", {"content": OPENING}))
        begun = begun or message.role != "system"
        lowered.append(sent)
    return lowered or [_new("human", {"content": opening_of_nothing(request, "LangChain")})]


# --- as it came ---------------------------------------------------------------------------------------------------


def _encoded(message: Message) -> dict[str, Any]:
    own = fields_of(message.extra, NAME)
    result = message.result
    if result is not None:
        return _new("tool", {**_kept(message, own), **_answer(result, message)})
    kind = own.get("type", _TYPES[message.role])
    fields: dict[str, Any] = {**_kept(message, own), "content": _content(message)}
    calls = [call for call in message.calls if not fields_of(call.extra, NAME).get("unlisted")]
    broken = [call for call in calls if "invalid" in fields_of(call.extra, NAME)]
    usable = [call for call in calls if "invalid" not in fields_of(call.extra, NAME)]
    if usable:
        fields["tool_calls"] = [_call(call) for call in usable]
    if broken:
        fields["invalid_tool_calls"] = [_broken_call(call) for call in broken]
    return _new(kind, fields)


def _new(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": kind, "data": {"type": kind, **fields}}


def _kept(message: Message, own: Mapping[str, Any]) -> dict[str, Any]:
    name = domestic(message.extra).get("name")
    return {**own.get("data", {}), **({"name": name} if isinstance(name, str) else {})}


def _answer(result: ToolResult, message: Message) -> dict[str, Any]:
    return {
        "content": answer_content(result),
        "tool_call_id": result.call_id,
        "status": "error" if message.extra.get("is_error") is True else "success",
    }


def _content(message: Message) -> str | list[Any]:
    blocks: list[Any] = [*fields_of(message.extra, NAME).get("opening", ())]
    for part in message.parts:
        if isinstance(part, Text | Media | Thinking | ToolCall):
            block = part_block(part)
            blocks += [*([] if block is None else [block]), *fields_of(part.extra, NAME).get("after", ())]
    return content_of(blocks)


def _call(call: ToolCall) -> dict[str, Any]:
    kept = fields_of(call.extra, NAME).get("call", {})
    return {**kept, "id": call.id, "name": call.name, "args": arguments_object(call.arguments), "type": "tool_call"}


def _broken_call(call: ToolCall) -> dict[str, Any]:
    kept = fields_of(call.extra, NAME)["invalid"]
    return {"id": call.id, "name": call.name, "args": call.arguments, **kept, "type": "invalid_tool_call"}


# --- lowering -----------------------------------------------------------------------------------------------------


def _lowered(message: Message, names: Mapping[str, str], *, system: bool) -> dict[str, Any]:
    own = fields_of(message.extra, NAME)
    kept = {key: value for key, value in _kept(message, own).items() if key not in _UNUSUAL}
    result = message.result
    if result is not None:
        name = names.get(result.call_id)
        return _new("tool", {**({"name": name} if name else {}), **kept, **_answer(result, message)})
    shown = tuple(
        _sent(part, message.role) for part in message.parts if not isinstance(part, Text) or part.text.strip()
    )
    content = _content(msgspec.structs.replace(message, parts=shown, extra={}))
    kind = "human" if message.role == "system" and not system else _TYPES[message.role]
    calls = {"tool_calls": [_call(call) for call in message.calls]} if message.calls else {}
    return _new(kind, {**kept, "content": content, **calls})


def _sent(part: Part, role: str) -> Part:
    """A part without marks that stand behind it; a call with its arguments as they are now."""
    own = fields_of(part.extra, NAME)
    # Providers take no files from the assistant but those they made themselves.
    if role == "assistant" and isinstance(part, Media) and not own:
        return Text(text=left_out(part))
    kept = {key: value for key, value in own.items() if key not in ("input", "after")}
    return part if kept == own else msgspec.structs.replace(part, extra=foreign(NAME, kept))
