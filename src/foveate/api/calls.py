"""Calls: what the model saw, and why; and what it would see now."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

import msgspec
from fastapi import APIRouter, Path, Query
from starlette.responses import PlainTextResponse, Response

from foveate.api.ahead import Ahead, options_ahead
from foveate.api.asking import Limit, MemoryHere, Offset, RoomHere, SessionId, StoreHere
from foveate.api.failures import answers
from foveate.api.shapes import (
    CallDetailShape,
    CallsShape,
    DifferenceShape,
    MessageFateShape,
    MessageFatesShape,
    ViewShape,
)
from foveate.api.views import call_shapes, view_facts, waiting_shape
from foveate.errors import ConfigError, UnknownReferenceError
from foveate.inspect.calls import read_call, read_calls
from foveate.log.items import Fate
from foveate.store import SessionInfo, Store
from foveate.store.waiting import require_written_call
from foveate.wire.formats import FORMATS

router = APIRouter(prefix="/sessions", tags=["Calls"])

_Number = Annotated[int, Path(ge=1, le=2**53, description="The number of a call, from 1.")]
_COPIED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"application/json": {}, "text/plain": {}}, "description": "Ready to copy."}
}
_Format = Literal[
    "openai", "openai-compatible", "openai-responses", "anthropic", "gemini", "pydantic-ai", "langchain", "text"
]


@router.get("/{session_id:path}/calls", summary="List calls", responses=answers(404))
def list_calls(
    store: StoreHere, memory: MemoryHere, session_id: SessionId, offset: Offset = 0, limit: Limit = 100
) -> CallsShape:
    """The calls of a session in numbers, oldest first: tokens by fate, budget, cache, and reductions with reasons."""
    waiting = waiting_shape(store, session_id)
    info = store.session(session_id)
    calls = read_calls(store, info, offset=offset, limit=limit)
    shapes = call_shapes(calls, memory.costs(store, info)) if calls else []
    return CallsShape(total=info.calls, calls=shapes, waiting=waiting)


@router.get("/{session_id:path}/calls/{number}", summary="One call as it was sent", responses=answers(404))
def one_call(store: StoreHere, memory: MemoryHere, session_id: SessionId, number: _Number) -> CallDetailShape:
    """A recorded request, computed again and checked against its hash: each item with its fate, pass and reason."""
    waiting = waiting_shape(store, session_id)
    info = _with_calls(store, session_id, number)
    [record] = call_shapes([read_call(store, info, number)], memory.costs(store, info))
    views = memory.views(store, info)
    facts = view_facts(store, info, views.view(number), views.explanation(number))
    return CallDetailShape(**facts, record=record, waiting=waiting)


@router.get("/{session_id:path}/calls/{number}/fates", summary="What became of each message", responses=answers(404))
def list_fates(
    store: StoreHere,
    memory: MemoryHere,
    session_id: SessionId,
    number: _Number,
    fate: Annotated[list[Fate] | None, Query(description="Only messages with these fates.")] = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> MessageFatesShape:
    """For every message of the log by then: its fate in this call, by which pass, and why; also of those left out."""
    waiting = waiting_shape(store, session_id)
    account = memory.views(store, _with_calls(store, session_id, number)).explanation(number)
    found = [one for one in account.fates if fate is None or one.fate in fate]
    shapes = [MessageFateShape.model_validate(asdict(one)) for one in found[offset : offset + limit]]
    return MessageFatesShape(total=len(found), fates=shapes, waiting=waiting)


@router.get(
    "/{session_id:path}/calls/{number}/request",
    summary="A call as its provider gets it",
    responses=answers(404) | _COPIED,
    response_class=Response,
)
def one_request(
    store: StoreHere,
    memory: MemoryHere,
    session_id: SessionId,
    number: _Number,
    format: Annotated[_Format, Query(description="A provider or framework; text is to read.")] = "openai",
) -> Response:
    """A recorded request in the format of a provider, as `foveate show --call N --to FORMAT` prints it."""
    view = memory.views(store, _with_calls(store, session_id, number)).view(number)
    if format == "text":
        return PlainTextResponse(view.to("text"))
    # Plain data: what is copied needs no framework.
    lowered: Any = FORMATS[format].lower(view.request)
    return Response(msgspec.json.format(msgspec.json.encode(lowered)), media_type="application/json")


@router.get("/{session_id:path}/calls/{first}/diff/{second}", summary="Compare two calls", responses=answers(404))
def compare_calls(
    store: StoreHere, memory: MemoryHere, session_id: SessionId, first: _Number, second: _Number
) -> DifferenceShape:
    """What entered, what left, what changed its form, and where the cached prefix broke; the earlier call is first."""
    if first == second:
        raise ConfigError(f"both calls are {first}; give two different ones")
    waiting = waiting_shape(store, session_id)
    info = _with_calls(store, session_id, first, second)
    made = memory.views(store, info).difference(min(first, second), max(first, second))
    return DifferenceShape(**made.as_dict(), waiting=waiting)


@router.get("/{session_id:path}/preview", summary="What the model would see now", responses=answers(404))
def preview(
    store: StoreHere,
    room: RoomHere,
    session_id: SessionId,
    budget: Annotated[int | None, Query(ge=1, description="Tokens; else as the last call had it.")] = None,
    policy: Annotated[str | None, Query(description="How the past is reduced; else as the last call did.")] = None,
) -> ViewShape:
    """The request that would be sent now; nothing is recorded."""
    info = store.session(session_id)
    if not info.messages:
        # As before it was begun: whoever begins a chat has its first message in the log a moment later.
        raise UnknownReferenceError(f"nothing was said in session {session_id!r} yet; append a message first")
    given = {name: value for name, value in (("budget", budget), ("policy", policy)) if value is not None}
    ahead = options_ahead(store, room, info)
    if budget is not None and not ahead.has_budget:
        ahead = Ahead({}, has_budget=True)
    ahead = ahead._replace(options={**ahead.options, **given})
    view = ahead.view(store, room, session_id, by_template=policy is None)
    return ViewShape(**view_facts(store, info, view, view.explain()))


def _with_calls(store: Store, session_id: str, *numbers: int) -> SessionInfo:
    """The session of some calls, which its store must have: what is answered of a call does not change any more."""
    info = store.session(session_id)
    for number in numbers:
        require_written_call(store, info, number)
    return info
