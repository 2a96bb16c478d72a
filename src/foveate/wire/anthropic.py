"""Anthropic messages, both ways.

What comes in goes out again byte for byte, but for half characters, which are replaced.

A user message becomes one message for each tool result in it and one for each stretch of other blocks between them.
Blocks of types that Foveate has no part for, such as those of tools that the provider runs itself, are opaque. Cache
marks belong to a request, not to what was said: they are noted beside the message. What loads tools is pinned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from foveate.errors import MessageError
from foveate.log.messages import Message, MessageMeta, Opaque, Part, Role, Text, ToolResult
from foveate.log.text import encodable
from foveate.wire.anthropic_blocks import kept, note, result_part, said_part, shown_part, wire_fields
from foveate.wire.anthropic_originals import Marks, blocks_as_they_came, in_form, noted, without_marks
from foveate.wire.fields import mapping, rest, unknown_role
from foveate.wire.format import Where
from foveate.wire.originals import reordered

_ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant", "system": "system"}
_TELLING: Final = frozenset(
    {
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "mcp_tool_use",
        "search_result",
        "container_upload",
        "compaction",
        "tool_reference",
    }
)

_LOADERS: Final = frozenset({"tool_reference", "tool_search_tool_result"})


def recognises(raw: object) -> bool:
    """Whether a raw message can only be an Anthropic message."""
    if not isinstance(raw, Mapping) or raw.get("role") not in ("user", "assistant"):
        return False
    content = raw.get("content")
    if not isinstance(content, list | tuple):
        return False
    return "stop_reason" in raw or any(_is_telling(block) for block in content)


def decode(raws: Sequence[object], where: Where) -> list[Message]:
    """The messages of Anthropic ones, in order; a malformed shape is refused with a `MessageError`."""
    return [message for index, raw in enumerate(raws) for message in _messages(raw, where(index))]


def encode(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The Anthropic messages of messages; those that came in one go out in one."""
    raws: list[dict[str, Any]] = []
    forms: list[Any] = []
    for message in messages:
        role = "user" if message.role == "tool" else message.role
        if note(message.extra, "joined") and raws and raws[-1]["role"] == role:
            raws[-1]["content"] += blocks_as_they_came(message)
        else:
            fields = {"role": role, "content": blocks_as_they_came(message), **wire_fields(message.extra)}
            raws.append(reordered(fields, note(message.extra, "keys")))
            forms.append(note(message.extra, "form"))
    return [{**raw, "content": in_form(raw["content"], form)} for raw, form in zip(raws, forms, strict=True)]


def _is_telling(block: object) -> bool:
    match block:
        case {"type": "image" | "document", "source": Mapping()}:
            return True
        case {"type": "text", "citations": [{"type": str() as place}, *_]}:
            return place.endswith("_location")
        case {"type": str() as kind}:
            return kind in _TELLING or kind.endswith("_tool_result")
        case _:
            return False


def _messages(raw: object, where: str) -> Iterator[Message]:
    """The messages of one: the first keeps the fields of the whole, the others know that they belong to it."""
    given = mapping(raw, where)
    role = given.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise unknown_role(role, _ROLES, where)
    meta = MessageMeta(pinned=given.get("pinned") is True)
    fields = rest(given, frozenset({"role", "content"}), where)
    notes: dict[str, Any] = {"form": "text" if isinstance(given.get("content"), str) else "blocks"}
    if [*given] != ["role", "content", *fields]:
        notes["keys"] = {str(key): None for key in given}
    for number, (message, marks) in enumerate(_split(_ROLES[role], given.get("content"), where)):
        more = {"marks": marks} if marks else {}
        extra = kept({}, joined=number, form="blocks", **more) if number else kept(fields, **notes, **more)
        pinned = MessageMeta(pinned=True) if any(map(_loads_tools, message.parts)) else meta
        yield msgspec.structs.replace(message, meta=pinned, extra={**message.extra, **extra})


def _loads_tools(part: Part) -> bool:
    """Whether a part gives the model deferred tools: it has them for as long as the part is in the request."""
    if isinstance(part, ToolResult):
        return any(map(_loads_tools, part.media))
    return isinstance(part, Opaque) and part.raw.get("type") in _LOADERS


def _split(role: Role, content: object, where: str) -> Iterator[tuple[Message, Marks]]:
    """The messages of a content, and the cache marks in each."""
    if isinstance(content, str):
        yield Message(id="", role=role, parts=(Text(text=encodable(content)),)), {}
        return
    if not isinstance(content, list | tuple):
        raise MessageError(f"{where}: `content` must be text or a list of blocks, got {type(content).__name__}")
    parts: list[Part] = []
    marks: Marks = {}
    # An empty message is a message too; one of results alone has nothing besides them.
    empty = True
    for index, one in enumerate(content):
        place = f"{where}, content block {index}"
        block = mapping(one, place)
        plain, found = without_marks(block, place)
        if role != "user" or block.get("type") != "tool_result":
            part = said_part(plain, place) if role == "assistant" else shown_part(plain, place)
            marks |= {f"{len(parts)}{inner}": mark for inner, mark in found.items()}
            parts.append(noted(part, block, plain, found))
            continue
        if parts:
            yield Message(id="", role=role, parts=tuple(parts)), marks
            parts, marks = [], {}
        error = block.get("is_error")
        extra = {"is_error": error} if isinstance(error, bool) else {}
        result = noted(result_part(plain, place), block, plain, found, **extra)
        yield Message(id="", role="tool", parts=(result,), extra=extra), {f"0{at}": one for at, one in found.items()}
        empty = False
    if parts or empty:
        yield Message(id="", role=role, parts=tuple(parts)), marks
