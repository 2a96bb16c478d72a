"""Commands in prose: what an agent without tool calls wants to be run, as the call that it means."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from foveate.importers.decoding import object_in
from foveate.log.messages import Message, MessageMeta, Part, Text, ToolCall, ToolResult
from foveate.log.text import encodable

TOOL: Final = "bash"
_WRITTEN: Final = "written"


def with_command(content: str, prose: str, command: str, call_id: str) -> Message:
    """A response that is prose and a call; `as_written` gives its content again."""
    content, prose, command = encodable(content), encodable(prose).strip(), encodable(command)
    call = ToolCall(id=call_id, name=TOOL, arguments=json.dumps({"command": command}, ensure_ascii=False))
    said: list[Part] = [Text(text=prose)] if prose else []
    message = Message(id="", role="assistant", parts=(*said, call))
    if as_written(message) == content:
        return message
    return msgspec.structs.replace(message, meta=MessageMeta(extra={_WRITTEN: content}))


def as_written(message: Message) -> str:
    """The content that a response with a command was recorded with."""
    kept = message.meta.extra.get(_WRITTEN)
    if isinstance(kept, str):
        return kept
    if not message.calls:
        return message.text
    command = object_in({"arguments": json.loads(message.calls[0].arguments)}, "arguments").get("command")
    return f"{message.text}\n\n```bash\n{command}\n```"


def result_of(call_id: str, text: str) -> Message:
    """What a command printed."""
    return Message(id="", role="tool", parts=(ToolResult(call_id=call_id, text=encodable(text)),))


def blocks(content: str, opening: re.Pattern[str]) -> Iterator[tuple[int, int, str]]:
    """Fenced blocks that begin with a pattern: where they begin and end, and what is in them."""
    at = 0
    while (found := opening.search(content, at)) is not None:
        end = content.find("\n```", found.end())
        if end < 0:
            return
        at = end + len("\n```")
        yield found.start(), at, content[found.end() : end]
