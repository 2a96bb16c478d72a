"""Sessions: what a store holds, and one session as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from foveate.api.asking import Limit, MemoryHere, Offset, SessionId, StoreHere
from foveate.api.costs import input_costs
from foveate.api.failures import answers
from foveate.api.shapes import DiagnosticShape, SessionDetailShape, SessionShape, SessionsShape
from foveate.session.transcript import Transcript
from foveate.store import SessionInfo
from foveate.store.leafing import spoken
from foveate.wire.tools import tool_names

router = APIRouter(prefix="/sessions", tags=["Sessions"])
# Behind all others: the id of a session may have slashes in it, and so matches what they are called by.
last = APIRouter(prefix="/sessions", tags=["Sessions"])

_CHUNK: Final = 64_000
_Sort = Literal["last_activity", "created", "title", "session_id", "messages", "tokens", "calls", "cost"]
_KEYS: Final[dict[str, Callable[[SessionShape], Any]]] = {
    "last_activity": lambda one: one.last_activity_at,
    "created": lambda one: one.created_at,
    "title": lambda one: one.title.casefold(),
    "session_id": lambda one: one.session_id.casefold(),
    "messages": lambda one: one.messages,
    "tokens": lambda one: one.tokens,
    "calls": lambda one: one.calls,
    # What has no price is cheaper than what costs nothing.
    "cost": lambda one: -1.0 if one.cost is None else one.cost,
}


@router.get("", summary="List sessions", responses=answers())
def list_sessions(
    store: StoreHere,
    search: Annotated[str, Query(description="Words in the id, title, vault or tags; a session has them all.")] = "",
    vault: Annotated[str | None, Query(description="Only those of this vault.")] = None,
    sort: Annotated[_Sort, Query(description="What to sort by.")] = "last_activity",
    order: Annotated[Literal["asc", "desc"], Query(description="Smallest or largest first.")] = "desc",
    offset: Offset = 0,
    limit: Limit = 50,
) -> SessionsShape:
    """The sessions of the store, the most recently used first unless told otherwise."""
    words = search.casefold().split()
    found = [info for info in store.sessions() if vault in (None, info.vault_name) and _has(info, words)]
    if sort == "cost":
        costs = input_costs(store, [info.key for info in found])
        shapes = [session_shape(info, costs.get(info.key)) for info in found]
    else:
        shapes = [session_shape(info, None) for info in found]
    order_of = sorted(range(len(found)), key=lambda place: _KEYS[sort](shapes[place]), reverse=order == "desc")
    chosen = [found[place] for place in order_of[offset : offset + limit]]
    costs = input_costs(store, [info.key for info in chosen])
    return SessionsShape(total=len(found), sessions=[session_shape(info, costs.get(info.key)) for info in chosen])


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
        for one in memory.marks(store, store.session(session_id)).diagnostics
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


@last.get("/{session_id:path}", summary="One session", responses=answers(404))
def one_session(store: StoreHere, memory: MemoryHere, session_id: SessionId) -> SessionDetailShape:
    """A session: its numbers, what frames its messages, who said how much, and what is pinned."""
    info = store.session(session_id)
    marks = memory.marks(store, info)
    roles, used = spoken(store, info)
    return SessionDetailShape(
        **session_shape(info, input_costs(store, [info.key]).get(info.key)).model_dump(),
        system=marks.framing.system,
        tools=list(tool_names(marks.framing.tools)),
        roles=roles,
        used_tools=used,
        pins=[id for id, is_pinned in marks.pins.items() if is_pinned],
        diagnostics=len(marks.diagnostics),
    )


def session_shape(info: SessionInfo, cost: float | None) -> SessionShape:
    """What a store knows of a session."""
    model = info.metadata.get("model")
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
        model=model if isinstance(model, str) else None,
        cost=cost,
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


def _has(info: SessionInfo, words: list[str]) -> bool:
    tags = (text for tag in info.tags.items() for text in tag)
    text = "\n".join((info.session_id, info.title, info.vault_name, *tags)).casefold()
    return all(word in text for word in words)
