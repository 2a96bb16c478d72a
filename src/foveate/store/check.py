"""The check: whether everything that a store holds can be read, and fits together."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import zstandard
from sqlalchemy import BigInteger, FromClause, Row, column, func, select, table, text
from sqlalchemy.exc import NoResultFound

from foveate.errors import StoreError, UnknownReferenceError
from foveate.log.events import CallRecorded, MessageAppended
from foveate.log.text import counted
from foveate.store.artifacts import content
from foveate.store.checksums import is_intact, is_sealed
from foveate.store.engine import is_busy
from foveate.store.info import SessionInfo
from foveate.store.orphans import orphaned_logs
from foveate.store.rows import Owner, event_of, hashes_of, row_of
from foveate.store.schema import artifact_uses, artifacts, checkpoints, context_summaries, embeddings, events, sessions
from foveate.store.search_rows import ROW_BITS, passage_id
from foveate.store.store import Store

# Computes all calls of a session again: the numbers of those that do not come out as recorded, and why.
Recompute = Callable[[SessionInfo], Iterable[tuple[int, str]]]

_CHUNK: Final = 1_000
_GONE: Final = "is missing"
# Columns that say again what is in the body.
_DERIVED: Final = ("kind", "position", "ref", "role", "tool", "origin")
_RESTORE: Final = "restore the store from a copy, or import an earlier export of the session"
_RECOUNT: Final = "export the session, delete it and import it again, which counts anew"
_passages: Final = table("passages", column("id", BigInteger))
_SALVAGE: Final = "export what can still be read, and import it into a new store"


class Problem(NamedTuple):
    """Something in a store that is not as it should be."""

    session_id: str | None
    place: str
    what: str
    remedy: str


def check(store: Store, *, recompute: Recompute | None = None) -> list[Problem]:
    """Everything that is wrong with a store; a broken row does not end the search.

    With `recompute` every call of every session is computed again and compared with its recorded hash.

    Raises:
        StoreError: another process locks it, so that it cannot be told what is wrong.

    """
    problems = [*_engine(store)]
    known: dict[str, str | None] = {}
    problems += _guarded("artifacts", None, _artifacts(store, known))
    for row in _rows(store, problems):
        problems += _guarded("log", row.session_id, _Walk(store, row, known).problems(recompute))
    problems += _guarded("rows without a session", None, _orphans(store))
    problems += _guarded("held events", None, held_problems(store))
    return problems


def raise_if_busy(error: BaseException) -> None:
    """Pass on that a store is locked: it says nothing of what is in it."""
    if isinstance(error, StoreError) and is_busy(error):
        raise error


def held_problems(store: Store) -> Iterator[Problem]:
    """Events that wait beside the store, and files of them that cannot be read."""
    for held in store.held.waiting():
        count = sum(len(batch.events) for batch in held.read())
        remedy = (
            "they are written as soon as the store can be; open the session, or look whether another process locks it"
        )
        yield Problem(held.session_id, "held events", f"{count} wait in {held.path}", remedy)
    for path in store.held.damaged():
        remedy = "read it: each line after the first has the events of one append; remove it when nothing is missing"
        yield Problem(None, "held events", f"{path} was put aside, as it could not be read", remedy)


def _guarded(place: str, session_id: str | None, found: Iterator[Problem]) -> Iterator[Problem]:
    """The problems found, until the database itself fails, which is one more."""
    try:
        yield from found
    except (StoreError, ValueError, TypeError, OverflowError) as error:
        raise_if_busy(error)
        # A column may hold anything if somebody else wrote it.
        yield Problem(session_id, place, f"cannot be read: {error}", _SALVAGE)


def _rows(store: Store, problems: list[Problem]) -> Sequence[Row[Any]]:
    try:
        with store.reading() as connection:
            keys = connection.scalars(select(sessions.c.id).order_by(sessions.c.id)).all()
    except StoreError as error:
        raise_if_busy(error)
        problems.append(Problem(None, "sessions", str(error), _SALVAGE))
        return []
    found: list[Row[Any]] = []
    for key in keys:
        # One by one: a row that cannot be read is named, and keeps nobody from reading the others.
        try:
            with store.reading() as connection:
                found += connection.execute(select(sessions).where(sessions.c.id == key)).all()
        except StoreError as error:
            raise_if_busy(error)
            problems.append(Problem(None, f"row {key} of sessions", str(error), _RESTORE))
    return found


def _engine(store: Store) -> Iterator[Problem]:
    """What the database says of itself; PostgreSQL has no check that any user may run."""
    if store.url.get_backend_name() != "sqlite":
        return
    try:
        with store.reading() as connection:
            for line in connection.scalars(text("PRAGMA integrity_check(100)")):
                if line != "ok":
                    yield Problem(None, "database file", " ".join(str(line).split()), _SALVAGE)
    except StoreError as error:
        raise_if_busy(error)
        yield Problem(None, "database file", str(error), _SALVAGE)
    if store.read_only:
        return
    try:
        with store.writing() as connection:
            connection.exec_driver_sql("INSERT INTO passages_text(passages_text) VALUES ('integrity-check')")
    except StoreError as error:
        raise_if_busy(error)
        # It only reads, but as a command to a table it is refused where nothing may be written.
        if "readonly" not in str(error):
            yield Problem(None, "search index", str(error), _SALVAGE)


def _artifacts(store: Store, known: dict[str, str | None]) -> Iterator[Problem]:
    """Whether each artifact has the content that its name says; `known` is told."""
    with store.reading() as connection:
        sizes = {row.sha256: row.size for row in connection.execute(select(artifacts.c.sha256, artifacts.c.size))}
    with store.reading() as connection:
        used = set(connection.scalars(select(artifact_uses.c.sha256).distinct()))
    for name, size in sizes.items():
        known[name] = wrong = _wrong_with(store, name, size)
        if wrong is not None and wrong != _GONE:
            yield Problem(None, f"artifact {name}", wrong, _RESTORE)
        elif wrong is None and name not in used:
            remedy = "harmless; the next `foveate delete` takes it along"
            yield Problem(None, f"artifact {name}", "is used by no session", remedy)


def _wrong_with(store: Store, sha256: str, size: int | None = None) -> str | None:
    try:
        with store.reading() as connection:
            found = len(content(connection, sha256))
    except UnknownReferenceError:
        return _GONE
    except Exception as error:  # noqa: BLE001  damaged data may fail in any way
        raise_if_busy(error)
        return str(error)
    return None if size is None or size == found else f"has {found} bytes, its row says {size}"


class _Anything(dict[str, str]):
    """Stands in for artifacts, which are checked by themselves: each once, however often it is used."""

    def __missing__(self, key: str) -> str:
        return ""


class _Unreadable(NamedTuple):
    """A row that the database cannot give back."""

    seq: int
    reason: str


@dataclass
class _Walk:
    """The way through the log of one session, from its first row to its last; others may append meanwhile."""

    store: Store
    row: Row[Any]
    known: dict[str, str | None]
    last: int = -1
    messages: int = 0
    # Behind a gap the next message tells how many there were.
    gap: bool = False
    # Whether an event with a checksum came by.
    sealed: bool = False
    calls: dict[int, str] = field(default_factory=dict)
    needed: dict[str, int] = field(default_factory=dict)

    def problems(self, recompute: Recompute | None) -> Iterator[Problem]:
        while chunk := self._next():
            for row in chunk:
                yield from self._place(row.seq)
                if isinstance(row, _Unreadable):
                    yield self._problem(f"event {row.seq}", f"cannot be read: {row.reason}", _RESTORE)
                    self.gap = True
                else:
                    yield from self._seal(row)
                    yield from self._event(row)
            with self.store.reading() as connection:
                now = connection.execute(select(sessions).where(sessions.c.id == self.row.id)).first()
            if now is None:
                return  # It was deleted at this moment.
            # Only now: what was appended before this was read is in the next chunk.
            self.row = now
        yield from self._counters()
        yield from self._artifact_uses()
        yield from self._summaries()
        yield from self._behind()
        if recompute is not None:
            yield from self._recomputed(recompute)

    def _problem(self, place: str, what: str, remedy: str) -> Problem:
        return Problem(self.row.session_id, place, what, remedy)

    def _next(self) -> Sequence[Row[Any] | _Unreadable]:
        mine = (events.c.session == self.row.id, events.c.seq > self.last)
        try:
            with self.store.reading() as connection:
                return connection.execute(select(events).where(*mine).order_by(events.c.seq).limit(_CHUNK)).all()
        except StoreError:
            # One row may be what the database cannot read.
            with self.store.reading() as connection:
                query = select(events.c.seq).where(*mine).order_by(events.c.seq).limit(_CHUNK)
                return [self._single(seq) for seq in connection.scalars(query)]

    def _single(self, seq: int) -> Row[Any] | _Unreadable:
        try:
            with self.store.reading() as connection:
                return connection.execute(
                    select(events).where(events.c.session == self.row.id, events.c.seq == seq)
                ).one()
        except (StoreError, NoResultFound) as error:
            raise_if_busy(error)
            return _Unreadable(seq, str(error))

    def _place(self, seq: int) -> Iterator[Problem]:
        first, self.last = self.last + 1, seq
        if seq < first:
            yield self._problem(f"event {seq}", "is there twice", _RESTORE)
        elif seq > first:
            self.gap = True
            missing = f"event {first}" if seq == first + 1 else f"events {first} to {seq - 1}"
            yield self._problem(missing, "missing", _RESTORE)

    def _seal(self, row: Row[Any]) -> Iterator[Problem]:
        """Whether a row is what was written: only the first events of a session may be without a checksum."""
        if is_sealed(row):
            self.sealed = True
            if not is_intact(self.row.session_id, row):
                yield self._problem(f"event {row.seq}", "was changed outside Foveate: its checksum differs", _RESTORE)
        elif self.sealed:
            yield self._problem(f"event {row.seq}", "has lost its checksum, events before it have one", _RESTORE)

    def _event(self, row: Row[Any]) -> Iterator[Problem]:
        # Of a row that cannot be read, the columns beside its body still say what it was.
        message = row.kind == "message_appended"
        if message and self.gap and row.position is not None:
            self.messages, self.gap = row.position, False
        try:
            hashes = list(hashes_of(self.row.session_id, row))
            event = event_of(self.row.session_id, row, _Anything())
        except Exception as error:  # noqa: BLE001  damaged data may fail in any way
            yield self._problem(f"event {row.seq}", f"cannot be read: {error.__cause__ or error}", _RESTORE)
        else:
            message = isinstance(event.body, MessageAppended)
            if isinstance(event.body, CallRecorded):
                self.calls[event.body.number] = event.body.payload_sha256
            owner = Owner(self.row.id, self.row.session_id)
            values, _ = row_of(owner, event, self.messages, row.writer, row.recorded_at)
            expected = dict(zip(events.c.keys(), values, strict=True))
            wrong = [name for name in _DERIVED if getattr(row, name) != expected[name]]
            if wrong:
                what = f"its {' and '.join(wrong)} in the table differ from its body"
                yield self._problem(f"event {row.seq}", what, _RECOUNT)
            for sha256 in hashes:
                self.needed.setdefault(sha256, row.seq)
        self.messages += message

    def _counters(self) -> Iterator[Problem]:
        found = {"events": self.last + 1, "messages": self.messages, "calls": max(self.calls, default=0)}
        for name, number in found.items():
            said = getattr(self.row, name)
            if said != number:
                remedy = _RESTORE if name == "events" and said > number else _RECOUNT
                yield self._problem(f"sessions.{name}", f"says {said}, the log has {number}", remedy)

    def _artifact_uses(self) -> Iterator[Problem]:
        with self.store.reading() as connection:
            mine = select(artifact_uses.c.sha256).where(artifact_uses.c.session == self.row.id)
            used = set(connection.scalars(mine))
        for sha256, seq in self.needed.items():
            if sha256 not in self.known:
                # It came while we were reading.
                self.known[sha256] = _wrong_with(self.store, sha256)
            if self.known[sha256] is not None:
                state = "missing" if self.known[sha256] == _GONE else "damaged"
                yield self._problem(f"event {seq}", f"needs artifact {sha256}, which is {state}", _RESTORE)
            elif sha256 not in used:
                what = f"needs artifact {sha256} without a row in artifact_uses, so a deletion could take it away"
                yield self._problem(f"event {seq}", what, _RECOUNT)

    def _summaries(self) -> Iterator[Problem]:
        rows = context_summaries
        with self.store.reading() as connection:
            mine = select(rows.c.call, rows.c.payload_sha256).where(rows.c.session == self.row.id)
            recorded = {row.call: row.payload_sha256 for row in connection.execute(mine.where(rows.c.seq <= self.last))}
        for number in sorted(recorded.keys() | self.calls.keys()):
            if number not in recorded:
                yield self._problem(f"call {number}", "has no row in context_summaries", _RECOUNT)
            elif number not in self.calls:
                yield self._problem(f"call {number}", "is in context_summaries but not in the log", _RECOUNT)
            elif recorded[number] != self.calls[number]:
                yield self._problem(f"call {number}", "has another hash in context_summaries than in the log", _RECOUNT)

    def _behind(self) -> Iterator[Problem]:
        """Derived data that is damaged or goes on behind the log; that search is behind it is its habit."""
        if self.row.indexed > self.messages:
            what = f"says {counted(self.row.indexed, 'message')}, the log has {self.messages:,}"
            yield self._problem("search index", what, _RECOUNT)
        first, behind = passage_id(self.row.id, self.messages, 0), self.row.id + 1 << ROW_BITS
        with self.store.reading() as connection:
            mine = (_passages.c.id >= first, _passages.c.id < behind)
            beyond = connection.scalar(select(func.count()).select_from(_passages).where(*mine))
            newest = connection.scalar(select(func.max(checkpoints.c.seq)).where(checkpoints.c.session == self.row.id))
            kept = connection.execute(select(checkpoints).where(checkpoints.c.session == self.row.id)).all()
        for one in kept:
            if not _sound(one.data):
                yield self._problem(f"checkpoint {one.seq}", "is damaged", "none needed: the log is read instead")
        if self._next():
            # Somebody went on with it: what lies behind the log as we read it may be theirs.
            return
        if beyond:
            yield self._problem("search index", f"has {beyond} passages of messages that the log has not", _RECOUNT)
        if newest is not None and newest > self.last + 1:
            what = f"is of event {newest}, the log ends with event {self.last}"
            yield self._problem("checkpoint", what, "delete the session's rows in `checkpoints`; they are only a cache")

    def _recomputed(self, recompute: Recompute) -> Iterator[Problem]:
        try:
            for number, why in recompute(self.store.session(self.row.session_id)):
                yield self._problem(f"call {number}", f"cannot be computed again: {why}", _RESTORE)
        except Exception as error:  # noqa: BLE001  damaged data may fail in any way
            raise_if_busy(error)
            yield self._problem("calls", f"cannot be computed again: {error}", _RESTORE)


def _sound(data: bytes) -> bool:
    """Whether a checkpoint is what was written; its checksum says so."""
    try:
        zstandard.ZstdDecompressor().decompress(data)
    except zstandard.ZstdError:
        return False
    return True


def _orphans(store: Store) -> Iterator[Problem]:
    with store.reading() as connection:
        logs = list(orphaned_logs(connection))
    for log in logs:
        named = f"session {log.name!r}" if log.name else "a session"
        what = f"has the whole log of {named}, {log.events} events of session number {log.key}, whose row is missing"
        yield Problem(log.name or None, "events", what, log.remedy)
    # What else such a session has comes back with its row.
    whole = {log.key for log in logs}
    for one in (events, context_summaries, checkpoints, artifact_uses):
        yield from _orphaned(store, one, one.c.session, whole)
    yield from _orphaned(store, _passages, _passages.c.id // (1 << ROW_BITS), whole)
    yield from _orphaned(store, embeddings, embeddings.c.passage // (1 << ROW_BITS), whole)


def _orphaned(store: Store, found_in: FromClause, session: Any, whole: Container[int]) -> Iterator[Problem]:
    key = session.label("key")
    query = select(key, func.count().label("rows")).where(session.not_in(select(sessions.c.id))).group_by(key)
    with store.reading() as connection:
        found = connection.execute(query.select_from(found_in)).all()
    for row in found:
        if row.key in whole:
            continue
        what = f"has {row.rows} rows of session number {row.key}, which is not there"
        yield Problem(None, str(found_in.description), what, "harmless, but it takes room; delete these rows")
