"""Anthropic messages, both ways.

What comes in goes out again, up to this: half characters are replaced; one text block without other fields is the same
as its text alone; a tool result without content, with an empty text or an empty list is the same; a call without
`input` has an empty one.

A user message becomes one message for each tool result in it and one for each stretch of other blocks between them.
Blocks of types that Foveate has no part for, such as those of tools that the provider runs itself, become text with
what can be read of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from foveate.errors import MessageError
from foveate.log.messages import Message, MessageMeta, Part, Role, Text
from foveate.log.text import encodable
from foveate.wire.anthropic_blocks import (
    block_of,
    kept,
    note,
    result_part,
    said_part,
    shown_part,
    wire_fields,
)
from foveate.wire.fields import mapping, plainest, rest
from foveate.wire.format import Where

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
    for message in messages:
        role = "user" if message.role == "tool" else message.role
        blocks = [_encoded(message, part) for part in message.parts]
        if note(message.extra, "joined") and raws and raws[-1]["role"] == role:
            raws[-1]["content"] += blocks
        else:
            raws.append({"role": role, "content": blocks, **wire_fields(message.extra)})
    return [{**raw, "content": plainest(raw["content"])} for raw in raws]


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
        raise MessageError(f"{where}: unknown `role` {role!r:.80}; known are {', '.join(_ROLES)}")
    meta = MessageMeta(pinned=given.get("pinned") is True)
    extra = kept(rest(given, frozenset({"role", "content"}), where))
    for message in _split(_ROLES[role], given.get("content"), where):
        yield msgspec.structs.replace(message, meta=meta, extra={**message.extra, **extra})
        extra = kept({}, joined=True)


def _split(role: Role, content: object, where: str) -> Iterator[Message]:
    if isinstance(content, str):
        yield Message(id="", role=role, parts=(Text(text=encodable(content)),))
        return
    if not isinstance(content, list | tuple):
        raise MessageError(f"{where}: `content` must be text or a list of blocks, got {type(content).__name__}")
    parts: list[Part] = []
    # An empty message is a message too; one of results alone has nothing besides them.
    empty = True
    for index, one in enumerate(content):
        place = f"{where}, content block {index}"
        block = mapping(one, place)
        if role != "user" or block.get("type") != "tool_result":
            parts.append(said_part(block, place) if role == "assistant" else shown_part(block, place))
            continue
        if parts:
            yield Message(id="", role=role, parts=tuple(parts))
            parts = []
        error = block.get("is_error")
        extra = {"is_error": error} if isinstance(error, bool) else {}
        yield Message(id="", role="tool", parts=(result_part(block, place),), extra=extra)
        empty = False
    if parts or empty:
        yield Message(id="", role=role, parts=tuple(parts))


def _encoded(message: Message, part: Part) -> dict[str, Any]:
    block = block_of(part)
    error = message.extra.get("is_error")
    return {**block, "is_error": error} if block["type"] == "tool_result" and isinstance(error, bool) else block
