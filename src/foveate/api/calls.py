"""Calls: what the model saw, and why; and what it would see now."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

import msgspec
from fastapi import APIRouter, Path, Query
from starlette.responses import PlainTextResponse, Response

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
from foveate.api.views import call_shape, view_facts
from foveate.compiler.policy import POLICIES
from foveate.errors import ConfigError, UnknownReferenceError
from foveate.log.items import Fate
from foveate.session import Session
from foveate.store import SessionInfo, Store
from foveate.store.leafing import CallAccount, call_accounts
from foveate.wire.formats import FORMATS

router = APIRouter(prefix="/sessions", tags=["Calls"])

_Number = Annotated[int, Path(ge=1, le=2**53, description="The number of a call, from 1.")]
_COPIED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"application/json": {}, "text/plain": {}}, "description": "Ready to copy."}
}
_Format = Literal["openai", "openai-responses", "anthropic", "gemini", "pydantic-ai", "langchain", "text"]


@router.get("/{session_id:path}/calls", summary="List calls", responses=answers(404))
def list_calls(store: StoreHere, session_id: SessionId, offset: Offset = 0, limit: Limit = 100) -> CallsShape:
    """The calls of a session in numbers, oldest first: tokens by fate, budget, cache, and reductions with reasons."""
    info = store.session(session_id)
    accounts = call_accounts(store, info, offset=offset, limit=limit)
    return CallsShape(total=info.calls, calls=[call_shape(one) for one in accounts])


@router.get("/{session_id:path}/calls/{number}", summary="One call as it was sent", responses=answers(404))
def one_call(store: StoreHere, memory: MemoryHere, session_id: SessionId, number: _Number) -> CallDetailShape:
    """A recorded request, computed again and checked against its hash: each item with its fate, pass and reason."""
    info = store.session(session_id)
    record = call_shape(_account(store, info, number))
    view = memory.call(store, info, number)
    facts = view_facts(store, info, view, memory.explanation(store, info, number))
    decided = record.reductions[-1] if record.reductions else None
    # Of a past call these are in the record: nothing of it is decided again.
    facts |= {
        "budget": record.budget,
        "window": record.window,
        "predicted_cached": record.predicted_cached,
        "trigger": decided.trigger if decided is not None else None,
        "reason": decided.reason if decided is not None else None,
    }
    return CallDetailShape(**facts, record=record)


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
    account = memory.explanation(store, store.session(session_id), number)
    found = [one for one in account.fates if fate is None or one.fate in fate]
    shapes = [MessageFateShape.model_validate(asdict(one)) for one in found[offset : offset + limit]]
    return MessageFatesShape(total=len(found), fates=shapes)


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
    view = memory.call(store, store.session(session_id), number)
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
    info = store.session(session_id)
    made = memory.difference(store, info, min(first, second), max(first, second))
    return DifferenceShape.model_validate(made.as_dict())


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
    if not info.events:
        raise ConfigError(f"session {session_id!r} is empty; append a message first")
    with Session.open(store, session_id, **_as_before(store, info, budget, policy)) as session:
        view = room.view_of(session) if policy is None else session.preview()
        return ViewShape(**view_facts(store, info, view, view.explain()))


def _as_before(store: Store, info: SessionInfo, budget: int | None, policy: str | None) -> dict[str, Any]:
    """Options of a session: those given, and else those that the last call was made with."""
    made = call_accounts(store, info, offset=info.calls - 1, limit=1) if info.calls else []
    for account in made:
        called = account.summary.strategy.removeprefix("pipeline:")
        budget = account.summary.budget if budget is None else budget
        policy = called if policy is None and called in POLICIES else policy
    options = {"budget": budget, "policy": policy}
    return {name: value for name, value in options.items() if value is not None}


def _account(store: Store, info: SessionInfo, number: int) -> CallAccount:
    # Calls are numbered from 1 without gaps, but for those of a log that was cut.
    near = call_accounts(store, info, offset=number - 1, limit=1)
    if near and near[0].summary.number == number:
        return near[0]
    found = next((one for one in call_accounts(store, info) if one.summary.number == number), None)
    if found is None:
        raise UnknownReferenceError(
            f"no call {number} in session {info.session_id!r}; it has {info.calls:,}, the first is 1"
        )
    return found
