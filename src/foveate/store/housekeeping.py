"""Housekeeping: sessions are written out, copied and deleted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

import msgspec
from sqlalchemy import Connection, select

from foveate.errors import ConfigError, LogError
from foveate.log.codec import encode_event
from foveate.log.events import MessageAppended
from foveate.log.messages import Message
from foveate.store.arrivals import begun, findable, write_log
from foveate.store.info import SessionInfo, utc
from foveate.store.reader import Reader
from foveate.store.removal import remove_session
from foveate.store.schema import context_summaries
from foveate.store.store import Store
from foveate.store.summaries import strategy_and_model
from foveate.store.writer import locked

_READ_TOGETHER: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSummary:
    """What a store knows of a call without computing it again."""

    number: int
    seq: int
    recorded_at: datetime
    strategy: str
    model: str
    tokens: int
    budget: int | None
    predicted_cached: int
    reported_input: int | None
    reported_cached: int | None
    fates: dict[str, tuple[int, int]]
    tags: dict[str, str]
    payload_sha256: str


def export_lines(store: Store, info: SessionInfo) -> Iterator[bytes]:
    """The log of a session, one event of JSON per line; what is appended meanwhile is left out."""
    count = 0
    for event in store.reader(info).events(0, info.events):
        yield encode_event(event) + b"\n"
        count += 1
    if count != info.events:
        raise LogError(
            f"session {info.session_id!r} should have {info.events} events, but number {count} is missing; "
            "`foveate db check` lists what is left"
        )


def fork(store: Store, info: SessionInfo, new_id: str, *, at: int | None = None) -> SessionInfo:
    """A copy of a session under a new id: all of it, or the events before message number `at` + 1.

    Raises:
        ConfigError: there is no such place, or it lies between a tool call and its result.

    """
    with store.writing() as connection:
        # The copy is made from one moment of the log, inside the transaction that writes it.
        reader = Reader(info.key, info.session_id, lambda: nullcontext(connection))
        end = locked(connection, info.key, info.session_id).events if at is None else _end(connection, reader, info, at)
        copied = (msgspec.structs.replace(event, session=new_id) for event in reader.events(0, end))
        write_log(connection, begun(connection, new_id, info.vault_name), copied, None)
    return findable(store, new_id, None)


def delete(store: Store, info: SessionInfo) -> None:
    """Delete a session for good: log, calls, checkpoints, search index, and the artifacts that no other one uses.

    SQLite overwrites what it frees with zeros, and its write-ahead log is emptied if nobody reads at that moment.
    Not covered: copies and exports, what the disk or file system keeps of overwritten blocks, and on PostgreSQL the
    dead rows until the next VACUUM, its write-ahead log and replicas.
    """
    with store.writing() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA secure_delete = ON")
        remove_session(connection, info.key, info.session_id)
    _forget_words(store)
    _empty_journal(store)


def call_summaries(store: Store, info: SessionInfo, *, offset: int = 0, limit: int | None = None) -> list[CallSummary]:
    """The calls of a session, oldest first: all, or `limit` of them behind the first `offset`."""
    table = context_summaries
    query = select(table).where(table.c.session == info.key).order_by(table.c.call).offset(offset).limit(limit)
    with store.reading() as connection:
        rows = connection.execute(query).all()
    return [
        CallSummary(
            number=row.call,
            seq=row.seq,
            recorded_at=utc(row.created_at),
            strategy=strategy,
            model=model,
            tokens=row.budget_used,
            budget=row.budget_limit,
            predicted_cached=row.predicted_cached,
            reported_input=row.reported_input,
            reported_cached=row.reported_cached,
            fates=msgspec.json.decode(row.fates, type=dict[str, tuple[int, int]]),
            tags=msgspec.json.decode(row.tags, type=dict[str, str]),
            payload_sha256=row.payload_sha256,
        )
        for row in rows
        for strategy, model in [strategy_and_model(row.template_name, row.model_alias, row.input_payload)]
    ]


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


# --- what is left of a session ------------------------------------------------------------------------------------


def _forget_words(store: Store) -> None:
    """Merge the full-text index: until then it only marks what it should forget."""
    with store.writing() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("INSERT INTO passages_text(passages_text) VALUES ('optimize')")


def _empty_journal(store: Store) -> None:
    """Have SQLite move its write-ahead log into the file: until then deleted text is still in one of them."""
    with store.reading() as connection:
        engine = connection.engine
    if engine.dialect.name != "sqlite":
        return
    # Outside of any transaction, which SQLite insists on.
    bare = engine.raw_connection()
    try:
        # If somebody holds it, it is emptied when they are done.
        with suppress(sqlite3.OperationalError):
            bare.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
    finally:
        bare.close()
