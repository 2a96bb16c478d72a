"""Arrivals: logs come into a store from elsewhere, all of them or none, and go on where they were left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, select, update

from foveate.budget.accounting import Precounted, message_tokens
from foveate.budget.tokens import counter_for
from foveate.errors import ConflictError, LogError
from foveate.log.codec import decode_event
from foveate.log.events import (
    CallRecorded,
    DiagnosticRecorded,
    Event,
    ExecutionEnded,
    ExecutionStarted,
    FramingSet,
    MessageAppended,
    Tagged,
)
from foveate.log.messages import Media, Message, Opaque, Part, ToolCall, ToolResult
from foveate.store.backlog import Progress, index_backlog
from foveate.store.engine import insert_ignoring, reading_within
from foveate.store.info import SessionInfo, new_row
from foveate.store.reader import Reader
from foveate.store.removal import remove_session
from foveate.store.schema import sessions
from foveate.store.store import DEFAULT_VAULT, Store
from foveate.store.writer import Writer, locked

_CHUNK: Final = 1_000
_CHUNK_CHARACTERS: Final = 10_000_000
# The end of the year 9999: what is later is no time.
_LAST_SECOND: Final = 253_402_300_800


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

        def read() -> Iterator[Event]:
            spool.seek(0)
            return _checked(spool, as_session)

        return import_logs(store, [read], vault_name=vault_name, progress=progress)[0]


def import_logs(
    store: Store,
    logs: Iterable[Callable[[], Iterator[Event]]],
    *,
    vault_name: str = DEFAULT_VAULT,
    progress: Progress | None = None,
) -> list[Arrival]:
    """Logs in this store, one session each: all of them or none. Each is a function that reads it from its beginning.

    A session that is there already gets what is new, if its log is the beginning of the one that comes. The newest
    response, which may have been half written when it came, is allowed to differ.
    """
    with store.writing() as connection:
        arrived = [_arrived(connection, read, vault_name, progress) for read in logs]
    return [Arrival(findable(store, name, progress), added, was_there) for name, added, was_there in arrived]


def _arrived(
    connection: Connection, read: Callable[[], Iterator[Event]], vault_name: str, progress: Progress | None
) -> tuple[str, int, bool]:
    name = next(read()).session
    key = connection.scalar(select(sessions.c.id).where(sessions.c.session_id == name))
    if key is None:
        return name, write_log(connection, begun(connection, name, vault_name), read(), progress), False
    row = locked(connection, key, name)
    tally = _Tally(row.tokens)
    stored = Reader(key, name, lambda: reading_within(connection))
    shared = _shared(stored.events(0, row.events), read(), tally)
    if shared == row.events:
        rest = islice(read(), shared, None)
        return name, write_log(connection, Writer(key, name, row.vault_name), rest, progress, tally), True
    coming = sum(1 for _ in islice(read(), shared, None))
    if not coming:
        # What comes is only the beginning of what is there: nothing of it is new.
        return name, 0, True
    is_open = _is_open(stored.events(shared, row.events), islice(read(), shared, None))
    if coming < row.events - shared or not is_open:
        raise ConflictError(
            f"session {name!r} is in this store already and differs from what comes, from event {shared} on; "
            "give another name with `--as`, or delete it first"
        )
    remove_session(connection, key, name)
    write_log(connection, begun(connection, name, row.vault_name), read(), progress)
    return name, coming, True


def _shared(stored: Iterator[Event], coming: Iterator[Event], tally: _Tally) -> int:
    """How many events two logs begin with in common."""
    count = 0
    for known, event in zip(stored, coming, strict=False):
        if known != event:
            break
        tally.note(event)
        count += 1
    return count


def _is_open(end: Iterator[Event], coming: Iterator[Event]) -> bool:
    """Whether the end of a log is one response and what followed it, with nothing in it that only this store knows.

    What a person said before it must come again, or go on: else it is another conversation under the same name.
    """
    said = (event.body.message for event in coming if isinstance(event.body, MessageAppended))
    responses = 0
    for event in end:
        match event.body:
            case MessageAppended(message=message):
                responses += message.role == "assistant"
                if not responses and not _goes_on(message, next(said, None)):
                    return False
            case FramingSet() | ExecutionStarted() | ExecutionEnded() | DiagnosticRecorded() | Tagged():
                continue
            case _:
                return False
    return responses <= 1


def _goes_on(known: Message, came: Message | None) -> bool:
    return came is not None and came.role == known.role and came.text.startswith(known.text.rstrip())


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
        raise ConflictError(f"session {session_id!r} is in this store already; give another name with `--as`")
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
    for chunk in _chunks(log):
        try:
            writer.append(connection, chunk)
        except OverflowError as error:
            raise LogError(f"events {done} to {done + len(chunk) - 1}: a number is too large to be stored") from error
        tally.add(chunk)
        done += len(chunk)
        if progress is not None:
            progress("events", done)
    known = {"tokens": tally.tokens, **tally.times()}
    connection.execute(update(sessions).where(sessions.c.id == writer.key).values(known))
    return done


def _chunks(log: Iterator[Event]) -> Iterator[list[Event]]:
    """A log in stretches that fit into memory, whatever was said in it."""
    chunk: list[Event] = []
    characters = 0
    for event in log:
        chunk.append(event)
        characters += _characters_in(event)
        if len(chunk) == _CHUNK or characters > _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _characters_in(event: Event) -> int:
    match event.body:
        case MessageAppended(message=message):
            return sum(map(_characters_of, message.parts))
        case _:
            return 0


def _characters_of(part: Part) -> int:
    match part:
        case ToolCall(arguments=arguments):
            return len(arguments)
        case Media(reference=reference):
            return len(reference)
        case ToolResult(text=text, media=media):
            return len(text) + sum(map(_characters_of, media))
        case Opaque(raw=raw):
            return len(msgspec.json.encode(raw))
        case _:
            return len(part.text)


class _Tally:
    """The tokens of all messages of a log, counted as for the model that it was framed with by then, and its times."""

    def __init__(self, tokens: int = 0) -> None:
        self.tokens = tokens
        self._model: str | None = None
        self._first: float | None = None
        self._last: float | None = None

    def note(self, event: Event) -> None:
        """Take note of when an event was, and of the framing in it; its tokens were counted before."""
        if event.time is not None and 0 <= event.time < _LAST_SECOND:
            self._first = event.time if self._first is None else self._first
            self._last = event.time
        if isinstance(event.body, FramingSet):
            self._model = event.body.model

    def times(self) -> dict[str, datetime]:
        """When the session was begun and last used, if the log says so."""
        if self._first is None or self._last is None:
            return {}
        return {
            "created_at": datetime.fromtimestamp(self._first, UTC),
            "last_activity_at": datetime.fromtimestamp(self._last, UTC),
        }

    def add(self, log: Iterable[Event]) -> None:
        said: dict[str | None, list[Message]] = {}
        for event in log:
            self.note(event)
            match event.body:
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
