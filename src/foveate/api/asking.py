"""Asking: what requests have in common, such as the session they are about and how much of a list they want."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import Depends, Path, Query, Request

from foveate.api.memory import Memory
from foveate.api.place import Place
from foveate.api.room import Room
from foveate.store import Store

MOST: Final = 1_000


def _place(request: Request) -> Place:
    place: Place = request.app.state.place
    return place


def _store(request: Request) -> Store:
    store: Store = request.app.state.store
    return store


def _memory(request: Request) -> Memory:
    memory: Memory = request.app.state.memory
    return memory


def _room(request: Request) -> Room:
    room: Room = request.app.state.room
    return room


PlaceHere = Annotated[Place, Depends(_place)]
StoreHere = Annotated[Store, Depends(_store)]
MemoryHere = Annotated[Memory, Depends(_memory)]
RoomHere = Annotated[Room, Depends(_room)]


Role = Literal["user", "assistant", "tool", "system"]
Kind = Literal["user", "assistant", "tool_call", "tool_result", "summary", "system", "error"]
Roles = Annotated[list[Role] | None, Query(description="Only these: user, assistant, tool, system.")]
Kinds = Annotated[list[Kind] | None, Query(description="Only these: user, tool_call, tool_result, error …")]
SessionId = Annotated[str, Path(description="The id of a session.", examples=["sample"])]
MessageId = Annotated[str, Path(description="The id of a message.", examples=["m17"])]
Offset = Annotated[int, Query(ge=0, le=2**53, description="How many to skip.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="The most to answer with.")]
