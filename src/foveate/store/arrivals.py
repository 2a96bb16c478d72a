"""Arrivals: logs come into a store from elsewhere, all of them or none, and go on where they were left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import chain, islice
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, select, update

from foveate.budget.accounting import Precounted, message_tokens
from foveate.budget.tokens import counter_for
from foveate.errors import LogError, StoreError
from foveate.log.codec import decode_event
from foveate.log.events import CallRecorded, Event, FramingSet, MessageAppended
from foveate.log.messages import Message
from foveate.store.backlog import Progress, index_backlog
from foveate.store.engine import insert_ignoring
from foveate.store.info import SessionInfo, new_row
from foveate.store.reader import Reader
from foveate.store.schema import sessions
from foveate.store.store import DEFAULT_VAULT, Store
from foveate.store.writer import Writer, locked

_CHUNK: Final = 1_000


class Arrival(NamedTuple):
    """A log that came in: its session, how many events are new, and whether the session was there before."""

    info: SessionInfo
    added: int
    was_there: bool


def import_lines(
    store: Store,
    lines: Iterable[bytes],
    *,
    as_session: str | None = None,
    vault_name: str = DEFAULT_VAULT,
    progress: Progress | None = None,
) -> Arrival:
    """The log that lines of JSON hold, in this store: all of it, or nothing if one line is wrong.

    Only the session's name changes, and only with `as_session`.
    """
    with TemporaryFile() as spool:
        # All of it first: whoever sends the lines may be slow, and nobody else could write meanwhile.
        for _ in _checked(_copied(lines, spool), as_session):
            pass
        spool.seek(0)
        return import_logs(store, [_checked(spool, as_session)], vault_name=vault_name, progress=progress)[0]


def import_logs(
    store: Store,
    logs: Iterable[Iterable[Event]],
    *,
    vault_name: str = DEFAULT_VAULT,
    progress: Progress | None = None,
) -> list[Arrival]:
    """Logs in this store, one session each: all of them or none.

    A session that is there already gets what is new, if its log is the beginning of the one that comes.
    """
    arrived: list[tuple[str, int, bool]] = []
    with store.writing() as connection:
        for log in logs:
            events = iter(log)
            first = next(events, None)
            if first is not None:
                arrived.append(_arrived(connection, chain([first], events), first.session, vault_name, progress))
    return [Arrival(findable(store, name, progress), added, was_there) for name, added, was_there in arrived]


def _arrived(
    connection: Connection, log: Iterator[Event], name: str, vault_name: str, progress: Progress | None
) -> tuple[str, int, bool]:
    key = connection.scalar(select(sessions.c.id).where(sessions.c.session_id == name))
    if key is None:
        return name, write_log(connection, begun(connection, name, vault_name), log, progress), False
    row = locked(connection, key, name)
    tally = _Tally(row.tokens)
    for known in Reader(key, name, lambda: nullcontext(connection)).events(0, row.events):
        event = next(log, None)
        if event is None:
            # What comes is only the beginning of what is there: nothing of it is new.
            return name, 0, True
        if event != known:
            raise StoreError(
                f"session {name!r} is in this store already and differs from what comes, from event {known.seq} on; "
                "give another name with `--as`, or delete it first"
            )
        tally.note(event)
    return name, write_log(connection, Writer(key, name, row.vault_name), log, progress, tally), True


def _checked(lines: Iterable[bytes], name: str | None) -> Iterator[Event]:
    """The events of lines, each in its place; an error names the line."""
    session: str | None = None
    count = calls = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event = decode_event(line)
        except (LogError, RecursionError) as error:
            raise LogError(f"line {number}: {error}") from error
        session = event.session if session is None else session
        problem = _misplaced(event, session, count, calls)
        if problem is not None:
            raise LogError(f"line {number}: {problem}")
        calls = event.body.number if isinstance(event.body, CallRecorded) else calls
        count += 1
        yield event if name is None else msgspec.structs.replace(event, session=name)
    if not count:
        raise LogError("there is no event in it; `foveate export` writes one per line")


def _misplaced(event: Event, session: str, count: int, calls: int) -> str | None:
    if event.session != session:
        return f"an event of session {event.session!r} among those of {session!r}; give one session at a time"
    if event.seq != count:
        return f"event {event.seq} where event {count} should be; a log is contiguous and begins with event 0"
    if isinstance(event.body, CallRecorded) and event.body.number <= calls:
        return f"call {event.body.number} behind call {calls}; calls are numbered in order"
    return None


def _copied(lines: Iterable[bytes], spool: IO[bytes]) -> Iterator[bytes]:
    for line in lines:
        spool.write(line if line.endswith(b"\n") else line + b"\n")
        yield line


def begun(connection: Connection, session_id: str, vault_name: str) -> Writer:
    """The writer of a session that is begun in this transaction."""
    row = new_row(session_id, vault_name)
    key = connection.scalar(insert_ignoring(connection, sessions).returning(sessions.c.id), row)
    if key is None:
        raise StoreError(f"session {session_id!r} is in this store already; give another name with `--as`")
    return Writer(key, session_id, vault_name)


def write_log(
    connection: Connection,
    writer: Writer,
    log: Iterator[Event],
    progress: Progress | None,
    tally: _Tally | None = None,
) -> int:
    """Append a log to a session; how many events that were."""
    tally = tally or _Tally()
    done = 0
    while chunk := list(islice(log, _CHUNK)):
        try:
            writer.append(connection, chunk)
        except OverflowError as error:
            raise LogError(f"events {done} to {done + len(chunk) - 1}: a number is too large to be stored") from error
        tally.add(chunk)
        done += len(chunk)
        if progress is not None:
            progress("events", done)
    connection.execute(update(sessions).where(sessions.c.id == writer.key).values(tokens=tally.tokens))
    return done


class _Tally:
    """The tokens of all messages of a log, counted as for the model that it was framed with by then."""

    def __init__(self, tokens: int = 0) -> None:
        self.tokens = tokens
        self._model: str | None = None

    def note(self, event: Event) -> None:
        """Take note of the framing in an event whose tokens were counted before."""
        if isinstance(event.body, FramingSet):
            self._model = event.body.model

    def add(self, log: Iterable[Event]) -> None:
        said: dict[str | None, list[Message]] = {}
        for event in log:
            match event.body:
                case FramingSet(model=model):
                    self._model = model
                case MessageAppended(message=message):
                    said.setdefault(self._model, []).append(message)
                case CallRecorded(logged=logged) if logged:
                    # The call was told how many there were, and counting is most of the work.
                    self.tokens = logged
                    said.clear()
                case _:
                    continue
        for model, messages in said.items():
            counter = Precounted(counter_for(model))
            counter.prepare(messages)
            self.tokens += sum(message_tokens(message, counter) for message in messages)


def findable(store: Store, session_id: str, progress: Progress | None) -> SessionInfo:
    """A session whose messages can be searched."""
    index_backlog(store, store.session(session_id), progress=progress)
    return store.session(session_id)
