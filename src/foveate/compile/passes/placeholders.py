"""Placeholders: what stands for a text that is left out, and how to get it back."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from foveate.compile.draft import PassContext
from foveate.log.items import Fate, Item
from foveate.log.messages import Media, Message, Opaque, Text, ToolCall, ToolResult
from foveate.log.quoting import escape_lines, flatten_text

NOTE: Final = "[…"
"""What a note of ours between the lines of an output begins with."""
_PREVIEW_LINES: Final = 4
_PREVIEW_CHARS: Final = 240
_LONG_VALUE: Final = 400


def preview(
    text: str,
    tokens: int,
    reference: str,
    ctx: PassContext,
    *,
    chars: int = _PREVIEW_CHARS,
    lines: int = _PREVIEW_LINES,
) -> str:
    """The first and last lines of a text around a note of what is left out."""
    all_lines = text.splitlines()
    head = "\n".join(all_lines[:lines])[:chars]
    is_long = chars > 0 and (len(all_lines) > lines or len(text) > 2 * chars)
    tail = "\n".join(all_lines[-lines:])[-chars:] if is_long else ""
    hint = f", {ctx.recall_tool} restores it" if ctx.recall_tool else ""
    note = f"[… {len(all_lines)} lines, {tokens} tokens; reference {flatten_text(reference)}{hint} …]"
    # No line of the output can pass for the note.
    head, tail = escape_lines(head, NOTE), escape_lines(tail, NOTE)
    return "\n".join(piece for piece in (head, note, tail) if piece)


def with_result(item: Item, text: str, ctx: PassContext, *, fate: Fate, by: str, why: str) -> Item:
    """A tool result with another text, if that is shorter; else the item as it was."""
    parts = tuple(
        msgspec.structs.replace(part, text=text, media=()) if isinstance(part, ToolResult) else part
        for part in item.message.parts
    )
    return _if_smaller(item, msgspec.structs.replace(item.message, parts=parts), ctx, fate=fate, by=by, why=why)


def with_text(item: Item, text: str, ctx: PassContext, *, fate: Fate, by: str, why: str) -> Item:
    """A message with its words replaced, if that is shorter; calls stay, thinking and media go."""
    calls = tuple(part for part in item.message.parts if isinstance(part, ToolCall))
    if not text.strip() and not calls:
        # Nothing but an image or a file: without a word for it the message would be empty.
        text = f"[{_media_of(item.message)} left out; reference {item.id}]"
    words = (Text(text=text),) if text.strip() else ()
    return _if_smaller(
        item, msgspec.structs.replace(item.message, parts=(*words, *calls)), ctx, fate=fate, by=by, why=why
    )


def _media_of(message: Message) -> str:
    shown = (part for part in message.parts if isinstance(part, Media | Opaque))
    return ", ".join("content" if isinstance(part, Opaque) else part.kind for part in shown) or "text"


def with_short_calls(item: Item, ctx: PassContext, *, by: str, longest: int = _LONG_VALUE) -> Item:
    """An assistant message whose large arguments are pointers; the call's name and short arguments stay."""
    parts = tuple(
        msgspec.structs.replace(part, arguments=short_arguments(part.arguments, item.id, longest))
        if isinstance(part, ToolCall) and len(part.arguments) > longest
        else part
        for part in item.message.parts
    )
    changed = msgspec.structs.replace(item.message, parts=parts)
    return _if_smaller(item, changed, ctx, fate="trimmed", by=by, why="large arguments of an old call")


def short_arguments(arguments: str, reference: str, longest: int) -> str:
    """Arguments with every long value cut; JSON stays JSON."""
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        value = {"input": arguments}
    return msgspec.json.encode(_short(value, reference, longest)).decode()


def _short(value: Any, reference: str, longest: int) -> Any:
    match value:
        case str() if len(value) > longest:
            return f"{value[: longest // 4]}[… {len(value)} characters; reference {reference}]"
        case dict():
            return {key: _short(one, reference, longest) for key, one in value.items()}
        case list() if len(value) > 20:
            return [
                *(_short(one, reference, longest) for one in value[:20]),
                f"[… {len(value)} entries; reference {reference}]",
            ]
        case list():
            return [_short(one, reference, longest) for one in value]
        case _:
            return value


def _if_smaller(item: Item, message: Message, ctx: PassContext, *, fate: Fate, by: str, why: str) -> Item:
    # Of wire fields that are not ours only those stay without which the message would be another one.
    extra = {key: value for key, value in message.extra.items() if key in ("role", "name", "is_error")}
    meta = msgspec.structs.replace(message.meta, compacted=True)
    compacted = msgspec.structs.replace(message, meta=meta, extra=extra)
    tokens = ctx.count_message(compacted)
    if tokens >= item.tokens:
        return item
    return msgspec.structs.replace(item, message=compacted, tokens=tokens, fate=fate, by=by, why=why)
