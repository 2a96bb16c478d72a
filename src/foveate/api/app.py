"""The application: routers, failures and the guard, put together over one store."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Final

from fastapi import APIRouter, FastAPI

from foveate.api import calls, chatting, importing, messages, reference, searching, sessions
from foveate.api.failures import explain_failures
from foveate.api.guard import Guard, check_token
from foveate.api.memory import Memory
from foveate.api.nothing import behind
from foveate.api.place import Place
from foveate.api.room import Room
from foveate.api.sizes import Sizes
from foveate.store import Store
from foveate.store.engine import INTERACTIVE_WAIT

_ABOUT: Final = """\
What a model's window holds, why, and what it costs: the sessions of a store, every message of them, and every request
that was compiled, with the fate of each message in it.

What goes wrong is answered with `error` and `remedy`. A server that others can reach wants its token, in the header
`Authorization: Bearer …` or in the cookie that its login page leaves.
"""
_TAGS: Final = [
    {"name": "Sessions", "description": "What the store holds."},
    {"name": "Messages", "description": "What was said, and what is pinned."},
    {"name": "Calls", "description": "What the model saw, and why."},
    {"name": "Chats", "description": "Conversations with a model, endless or plain, and their templates."},
    {"name": "Search", "description": "What was ever said, in all sessions."},
    {"name": "Import", "description": "Logs of coding agents, frameworks and providers."},
]


def create_app(place: Place, *, token: str | None = None, host: str = "127.0.0.1") -> FastAPI:
    """The HTTP application over the store of a place; the store is closed when the application ends.

    Args:
        place: where sessions, templates and notes are.
        token: what requests must have; an address that others can reach demands one.
        host: the address that the server will listen at.

    """
    check_token(host, token)
    app = FastAPI(
        title="Foveate",
        summary="A context compiler for LLM agents: what should the model see on this call?",
        description=_ABOUT,
        version=version("foveate"),
        openapi_url="/api/openapi.json",
        # The usual pages load their scripts from elsewhere; ours needs no network.
        docs_url=None,
        redoc_url=None,
        openapi_tags=_TAGS,
        lifespan=_closed,
    )
    app.state.place = place
    # Somebody waits for each answer: a store that is locked is said, or done without, and not waited for.
    app.state.store = Store(place.store, wait=INTERACTIVE_WAIT)
    app.state.memory = Memory()
    app.state.room = Room(app.state.store, place)
    app.add_middleware(Sizes)
    app.add_middleware(Guard, host=host, token=token)
    explain_failures(app)
    app.include_router(api_router())
    return app


def api_router() -> APIRouter:
    """All there is under /api."""
    router = APIRouter(prefix="/api")
    parts = (importing, searching, chatting, calls, messages, sessions, reference)
    known = [*(part.router for part in parts), sessions.last]
    for one in (*known, behind(known)):
        router.include_router(one)
    return router


@asynccontextmanager
async def _closed(app: FastAPI) -> AsyncGenerator[None, None]:
    store: Store = app.state.store
    room: Room = app.state.room
    try:
        yield
    finally:
        room.close()
        store.close()
