"""The window of one call: what the model was sent, block by block, and what became of the rest of the log.

Only what is in the window is looked at and counted: a log may be a thousand times as long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlalchemy import select

from foveate.compiler.compiled import CompiledContext
from foveate.log.items import Item
from foveate.log.messages import Media, Message, Text, Thinking, ToolCall, ToolResult
from foveate.store import SessionInfo, Store
from foveate.store.schema import context_summaries, events
from foveate.web.fates import FATES

_TOGETHER: Final = 40
_UNREDUCED: Final = frozenset({"verbatim"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One block of a request.

    `source` is the message it came from or the first of `sources`; `before` and `after` are its tokens as it was said
    and as it is sent, and `made_at` is the call at which it got this form.
    """

    id: str
    who: str
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
class Window:
    """A request: its blocks in order, of which the first `cached` are what the provider has already."""

    pieces: tuple[Piece, ...]
    cached: int
    parts: dict[str, int]
    fates: Fates
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """A stretch of the log that a digest stands for, with the places of those messages of which a line is in it."""

    first: int
    last: int
    folded: frozenset[int]
    rest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fates:
    """What became of the messages of a log in one call, found without looking at each."""

    messages: int
    shown: Mapping[str, str]
    recalled: Mapping[str, int]
    covered: tuple[Covered, ...]

    def of(self, message_id: str, position: int) -> str:
        """The fate of a message; "" if it was said later."""
        if position >= self.messages:
            return ""
        if message_id in self.shown:
            return self.shown[message_id]
        digest = next((one for one in reversed(self.covered) if one.first <= position <= one.last), None)
        if digest is not None and position in digest.folded:
            return "folded"
        if message_id in self.recalled:
            return "recalled"
        return digest.rest if digest is not None else "dropped"

    def counts(self) -> dict[str, int]:
        """How many messages have each fate."""
        found = Counter(self.shown.values())
        found["recalled"] += sum(self.of(id, position) == "recalled" for id, position in self.recalled.items())
        places = {position for one in self.covered for position in one.folded}
        found["folded"] += sum(self.of(f"m{position + 1}", position) == "folded" for position in places)
        summarised = {
            position
            for one in self.covered
            if one.rest == "summarised"
            for position in range(one.first, one.last + 1)
            if self.of(f"m{position + 1}", position) == "summarised"
        }
        found["summarised"] += len(summarised)
        found["dropped"] += self.messages - found.total()
        return {fate: count for fate, count in found.items() if count}


def window_of(view: CompiledContext, made_at: Mapping[str, int], predicted: int) -> Window:
    """The window of a compiled request; `predicted` tokens of it are expected in the cache."""
    framing = view.framing
    head = [*_framing(view), *(_section(message, view) for message in framing.before)]
    body = [_piece(item, view, made_at.get(item.id)) for item in view.items]
    tail = [_section(message, view) for message in framing.after]
    return Window(
        pieces=(*head, *body, *tail),
        cached=len(head) + view.shared if predicted and view.state.override is None else 0,
        parts=_parts(view),
        fates=fates_in(view),
        tools=tuple(one[0] for one in _tool_texts(view)),
    )


def fates_in(view: CompiledContext) -> Fates:
    """What became of the messages of the log in a request."""
    shown: dict[str, str] = {}
    recalled: dict[str, int] = {}
    covered: list[Covered] = []
    for item in view.items:
        if item.is_digest:
            folded = frozenset(line.order for line in item.lines if line.source)
            rest = "summarised" if any(line.kind == "summary" for line in item.lines) else "dropped"
            covered += [Covered(first=first, last=last, folded=folded, rest=rest) for first, last in item.covers]
        elif item.fate == "recalled":
            recalled |= {line.source: line.order for line in item.lines if line.source}
        else:
            shown[item.id] = item.fate
    messages = view.state.context.message_count
    return Fates(messages=messages, shown=shown, recalled=recalled, covered=tuple(covered))


def made_at(store: Store, info: SessionInfo, view: CompiledContext, before: int) -> dict[str, int]:
    """For the reduced items of a request the calls at which they got their form, from the newest reductions back."""
    wanted = {item.id for item in view.items if item.fate not in _UNREDUCED}
    found: dict[str, int] = {}
    end: int | None = None
    while wanted:
        rows = _reductions(store, info, before, end)
        for seq, body in rows:
            placed = wanted & {one.item.id for one in _layout(body) if isinstance(one, _Placed)}
            if placed:
                call = _call_behind(store, info, seq)
                found |= dict.fromkeys(placed, call)
                wanted -= placed
            end = seq
        if len(rows) < _TOGETHER:
            return found
    return found


class _Named(msgspec.Struct, frozen=True):
    id: str


class _Kept(msgspec.Struct, frozen=True, tag="kept"):
    id: str


class _Placed(msgspec.Struct, frozen=True, tag="placed"):
    item: _Named


class _Layout(msgspec.Struct, frozen=True):
    layout: tuple[_Kept | _Placed, ...]


_decode_layout: Final = msgspec.json.Decoder(_Layout).decode


def _layout(body: str) -> tuple[_Kept | _Placed, ...]:
    return _decode_layout(body).layout


def _reductions(store: Store, info: SessionInfo, before: int, end: int | None) -> list[tuple[int, str]]:
    """The newest reductions before a call, or before an event, newest first."""
    with store.reading() as connection:
        if end is None:
            calls = context_summaries
            end = connection.scalar(select(calls.c.seq).where(calls.c.session == info.key, calls.c.call == before))
        query = select(events.c.seq, events.c.body).where(
            events.c.session == info.key, events.c.kind == "reduction_recorded", events.c.seq < (end or 0)
        )
        return [tuple(row) for row in connection.execute(query.order_by(events.c.seq.desc()).limit(_TOGETHER))]


def _call_behind(store: Store, info: SessionInfo, seq: int) -> int:
    calls = context_summaries
    query = select(calls.c.call).where(calls.c.session == info.key, calls.c.seq > seq)
    with store.reading() as connection:
        return connection.scalar(query.order_by(calls.c.seq).limit(1)) or 0


def _framing(view: CompiledContext) -> Iterator[Piece]:
    framing = view.framing
    if framing.system:
        yield Piece(
            id="system", who="system prompt", fate="system", text=framing.system, tokens=view.count_text(framing.system)
        )
    tools = list(_tool_texts(view))
    if tools:
        names = ", ".join(name for name, _ in tools)
        text = "\n\n".join(text for _, text in tools)
        yield Piece(id="tools", who=f"{len(tools)} tools", fate="system", text=text, why=names)
    if framing.response_format is not None:
        yield Piece(id="format", who="response format", fate="system", text=_json(framing.response_format))


def _tool_texts(view: CompiledContext) -> Iterator[tuple[str, str]]:
    for tool in view.framing.tools:
        inner = tool.get("function")
        named = inner if isinstance(inner, dict) else tool
        yield str(named.get("name", "tool")), _json(tool)


def _section(message: Message, view: CompiledContext) -> Piece:
    text, calls = words_of(message)
    who = "sections" if message.id.startswith("sections-") else message.role
    return Piece(id=message.id, who=who, fate="sections", text=text, calls=calls, tokens=view.count(message))


def _piece(item: Item, view: CompiledContext, made: int | None) -> Piece:
    message = item.message
    text, calls = words_of(message)
    covered = sum(last - first + 1 for first, last in item.covers)
    sources = covered or len({line.source for line in item.lines if line.source}) or 1
    is_message = not item.is_digest and not item.lines
    said = view.state.context.messages[item.order] if is_message and item.fate not in _UNREDUCED else None
    first = view.state.context.messages[item.covers[0][0]].id if item.is_digest else item.id
    return Piece(
        id=item.id,
        who=_who(message),
        fate=item.fate,
        text=text,
        calls=calls,
        tokens=item.tokens,
        before=view.count(said) if said is not None else None,
        by=item.by,
        why=item.why,
        source=first if is_message or item.is_digest else next((line.source for line in item.lines if line.source), ""),
        sources=sources,
        made_at=made,
    )


def _who(message: Message) -> str:
    match message.role:
        case "tool":
            return f"tool result · {message.meta.tool_name}" if message.meta.tool_name else "tool result"
        case role:
            return role


def words_of(message: Message) -> tuple[str, tuple[tuple[str, str], ...]]:
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
            case Media():
                texts.append(_media(part))
            case ToolCall(name=name, arguments=arguments):
                calls.append((name, arguments))
    return "\n".join(text for text in texts if text), tuple(calls)


def _media(part: Media) -> str:
    return f"[{part.kind}: {part.reference[:120]}]"


def _parts(view: CompiledContext) -> dict[str, int]:
    framing = view.framing
    beside = framing.tokens if view.state.override is not None else framing.tokens - _fixed(view)
    parts = {"system": framing.tokens - beside, "sections": beside}
    for fate, (_, size) in view.fates.items():
        parts[fate] = parts.get(fate, 0) + size
    known = {name: parts[name] for name in FATES if parts.get(name, 0) > 0}
    return known | {name: size for name, size in parts.items() if name not in known and size > 0}


def _fixed(view: CompiledContext) -> int:
    """The tokens of system prompt and tools."""
    beside = sum(view.count(message) for message in (*view.framing.before, *view.framing.after))
    return max(0, view.framing.tokens - beside)


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode()
