"""The backlog: messages are made findable many at a time, when somebody searches or a session is closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sqlalchemy import select, update

from foveate.log.messages import Message
from foveate.store.engine import reading_within
from foveate.store.info import SessionInfo
from foveate.store.reader import Reader
from foveate.store.schema import sessions
from foveate.store.search import index_messages
from foveate.store.writer import locked

if TYPE_CHECKING:
    from foveate.store.store import Store

# Told what is being done, and how many of them are done so far.
Progress = Callable[[str, int], None]

_TOGETHER: Final = 500
_READ: Final = 10
_CHARACTERS: Final = 10_000_000


def index_backlog(store: Store, info: SessionInfo, *, most: int | None = None, progress: Progress | None = None) -> int:
    """Make findable what was appended since the last time; returns how many messages that were.

    Each stretch is indexed under the lock of the session, so two processes that do it at once share the work.
    """
    done = 0
    while most is None or done < most:
        count = _index_next(store, info, _TOGETHER if most is None else min(_TOGETHER, most - done))
        if not count:
            break
        done += count
        if progress is not None:
            progress("messages indexed", done)
    return done


def _index_next(store: Store, info: SessionInfo, room: int) -> int:
    with store.reading() as connection:
        # Most sessions need nothing, and a store that can only be read is not asked for a lock.
        state = connection.execute(select(sessions).where(sessions.c.id == info.key)).first()
    if state is None or state.indexed >= state.messages:
        return 0
    with store.writing() as connection:
        state = locked(connection, info.key, info.session_id)
        end = min(state.messages, state.indexed + room)
        reader = Reader(info.key, info.session_id, lambda: reading_within(connection))
        messages, end = _next_messages(reader, state.indexed, end)
        index_messages(connection, info.key, messages)
        connection.execute(update(sessions).where(sessions.c.id == info.key).values(indexed=end))
        return int(end - state.indexed)


def _next_messages(reader: Reader, start: int, end: int) -> tuple[list[tuple[int, Message]], int]:
    """The messages from `start` up to `end`, or up to what fits into memory, and where they end."""
    messages: list[tuple[int, Message]] = []
    characters = 0
    for first in range(start, end, _READ):
        last = min(first + _READ, end)
        # A damaged row keeps nobody from finding the others.
        found = list(reader.readable(range(first, last)).items())
        messages += found
        characters += sum(len(message.text) for _, message in found)
        if characters > _CHARACTERS:
            return messages, last
    return messages, end
