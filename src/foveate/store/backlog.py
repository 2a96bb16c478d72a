"""The backlog: messages are made findable many at a time, when somebody searches or a session is closed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from sqlalchemy import select, update

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
        reader = Reader(info.key, info.session_id, lambda: nullcontext(connection))
        # A damaged row keeps nobody from finding the others.
        index_messages(connection, info.key, list(reader.readable(range(state.indexed, end)).items()))
        connection.execute(update(sessions).where(sessions.c.id == info.key).values(indexed=end))
        return int(end - state.indexed)
