"""Messages: what was said in a session, some of it at a time, and what is pinned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Query

from foveate.api.asking import Kinds, Limit, MemoryHere, MessageId, Offset, Roles, SessionId, StoreHere
from foveate.api.failures import answers
from foveate.api.shapes import MessageShape, MessagesShape, MessageWholeShape, PinsShape
from foveate.api.views import waiting_shape
from foveate.budget.accounting import message_tokens
from foveate.budget.tokens import TokenCounter, counter_for
from foveate.errors import LogError, UnknownReferenceError
from foveate.inspect.messages import (
    MOST_FOUND,
    MessageRow,
    list_messages,
    messages_named,
    search_hits,
)
from foveate.log.messages import Message
from foveate.recall.readable import readable
from foveate.session import Session
from foveate.store import SearchHit, SessionInfo
from foveate.store.find import Filters
from foveate.store.rows import tool_of
from foveate.store.waiting import raise_if_message_waits

router = APIRouter(prefix="/sessions", tags=["Messages"])

_PREVIEW: Final = 400
# Who pins compiles nothing; with a budget, no window of the session's model has to be known.
_ANY: Final = 1_000_000


@router.get("/{session_id:path}/messages", summary="List messages", responses=answers(404))
def get_messages(
    store: StoreHere,
    memory: MemoryHere,
    session_id: SessionId,
    role: Roles = None,
    tool: Annotated[list[str] | None, Query(description="Only calls and results of these tools.")] = None,
    kind: Kinds = None,
    search: Annotated[
        str, Query(description=f"Only the messages that answer this best, the best first; at most {MOST_FOUND}.")
    ] = "",
    preview: Annotated[int, Query(ge=0, le=20_000, description="Characters of each text to show.")] = _PREVIEW,
    offset: Offset = 0,
    limit: Limit = 100,
) -> MessagesShape:
    """Messages as they were said, oldest first; with `search`, those that answer it, the best first."""
    waiting = waiting_shape(store, session_id)
    info = store.session(session_id)
    filters = Filters(roles=role, tools=tool, kinds=kind)
    found: Mapping[str, SearchHit] = {}
    if search.strip():
        found = search_hits(store, info, search, filters)
        total, rows = len(found), messages_named(store, info, list(found)[offset : offset + limit])
    else:
        total, rows = list_messages(store, info, filters, offset=offset, limit=limit)
    counter, pins = _counter(info), memory.log_state(store, info).pins
    shapes = [MessageShape(**_facts(row, pins, counter, preview)) for row in rows]
    told = [
        one.model_copy(update={"preview": found[one.id].text[:preview]}) if one.id in found else one for one in shapes
    ]
    return MessagesShape(total=total, messages=told, waiting=waiting)


@router.get("/{session_id:path}/messages/{message_id:path}", summary="One message, whole", responses=answers(404))
def one_message(
    store: StoreHere, memory: MemoryHere, session_id: SessionId, message_id: MessageId
) -> MessageWholeShape:
    """A message as it was recorded, whatever requests show of it."""
    waiting = waiting_shape(store, session_id)
    info = store.session(session_id)
    row = next(iter(messages_named(store, info, [message_id])), None)
    if row is None:
        raise_if_message_waits(store, info, message_id)
        raise UnknownReferenceError(
            f"no message {message_id!r} in session {session_id!r}; it has {info.messages:,}, named like m1"
        )
    message = row.message
    if message is None:
        raise LogError(f"message {message_id!r} of session {session_id!r} cannot be read; `foveate db check` says more")
    return MessageWholeShape(
        **_facts(row, memory.log_state(store, info).pins, _counter(info), _PREVIEW),
        text=readable(message),
        parts=msgspec.to_builtins(message.parts),
        reads=list(message.meta.reads),
        writes=list(message.meta.writes),
        extra=message.extra,
        waiting=waiting,
    )


@router.post("/{session_id:path}/pins/{message_id:path}", summary="Pin a message", responses=answers(404, 409))
def pin(store: StoreHere, session_id: SessionId, message_id: MessageId) -> PinsShape:
    """Show a message verbatim in every request from here on, even if it was reduced before."""
    store.session(session_id)
    with Session.open(store, session_id, budget=_ANY) as session:
        if message_id not in session.pins:
            session.pin(message_id)
        return PinsShape(pins=list(session.pins))


@router.delete("/{session_id:path}/pins/{message_id:path}", summary="Unpin a message", responses=answers(404, 409))
def unpin(store: StoreHere, session_id: SessionId, message_id: MessageId) -> PinsShape:
    """Let a message be reduced again."""
    store.session(session_id)
    with Session.open(store, session_id, budget=_ANY) as session:
        session.unpin(message_id)
        return PinsShape(pins=list(session.pins))


def _counter(info: SessionInfo) -> TokenCounter:
    model = info.metadata.get("model")
    return counter_for(model if isinstance(model, str) else None)


def _facts(row: MessageRow, pins: Mapping[str, bool], counter: TokenCounter, preview: int) -> dict[str, Any]:
    message = row.message or Message(id=f"m{row.position + 1}", role="system")
    text = readable(message)
    return {
        "id": message.id,
        "position": row.position,
        "event": row.seq,
        "role": message.role,
        "origin": message.meta.origin,
        "tool": tool_of(message),
        "outcome": message.meta.outcome,
        "turn": message.meta.turn,
        "time": row.time,
        "tokens": message_tokens(message, counter),
        "characters": len(text),
        "preview": text[:preview],
        "pinned": pins.get(message.id, message.meta.pinned),
        "damaged": row.message is None,
    }
