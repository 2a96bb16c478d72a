"""A request by Anthropic's rules.

Leading system messages join the system prompt, later ones become user text. Messages of one side in a row become one; a
request that would begin with the assistant gets a short user text in front. Ids and names that are not allowed are
replaced, the same way in calls, results and definitions. Thinking is sent only if it is signed for Anthropic and its
message begins with it. What only a recording needs (citations, recorded cache marks, blocks of tools that the provider
ran) is not sent: blocks without a part of their own go as the text that can be read of them, which is what the budget
counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from foveate.log.messages import Media, Message, Part, Text, Thinking, ToolCall, ToolResult
from foveate.wire.anthropic_blocks import FORMAT, is_signed, note, result_pieces, wire_fields
from foveate.wire.attachments import fetched, held, inline, left_out, shown_kind, words
from foveate.wire.data_uri import kind_of
from foveate.wire.fields import arguments_object
from foveate.wire.format import OPENING, Request
from foveate.wire.names import ANTHROPIC_IDS, ANTHROPIC_NAMES, Spelling, spelling
from foveate.wire.tools import anthropic_tools

MOST_MARKS: Final = 4
NO_OUTPUT: Final = "[no output]"

Block = dict[str, Any]


def lower(request: Request) -> dict[str, Any]:
    """The keywords of a call: `messages`, and `system` and `tools` where there are any."""
    leading = request.leading
    texts = (request.system or "", *(_prompt(message) for message in request.messages[:leading]))
    system = "\n\n".join(text for text in texts if text.strip())
    spelled = spelling(request, names=ANTHROPIC_NAMES, ids=ANTHROPIC_IDS)
    tools = [_tool(tool) for tool in anthropic_tools(request.tools, spelled.names)]
    mark_opening = (request.mark_system or any(mark < leading for mark in request.marks)) and bool(system or tools)
    marks = _fewest(request.marks, leading, MOST_MARKS - mark_opening)
    sent: dict[str, Any] = {"messages": _turns(request.messages[leading:], leading, marks, spelled)}
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


def _tool(tool: Block) -> Block:
    return {key: value for key, value in tool.items() if key != "cache_control"}


def _fewest(marks: Iterable[int], leading: int, most: int) -> frozenset[int]:
    """The last marks in the messages, as many as are allowed."""
    wanted = sorted({mark for mark in marks if mark >= leading})
    return frozenset(wanted[max(0, len(wanted) - most) :])


def _turns(messages: Iterable[Message], first: int, marks: frozenset[int], spelled: Spelling) -> list[Block]:
    turns: list[Block] = []
    for index, message in enumerate(messages, first):
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message, spelled)
        if index in marks:
            _mark_last(blocks)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    for turn in turns:
        turn["content"] = _led_by_thinking(turn["content"])
    if not turns or turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"type": "text", "text": OPENING}]})
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


def _blocks(message: Message, spelled: Spelling) -> list[Block]:
    if message.role != "assistant":
        error = message.extra.get("is_error") is True
        return [block for part in message.parts for block in _shown(part, error, spelled)]
    blocks = [block for part in message.parts for block in _said(part, spelled)]
    if blocks and blocks[-1]["type"] == "text":
        # Refused at the end of a request; cut wherever it stands, so that a message is sent the same way ever after.
        blocks[-1]["text"] = blocks[-1]["text"].rstrip()
    return blocks


def _said(part: Part, spelled: Spelling) -> Iterator[Block]:
    match part:
        case Thinking(text=text, signature=signature, extra=extra) if is_signed(part):
            if note(extra, "redacted"):
                yield {"type": "redacted_thinking", "data": signature}
            else:
                yield {"type": "thinking", "thinking": text, "signature": signature}
        case ToolCall(id=call_id, name=name, arguments=arguments):
            given = arguments_object(arguments)
            yield {"type": "tool_use", "id": spelled.ids[call_id], "name": spelled.names[name], "input": given}
        case Media():
            yield {"type": "text", "text": left_out(part)}
        case Text(text=text):
            yield from _text(text)
        case _:
            return


def _shown(part: Part, error: bool, spelled: Spelling) -> Iterator[Block]:
    match part:
        case ToolResult():
            yield _result(part, error, spelled)
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


def _result(result: ToolResult, error: bool, spelled: Spelling) -> Block:
    content = [block for piece in result_pieces(result) for block in _shown(piece, error, spelled)]
    block: Block = {"type": "tool_result", "tool_use_id": spelled.ids[result.call_id]}
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
    content = inline(media.reference)
    kind = shown_kind(media) if content is None else kind_of(content.media_type)
    if kind == "image":
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, **_titles(media.extra)}


def _source(media: Media) -> Block | None:
    taken = held(FORMAT, media)
    if taken is not None:
        return {"type": "base64", "media_type": taken.media_type, "data": taken.content}
    content = inline(media.reference)
    if content is None:
        return _fetched(media)
    text = words(content) if content.media_type == "text/plain" else None
    return {"type": "text", "media_type": "text/plain", "data": text} if text and text.strip() else None


def _fetched(media: Media) -> Block | None:
    """The source of what is not in the request itself: an address, or an id that Anthropic gave."""
    known = note(media.extra, "source")
    if isinstance(known, dict) and known.get("type") == "file" and media.reference:
        return {"type": "file", "file_id": media.reference}
    address = fetched(FORMAT, media)
    return None if address is None else {"type": "url", "url": address}
