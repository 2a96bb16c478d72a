"""The request of one call, block by block: what the model was sent, and where each block came from.

Only what is in the window is looked at and counted: a log may be a thousand times as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from foveate.compile.compiled import CompiledContext
from foveate.inspect.fates import window_parts
from foveate.log.items import Item
from foveate.log.messages import Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from foveate.wire.opaque import readable_opaque


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBlock:
    """One block of a request.

    `source` is the message it came from, or the first of `sources` messages; `before` are its tokens as it was said,
    `tokens` as it is sent, and `made_at` is the call at which it got this form.
    """

    id: str
    speaker: str
    fate: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()
    tokens: int | None = None
    before: int | None = None
    by: str = ""
    why: str = ""
    source: str = ""
    sources: int = 0
    made_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContents:
    """A request: its blocks in order, of which the provider has the first `cached_blocks` in its cache."""

    blocks: tuple[RequestBlock, ...]
    cached_blocks: int
    parts: dict[str, int]
    tools: tuple[str, ...]


def request_contents(view: CompiledContext, made_at: Mapping[str, int], predicted_cached: int) -> RequestContents:
    """The contents of a compiled request; `predicted_cached` tokens of it are expected in the cache."""
    framing = view.framing
    head = [*_framing_blocks(view), *(_section_block(message, view) for message in framing.before)]
    body = [_item_block(item, view, made_at.get(item.id)) for item in view.items]
    tail = [_section_block(message, view) for message in framing.after]
    return RequestContents(
        blocks=(*head, *body, *tail),
        cached_blocks=len(head) + view.shared if predicted_cached and view.state.override is None else 0,
        parts=window_parts(view.fates, framing.tokens, _section_tokens(view)),
        tools=tuple(name for name, _ in _tool_texts(view)),
    )


def _framing_blocks(view: CompiledContext) -> Iterator[RequestBlock]:
    framing = view.framing
    if framing.system:
        size = view.count_text(framing.system)
        yield RequestBlock(id="system", speaker="system prompt", fate="system", text=framing.system, tokens=size)
    tools = list(_tool_texts(view))
    if tools:
        names = ", ".join(name for name, _ in tools)
        text = "\n\n".join(text for _, text in tools)
        yield RequestBlock(id="tools", speaker=f"{len(tools)} tools", fate="system", text=text, why=names)
    if framing.response_format is not None:
        text = _json(framing.response_format)
        yield RequestBlock(id="format", speaker="response format", fate="system", text=text)


def _tool_texts(view: CompiledContext) -> Iterator[tuple[str, str]]:
    for tool in view.framing.tools:
        inner = tool.get("function")
        named = inner if isinstance(inner, dict) else tool
        yield str(named.get("name", "tool")), _json(tool)


def _section_block(message: Message, view: CompiledContext) -> RequestBlock:
    text, calls = _words_and_calls(message)
    speaker = "sections" if message.meta.kind == "sections" else message.role
    return RequestBlock(
        id=message.id, speaker=speaker, fate="sections", text=text, calls=calls, tokens=view.count(message)
    )


def _item_block(item: Item, view: CompiledContext, made_at: int | None) -> RequestBlock:
    text, calls = _words_and_calls(item.message)
    covered = sum(last - first + 1 for first, last in item.covers)
    sources = covered or len({line.source for line in item.lines if line.source}) or 1
    # What stands in for a missing result is no message.
    is_message = not item.is_digest and not item.lines and view.position(item.id) is not None
    said = view.state.context.messages[item.order] if is_message and item.fate != "verbatim" else None
    first = view.state.context.messages[item.covers[0][0]].id if item.is_digest else item.id
    return RequestBlock(
        id=item.id,
        speaker=_speaker(item.message),
        fate=item.fate,
        text=text,
        calls=calls,
        tokens=item.tokens,
        before=view.count(said) if said is not None else None,
        by=item.by,
        why=item.why,
        source=first if is_message or item.is_digest else next((line.source for line in item.lines if line.source), ""),
        sources=sources,
        made_at=made_at,
    )


def _speaker(message: Message) -> str:
    if message.role != "tool":
        return message.role
    return f"tool result · {message.meta.tool_name}" if message.meta.tool_name else "tool result"


def _words_and_calls(message: Message) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The text of a message as it is sent, and its tool calls by name and arguments."""
    texts: list[str] = []
    calls: list[tuple[str, str]] = []
    for part in message.parts:
        match part:
            case Text(text=text):
                texts.append(text)
            case ToolResult(text=text, media=media):
                texts += [text, *(_media(one) for one in media)]
            case Thinking(text=text):
                texts.append(f"[thinking]\n{text}")
            case Media() | Opaque():
                texts.append(_media(part))
            case ToolCall(name=name, arguments=arguments):
                calls.append((name, arguments))
    return "\n".join(text for text in texts if text), tuple(calls)


def _media(part: Media | Opaque) -> str:
    if isinstance(part, Opaque):
        return readable_opaque(part.raw)[:120]
    return f"[{part.kind}: {part.reference[:120]}]"


def _section_tokens(view: CompiledContext) -> int:
    """The tokens beside the history that are neither system prompt nor tools."""
    framing = view.framing
    if view.state.override is not None:
        return framing.tokens
    return min(framing.tokens, sum(view.count(message) for message in (*framing.before, *framing.after)))


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode()
