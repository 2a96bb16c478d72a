"""Housekeeping: sessions are written out, copied and deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

import msgspec
from sqlalchemy import Connection

from foveate.errors import ConfigError
from foveate.log.codec import encode_event
from foveate.log.events import MessageAppended
from foveate.log.messages import Message
from foveate.store.arrivals import begun, findable, write_log
from foveate.store.engine import reading_within, wait_in_turns, wait_limit
from foveate.store.erasing import erase_remains
from foveate.store.info import SessionInfo
from foveate.store.reader import Reader
from foveate.store.removal import remove_session
from foveate.store.store import Store
from foveate.store.writer import locked

_READ_TOGETHER: Final = 500


def export_lines(store: Store, info: SessionInfo) -> Iterator[bytes]:
    """The log of a session, one event of JSON per line; what is appended meanwhile is left out."""
    for event in store.reader(info).events(0, info.events):
        yield encode_event(event) + b"\n"


def fork(store: Store, info: SessionInfo, new_id: str, *, at: int | None = None) -> SessionInfo:
    """A copy of a session under a new id: all of it, or the events before message number `at` + 1.

    Raises:
        ConfigError: there is no such place, or it lies between a tool call and its result.

    """
    with store.writing() as connection:
        # The copy is made from one moment of the log, inside the transaction that writes it.
        reader = Reader(info.key, info.session_id, lambda: reading_within(connection))
        end = locked(connection, info.key, info.session_id).events if at is None else _end(connection, reader, info, at)
        copied = (msgspec.structs.replace(event, session=new_id) for event in reader.events(0, end))
        write_log(connection, begun(connection, new_id, info.vault_name), copied, None)
    return findable(store, new_id, None)


def branches_of(store: Store, session_id: str) -> list[SessionInfo]:
    """The branches of a session that a gateway recorded, which are sessions of their own: `ID~2`, `ID~3`."""
    return [info for info in store.sessions() if re.fullmatch(re.escape(session_id) + r"~\d+", info.session_id)]


def delete(store: Store, info: SessionInfo) -> list[str]:
    """Delete a session for good: log, calls, checkpoints, search index, and the artifacts that no other one uses.

    SQLite overwrites what it frees with zeros, and its write-ahead log is emptied; PostgreSQL writes the tables anew.
    Returns what could not be erased at this moment, in words. Not covered: copies and exports, what the disk or file
    system keeps of overwritten blocks, and on PostgreSQL its write-ahead log, backups and replicas.
    """
    # In turns: those who append to another session may need the same lock.
    wait_in_turns(store.url, partial(_remove, store, info), wait_limit(store.wait))
    return erase_remains(store)


def _remove(store: Store, info: SessionInfo) -> None:
    held = store.held.of(info.session_id)
    with held.locked(alone=True):
        with store.writing() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA secure_delete = ON")
            remove_session(connection, info.key, info.session_id)
        # What waits to be written would bring it back.
        held.clear()


# --- where a log may be cut ---------------------------------------------------------------------------------------


class _Pair(NamedTuple):
    """The positions of a tool call and of its result."""

    call: int
    result: int


def _end(connection: Connection, reader: Reader, info: SessionInfo, at: int) -> int:
    """The number of the first event that belongs to what came after message number `at`."""
    state = locked(connection, info.key, info.session_id)
    if not 1 <= at <= state.messages:
        raise ConfigError(f"`at` {at} is no message of session {info.session_id!r}; it has 1 to {state.messages}")
    if at == state.messages:
        events: int = state.events
        return events
    next_message = -1
    pairs: list[_Pair] = []
    calls: dict[str, int] = {}
    unanswered: set[str] = set()
    position = 0
    for event in reader.events(0, state.events):
        if not isinstance(event.body, MessageAppended):
            continue
        next_message = event.seq if position == at else next_message
        if position >= at and not unanswered:
            # Nothing of what follows can answer anything from before.
            break
        pairs += _paired(event.body.message, position, calls, unanswered)
        position += 1
    before, after = _whole(pairs, at)
    if before != at:
        places = f"the nearest places are {before} and {after}" if before else f"the nearest place is {after}"
        raise ConfigError(
            f"`at` {at} lies between a tool call and its result, and a request must have both or neither; {places}"
        )
    return next_message


def _paired(message: Message, position: int, calls: dict[str, int], unanswered: set[str]) -> Iterator[_Pair]:
    for call in message.calls:
        calls[call.id] = position
        unanswered.add(call.id)
    if message.result is not None and message.result.call_id in calls:
        unanswered.discard(message.result.call_id)
        yield _Pair(calls[message.result.call_id], position)


def _whole(pairs: list[_Pair], at: int) -> tuple[int, int]:
    """The nearest places at or before and at or behind `at` that part no pair."""
    before = after = at
    while crossed := [pair for pair in pairs if pair.call < before <= pair.result]:
        before = min(pair.call for pair in crossed)
    while crossed := [pair for pair in pairs if pair.call < after <= pair.result]:
        after = max(pair.result for pair in crossed) + 1
    return before, after
