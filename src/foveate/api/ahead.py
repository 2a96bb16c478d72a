"""Ahead: what a session would be asked with next."""

from __future__ import annotations

from typing import Any, NamedTuple

from foveate.api.room import Room
from foveate.budget.profiles import known_profile
from foveate.budget.tokens import counter_for
from foveate.chat.opening import is_chat
from foveate.compile.compiled import CompiledContext
from foveate.compile.compilers import PragmaticCompiler
from foveate.compile.policy import POLICIES
from foveate.inspect.calls import last_call
from foveate.session import Session
from foveate.store import SessionInfo, Store


class Ahead(NamedTuple):
    """The options of a session's next request; by a template only if there is a budget to fill it by."""

    options: dict[str, Any]
    has_budget: bool

    def view(self, store: Store, room: Room, session_id: str, *, by_template: bool = True) -> CompiledContext:
        """The request that would be sent now; nothing is recorded."""
        with Session.open(store, session_id, **self.options) as session:
            return room.view_of(session) if by_template and self.has_budget else session.preview()


def options_ahead(store: Store, room: Room, info: SessionInfo) -> Ahead:
    """As the last call was made; a chat that was not answered yet is asked as this server asks."""
    last = last_call(store, info)
    if last is not None and last.budget is not None:
        called = last.policy
        return Ahead({"budget": last.budget} | ({"policy": called} if called in POLICIES else {}), has_budget=True)
    if not info.calls and is_chat(info):
        return Ahead(room.options(), has_budget=True)
    return ahead_without_budget(info)


def ahead_without_budget(info: SessionInfo) -> Ahead:
    """As much as the model can read, or all of the log if nobody knows how much that is."""
    model = info.metadata.get("model")
    if not isinstance(model, str):
        return Ahead({}, has_budget=False)
    profile = known_profile(model)
    if profile.window is not None:
        return Ahead({"model": profile}, has_budget=True)
    return Ahead({"compiler": PragmaticCompiler(counter=counter_for(model))}, has_budget=False)
