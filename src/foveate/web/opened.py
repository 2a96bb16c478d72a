"""Opened chats: what the page of a chat shows, of the store and of what waits to be written into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from foveate.api.room import Mode, Room
from foveate.chat.opening import is_chat
from foveate.errors import FoveateError
from foveate.integrations.models import Chosen
from foveate.store import SessionInfo, Store
from foveate.store.info import pending_info
from foveate.web.desk import Desk
from foveate.web.gauge import Gauge, gauge_of
from foveate.web.held import NOTHING, Held, held_behind, waiting_batches
from foveate.web.talks import Talks
from foveate.web.turns import Turns, first_of_turns, turns_between, with_held


class Manner(NamedTuple):
    """How a chat is answered; `refusal` says why it cannot be."""

    mode: Mode | None = None
    templates: tuple[str, ...] = ()
    chosen: Chosen | None = None
    refusal: FoveateError | None = None


class Listed(NamedTuple):
    """A chat in the list of all; what waits to be written is counted, too."""

    session: str
    title: str
    messages: int
    active_at: datetime


class Opened(NamedTuple):
    """A chat as it is in the store and behind it, up to the answer that is under way; it need not have begun."""

    session: str
    info: SessionInfo | None
    held: Held
    turns: Turns
    gauge: Gauge | None
    manner: Manner
    chats: list[Listed]

    @property
    def messages(self) -> int:
        """How many there are, those included that wait to be written."""
        return (self.info.messages if self.info is not None else 0) + self.held.messages


def read_chat(desk: Desk, talks: Talks, session: str, first: int | None) -> Opened:
    """A chat from a message on, or its newest turns."""
    # First: what comes into the store meanwhile is then found in one of them at least.
    waiting = waiting_batches(desk.store)
    infos = {info.session_id: info for info in desk.store.sessions()}
    held = {name: held_behind(desk.store, name, infos.get(name), batches) for name, batches in waiting.items()}
    chats = _chats(desk.store, infos, held, session)
    session = session or (chats[0].session if chats else new_name())
    info, mine = infos.get(session), held.get(session, NOTHING)
    manner = manner_of(talks.room, session)
    turns = _turns(desk, talks, session, info, mine, first)
    return Opened(session, info, mine, turns, gauge_of(desk.store, info) if info is not None else None, manner, chats)


def _chats(store: Store, infos: Mapping[str, SessionInfo], held: Mapping[str, Held], session: str) -> list[Listed]:
    """All chats, the one that was used last on top; also those that are not in the store yet."""
    begun = {name: _pending(store, name) for name, one in held.items() if name not in infos and one.messages}
    found: list[Listed] = []
    for name, info in {**begun, **infos}.items():
        if is_chat(info) or name == session:
            mine = held.get(name, NOTHING)
            latest = max([info.last_activity_at, *mine.times[-1:]])
            found.append(Listed(name, info.title or name, info.messages + mine.messages, latest))
    return sorted(found, key=lambda one: one.active_at, reverse=True)


def _pending(store: Store, session: str) -> SessionInfo:
    return replace(pending_info(session, store.held.of(session).vault), tags=store.tags_of(session))


def _turns(desk: Desk, talks: Talks, session: str, info: SessionInfo | None, held: Held, first: int | None) -> Turns:
    """What was said before the answer that is under way."""
    talk = talks.of(session)
    # What is under way shows itself.
    end = talk.messages if talk is not None and not talk.is_done else None
    stored = info.messages if info is not None else 0
    if info is None:
        turns = Turns(0, [], is_answered=True)
    else:
        last = stored if end is None else min(end, stored)
        begin = first_of_turns(desk.store, info, last) if first is None else min(first, last)
        turns = turns_between(desk.store, info, desk.memory.log_state(desk.store, info), begin, last)
    return with_held(turns, held, None if end is None else max(0, end - stored))


def manner_of(room: Room, session: str) -> Manner:
    """How a chat is answered."""
    try:
        chats = room.chats
        mode = room.mode(session)
        templates = tuple(one.name for one in chats.place.folders.available())
    except FoveateError as error:
        return Manner(refusal=error)
    try:
        chosen = room.chosen()
    except FoveateError as error:
        return Manner(mode, templates, refusal=error)
    return Manner(mode, templates, chosen)


def new_name() -> str:
    """The name of a chat that begins now."""
    return f"chat-{datetime.now(UTC).astimezone():%Y%m%d-%H%M%S}"
