"""Chatting: templates, how a chat goes on, and messages, whose answers come as they are written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Body, Path, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from foveate.api.asking import RoomHere, SessionId, StoreHere
from foveate.api.failures import answers
from foveate.api.room import Room, Told
from foveate.chat.finding import TemplateFolders
from foveate.chat.saving import saved_template
from foveate.errors import ConfigError, TemplateError, UnknownReferenceError

router = APIRouter(tags=["Chats"])

_EVENTS: Final = "text/event-stream"
_EXAMPLE: Final = (
    'event: text\ndata: {"text": "Good morning to you!"}\n\n'
    'event: done\ndata: {"message_id": "m2", "text": "Good morning to you!", "calls": [1]}\n\n'
)
_TOLD: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {_EVENTS: {"example": _EXAMPLE}}, "description": "The answer, as it is written."}
}

TemplateName = Annotated[str, Path(description="The name of a template.", examples=["chat"])]


class TemplateShape(BaseModel):
    """A template that can be chosen."""

    name: str = Field(examples=["chat"])
    source: Literal["vault", "system"]
    path: str | None


class TemplateWholeShape(TemplateShape):
    """A template as it is in its file."""

    description: str
    text: str
    sha256: str
    notes: list[str] = Field(description="What is odd about it; it works all the same.")


class ModeShape(BaseModel):
    """How a chat goes on."""

    endless: bool
    template: str = Field(examples=["chat"])


class ChatShape(ModeShape):
    """A chat: who answers, how it goes on, and how full the window is."""

    session: str
    model: str
    why: str = Field(description="Why this model answers.")
    messages: int
    tokens: int = Field(description="What a request would have now.")
    limit: int | None
    fates: dict[str, tuple[int, int]] = Field(description="For each fate: items of the request, and their tokens.")


class Asked(BaseModel):
    """What all request bodies have in common: a field that is not known is refused, as it would have no effect."""

    model_config = ConfigDict(extra="forbid")


class SayShape(Asked):
    """Something to say."""

    text: str = Field(min_length=1, examples=["Good morning!"])


class ModeWish(Asked):
    """How a chat is to go on; what is left out stays as it is."""

    endless: bool | None = None
    template: str | None = Field(default=None, examples=["coding"])


@router.get("/context/templates", summary="List templates", responses=answers())
def list_templates(
    room: RoomHere,
    vault_name: Annotated[
        str | None, Query(description="The vault; one that is not this server's has the system's templates only.")
    ] = None,
) -> list[TemplateShape]:
    """The templates that can be chosen: those of the vault, then those of the system."""
    place = room.chats.place
    folders = place.folders
    if vault_name is not None and vault_name != place.vault_name:
        folders = TemplateFolders(None, folders.system, folders.folder)
    return [TemplateShape(name=one.name, source=one.source, path=str(one.path)) for one in folders.available()]


@router.get("/context/templates/{name:path}", summary="One template", responses=answers(404))
def one_template(room: RoomHere, name: TemplateName) -> TemplateWholeShape:
    """A template as it is in its file."""
    folders = room.chats.place.folders
    try:
        found = folders.load(name)
    except TemplateError as error:
        if name.removesuffix(".md") in {one.name for one in folders.available()}:
            raise
        raise UnknownReferenceError(str(error)) from error
    return TemplateWholeShape(
        name=found.name,
        source=found.source,
        path=str(found.path),
        description=found.description,
        text=found.text,
        sha256=found.sha256,
        notes=list(found.notes),
    )


@router.put(
    "/context/templates/{name:path}", summary="Write a template into the vault", responses=answers(400, 404, 413)
)
def write_template(room: RoomHere, name: TemplateName, text: Annotated[str, Body(embed=True)]) -> TemplateWholeShape:
    """Write a template into the vault, where it comes before the system's of the same name."""
    saved_template(room.chats.place.folders, name, text)
    return one_template(room, name)


@router.get("/chats/{session_id:path}/state", summary="One chat", responses=answers())
def one_chat(room: RoomHere, store: StoreHere, session_id: SessionId) -> ChatShape:
    """Who answers in a chat, how it goes on, and how full the window is."""
    chosen, _ = room.answering()
    mode = room.mode(session_id)
    info = store.find(session_id)
    is_held = not store.held.of(session_id).is_empty
    view = room.preview(session_id) if is_held or (info is not None and info.messages) else None
    return ChatShape(
        session=session_id,
        model=chosen.name,
        why=chosen.why,
        endless=mode.endless,
        template=mode.template,
        # Those included that wait to be written into the store.
        messages=view.state.context.message_count if view is not None else 0,
        tokens=view.tokens if view is not None else 0,
        limit=view.budget.limit if view is not None and view.budget is not None else None,
        fates=dict(view.fates) if view is not None else {},
    )


@router.put(
    "/chats/{session_id:path}/mode", summary="Switch endless mode and template", responses=answers(400, 409, 413)
)
def switch(room: RoomHere, session_id: SessionId, wish: ModeWish) -> ModeShape:
    """Go on endlessly by a template, or with the plain history; a template is kept for when it is endless again."""
    if wish.endless is None and wish.template is None:
        raise ConfigError("neither `endless` nor `template` is given; give one of them, or both")
    mode = room.switch(session_id, endless=wish.endless, template=wish.template)
    return ModeShape(endless=mode.endless, template=mode.template)


@router.post(
    "/chats/{session_id:path}/messages",
    summary="Say something",
    response_class=StreamingResponse,
    responses={**answers(400, 409, 413), **_TOLD},
)
async def say(room: RoomHere, session_id: SessionId, said: SayShape) -> StreamingResponse:
    """Say something; the answer comes as server-sent events.

    `text` is a piece of the answer, `call` and `result` are the tools', `diagnostic` says what went wrong without
    costing the answer, and the last is `done` with the message's id and the calls it took, or `error`.
    """
    return await _answered(room, session_id, said.text)


@router.post(
    "/chats/{session_id:path}/retry",
    summary="Ask again",
    response_class=StreamingResponse,
    responses={**answers(404, 409), **_TOLD},
)
async def retry(room: RoomHere, session_id: SessionId) -> StreamingResponse:
    """Have what was said last answered, if its answer failed; events as for a message."""
    return await _answered(room, session_id, None)


async def _answered(room: Room, session_id: str, text: str | None) -> StreamingResponse:
    """What happens until there is an answer; whoever waits for one takes no thread from the others."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[Told | None] = asyncio.Queue()

    def tell(told: Told | None) -> None:
        # The server may have ended meanwhile; the answer is written into the log all the same.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(waiting.put_nowait, told)

    # In a thread: a model may have to be started for it.
    await run_in_threadpool(room.begin, session_id, text, tell)
    return StreamingResponse(_events(waiting), media_type=_EVENTS)


async def _events(waiting: asyncio.Queue[Told | None]) -> AsyncIterator[str]:
    while (one := await waiting.get()) is not None:
        yield f"event: {one.kind}\ndata: {json.dumps(one.facts, ensure_ascii=False)}\n\n"
