"""Sessions: what a store holds, and one session as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from foveate.api.asking import Limit, MemoryHere, Offset, RoomHere, SessionId, StoreHere
from foveate.api.failures import answers
from foveate.api.shapes import (
    CostsShape,
    DeletedShape,
    DiagnosticShape,
    SessionDetailShape,
    SessionShape,
    SessionsShape,
)
from foveate.api.views import waiting_shape
from foveate.errors import ConfigError
from foveate.inspect import sessions as inspected
from foveate.inspect.messages import count_roles_and_tools
from foveate.inspect.sessions import SessionSummary, SortKey
from foveate.session.transcript import Transcript
from foveate.store.housekeeping import branches_of, delete
from foveate.wire.tools import tool_names

router = APIRouter(prefix="/sessions", tags=["Sessions"])
# Behind all others: the id of a session may have slashes in it, and so matches what they are called by.
last = APIRouter(prefix="/sessions", tags=["Sessions"])

_CHUNK: Final = 64_000


@router.get("", summary="List sessions", responses=answers())
def list_sessions(
    store: StoreHere,
    memory: MemoryHere,
    search: Annotated[str, Query(description="Words in the id, title, vault or tags; a session has them all.")] = "",
    vault: Annotated[str | None, Query(description="Only those of this vault.")] = None,
    sort: Annotated[SortKey, Query(description="What to sort by.")] = "last_activity",
    order: Annotated[Literal["asc", "desc"], Query(description="Smallest or largest first.")] = "desc",
    offset: Offset = 0,
    limit: Limit = 50,
) -> SessionsShape:
    """The sessions of the store, the most recently used first unless told otherwise."""
    found = inspected.list_sessions(
        store,
        search=search,
        vault=vault,
        sort=sort,
        descending=order == "desc",
        offset=offset,
        limit=limit,
        read_costs=memory.input_costs,
    )
    return SessionsShape(total=found.total, sessions=[session_shape(one) for one in found.sessions])


@router.get("/{session_id:path}/diagnostics", summary="What was odd or failed", responses=answers(404))
def list_diagnostics(store: StoreHere, memory: MemoryHere, session_id: SessionId) -> list[DiagnosticShape]:
    """Everything that was odd or failed in a session, oldest first; the session went on each time."""
    return [
        DiagnosticShape(
            event=one.seq,
            time=one.time,
            code=one.body.code,
            phase=one.body.phase,
            text=one.body.text,
            subject=one.body.subject,
        )
        for one in memory.log_state(store, store.session(session_id)).diagnostics
    ]


@router.get(
    "/{session_id:path}/transcript",
    summary="The conversation as Markdown",
    response_class=StreamingResponse,
    responses={**answers(404), 200: {"content": {"text/markdown": {}}, "description": "The whole conversation."}},
)
def transcript(store: StoreHere, session_id: SessionId) -> StreamingResponse:
    """Everything that was said, word for word, to read; tool traffic is folded."""
    info = store.session(session_id)
    name = quote(f"{info.session_id}.md", safe="")
    return StreamingResponse(
        _gathered(map(Transcript().chunk, store.reader(info).events(0, info.events))),
        media_type="text/markdown; charset=utf-8",
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}"},
    )


@router.get("/{session_id:path}/costs", summary="What a session cost", responses=answers(404))
def session_costs(store: StoreHere, memory: MemoryHere, session_id: SessionId) -> CostsShape:
    """The input of all calls as it was sent, and as it would have been with the whole history in each."""
    return CostsShape.model_validate(memory.costs(store, store.session(session_id)).as_dict())


@last.get("/{session_id:path}", summary="One session", responses=answers(404))
def one_session(store: StoreHere, memory: MemoryHere, session_id: SessionId) -> SessionDetailShape:
    """A session: its numbers, what frames its messages, who said how much, and what is pinned."""
    waiting = waiting_shape(store, session_id)
    info = store.session(session_id)
    state = memory.log_state(store, info)
    summary = SessionSummary(info=info, cost=memory.input_costs(store, [info]).get(info.key))
    roles, used = count_roles_and_tools(store, info)
    return SessionDetailShape(
        **session_shape(summary).model_dump(),
        system=state.framing.system,
        tools=list(tool_names(state.framing.tools)),
        roles=roles,
        used_tools=used,
        pins=[id for id, is_pinned in state.pins.items() if is_pinned],
        diagnostics=len(state.diagnostics),
        waiting=waiting,
    )


@last.delete("/{session_id:path}", summary="Delete a session for good", responses=answers(404, 409))
def delete_session(
    store: StoreHere,
    room: RoomHere,
    session_id: SessionId,
    confirm: Annotated[str, Query(description="The id of the session once more: this cannot be undone.")],
) -> DeletedShape:
    """Delete a session and its branches: log, calls, search index, and what only they used."""
    if confirm != session_id:
        raise ConfigError(
            f"`confirm` is {confirm!r}, and the session is {session_id!r}; give the same id if it is to be deleted"
        )
    infos = [store.session(session_id), *branches_of(store, session_id)]
    with room.alone(session_id):
        left = dict.fromkeys(note for info in infos for note in delete(store, info))
    return DeletedShape(deleted=[info.session_id for info in infos], left=list(left))


def session_shape(summary: SessionSummary) -> SessionShape:
    """A session as it is known without its log."""
    info = summary.info
    return SessionShape(
        session_id=info.session_id,
        title=info.title,
        vault=info.vault_name,
        messages=info.messages,
        tokens=info.tokens,
        calls=info.calls,
        events=info.events,
        created_at=info.created_at,
        last_activity_at=info.last_activity_at,
        tags=info.tags,
        model=summary.model,
        cost=summary.cost,
    )


def _gathered(chunks: Iterable[str]) -> Iterator[str]:
    """Chunks of a fair size: each is handed from one thread to another."""
    waiting: list[str] = []
    size = 0
    for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk)
        if size > _CHUNK:
            yield "".join(waiting)
            waiting, size = [], 0
    yield "".join(waiting)
