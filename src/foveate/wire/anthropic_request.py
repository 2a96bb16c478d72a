"""A request by Anthropic's rules.

Leading system messages join the system prompt, later ones become user text. Messages of one side in a row become one; a
request that would begin with the assistant gets a short user text in front. Ids and names that are not allowed are
replaced, the same way in calls, results and definitions. Thinking is sent only if it is signed for Anthropic and its
message begins with it. What only a recording needs (citations, recorded cache marks, blocks of tools that the provider
ran) is not sent: blocks without a part of their own go as the text that can be read of them, which is what the budget
counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from foveate.log.foreign import fields_of
from foveate.log.messages import Media, Message, Part, Text, Thinking, ToolCall, ToolResult
from foveate.wire.anthropic_blocks import FORMAT, input_of, note, result_pieces, wire_fields
from foveate.wire.attachments import inline, is_address, left_out, words
from foveate.wire.format import Request
from foveate.wire.names import fitting
from foveate.wire.tools import anthropic_tools

ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
PDF: Final = "application/pdf"
MOST_MARKS: Final = 4
BEGINNING: Final = "[beginning of the conversation]"
NO_OUTPUT: Final = "[no output]"

Block = dict[str, Any]


def lower(request: Request) -> dict[str, Any]:
    """The keywords of a call: `messages`, and `system` and `tools` where there are any."""
    leading = next((i for i, one in enumerate(request.messages) if one.role != "system"), len(request.messages))
    texts = (request.system or "", *(_prompt(message) for message in request.messages[:leading]))
    system = "\n\n".join(text for text in texts if text.strip())
    spelling = _spelling(request)
    tools = [_tool(tool, spelling) for tool in anthropic_tools(request.tools)]
    mark_opening = (request.mark_system or any(mark < leading for mark in request.marks)) and bool(system or tools)
    marks = _fewest(request.marks, leading, MOST_MARKS - mark_opening)
    sent: dict[str, Any] = {"messages": _turns(request.messages[leading:], leading, marks, spelling)}
    if system:
        sent["system"] = [{"type": "text", "text": system, "cache_control": _mark()}] if mark_opening else system
    if tools:
        # Tools stand before the system prompt, so a mark behind that covers them too.
        sent["tools"] = tools if system or not mark_opening else [*tools[:-1], {**tools[-1], "cache_control": _mark()}]
    return sent


def _prompt(message: Message) -> str:
    """What a message says as part of the system prompt, which is text alone."""
    shown = [part for part in message.parts if isinstance(part, Text | Media)]
    return "\n".join(left_out(part) if isinstance(part, Media) else part.text for part in shown)


class _Spelling(NamedTuple):
    """How ids of calls and names of tools are written in a request."""

    ids: dict[str, str]
    names: dict[str, str]


def _spelling(request: Request) -> _Spelling:
    parts = [part for message in request.messages for part in message.parts]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    ids = [*(call.id for call in calls), *(part.call_id for part in parts if isinstance(part, ToolResult))]
    names = [*(str(tool.get("name")) for tool in anthropic_tools(request.tools)), *(call.name for call in calls)]
    return _Spelling(fitting(ids, ID, longest=64), fitting(names, NAME, longest=128))


def _tool(tool: Block, spelling: _Spelling) -> Block:
    sent = {key: value for key, value in tool.items() if key != "cache_control"}
    sent["name"] = spelling.names[str(tool.get("name"))]
    if isinstance(sent.get("input_schema"), dict):
        sent["input_schema"] = {"type": "object", **sent["input_schema"]}
    return sent


def _fewest(marks: Iterable[int], leading: int, most: int) -> frozenset[int]:
    """The last marks in the messages, as many as are allowed."""
    wanted = sorted({mark for mark in marks if mark >= leading})
    return frozenset(wanted[max(0, len(wanted) - most) :])


def _turns(messages: Iterable[Message], first: int, marks: frozenset[int], spelling: _Spelling) -> list[Block]:
    turns: list[Block] = []
    for index, message in enumerate(messages, first):
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message, spelling)
        if index in marks:
            _mark_last(blocks)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    for turn in turns:
        turn["content"] = _led_by_thinking(turn["content"])
    if not turns or turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"type": "text", "text": BEGINNING}]})
    return turns


def _mark_last(blocks: list[Block]) -> None:
    for block in reversed(blocks):
        if not _is_thinking(block):
            block["cache_control"] = _mark()
            return


def _mark() -> Block:
    return {"type": "ephemeral"}


def _is_thinking(block: Block) -> bool:
    return block["type"] in ("thinking", "redacted_thinking")


def _led_by_thinking(blocks: list[Block]) -> list[Block]:
    """Blocks with their thinking if they begin with it, and without any that nothing follows."""
    said = [index for index, block in enumerate(blocks) if not _is_thinking(block)]
    if not said or said[0] == 0:
        return [blocks[index] for index in said]
    return blocks[: said[-1] + 1]


def _blocks(message: Message, spelling: _Spelling) -> list[Block]:
    if message.role != "assistant":
        error = message.extra.get("is_error") is True
        return [block for part in message.parts for block in _shown(part, error, spelling)]
    blocks = [block for part in message.parts for block in _said(part, spelling)]
    if blocks and blocks[-1]["type"] == "text":
        # Refused at the end of a request; cut wherever it stands, so that a message is sent the same way ever after.
        blocks[-1]["text"] = blocks[-1]["text"].rstrip()
    return blocks


def _said(part: Part, spelling: _Spelling) -> Iterator[Block]:
    match part:
        case Thinking(text=text, signature=str() as signature, extra=extra) if signature and _is_ours(extra):
            if note(extra, "redacted"):
                yield {"type": "redacted_thinking", "data": signature}
            else:
                yield {"type": "thinking", "thinking": text, "signature": signature}
        case ToolCall(id=call_id, name=name, arguments=arguments):
            given = input_of(arguments)
            yield {"type": "tool_use", "id": spelling.ids[call_id], "name": spelling.names[name], "input": given}
        case Media():
            yield {"type": "text", "text": left_out(part)}
        case Text(text=text):
            yield from _text(text)
        case _:
            return


def _is_ours(extra: dict[str, Any]) -> bool:
    """Whether a signature can be Anthropic's: others sign their thinking too, and note that they did."""
    return not extra or bool(fields_of(extra, FORMAT))


def _shown(part: Part, error: bool, spelling: _Spelling) -> Iterator[Block]:
    match part:
        case ToolResult():
            yield _result(part, error, spelling)
        case Text(text=text, extra=extra) if text.strip() and note(extra, "document") is not None:
            source = {"type": "text", "media_type": "text/plain", "data": text}
            yield {"type": "document", "source": source, **_titles(extra)}
        case Text(text=text):
            yield from _text(text)
        case Media():
            yield _media(part)
        case _:
            return


def _text(text: str) -> Iterator[Block]:
    if text.strip():
        yield {"type": "text", "text": text}


def _result(result: ToolResult, error: bool, spelling: _Spelling) -> Block:
    content = [block for piece in result_pieces(result) for block in _shown(piece, error, spelling)]
    block: Block = {"type": "tool_result", "tool_use_id": spelling.ids[result.call_id]}
    if error and not content:
        content = [{"type": "text", "text": NO_OUTPUT}]
    if content:
        block["content"] = content
    # An error may only say text; an image says more than the flag.
    return {**block, "is_error": True} if error and all(one["type"] == "text" for one in content) else block


def _titles(extra: dict[str, Any]) -> dict[str, str]:
    fields = wire_fields(extra)
    return {
        key: fields[key] for key in ("title", "context") if isinstance(fields.get(key), str) and fields[key].strip()
    }


def _media(media: Media) -> Block:
    source = _source(media)
    if source is None:
        return {"type": "text", "text": left_out(media)}
    if source.get("media_type") in IMAGES or ("media_type" not in source and media.kind == "image"):
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, **_titles(media.extra)}


def _source(media: Media) -> Block | None:
    held = inline(media.reference)
    if held is None:
        return _fetched(media)
    media_type = "image/jpeg" if held.media_type == "image/jpg" else held.media_type
    if media_type in IMAGES or media_type == PDF:
        return {"type": "base64", "media_type": media_type, "data": held.content}
    text = words(held) if media_type == "text/plain" else None
    return {"type": "text", "media_type": "text/plain", "data": text} if text and text.strip() else None


def _fetched(media: Media) -> Block | None:
    """The source of what is not in the request itself: an address, or an id that Anthropic gave."""
    known = note(media.extra, "source")
    if isinstance(known, dict) and known.get("type") == "file" and media.reference:
        return {"type": "file", "file_id": media.reference}
    if not is_address(media.reference) or media.kind == "audio":
        return None
    readable = media.kind == "image" or media.media_type in (None, PDF)
    return {"type": "url", "url": media.reference} if readable else None
