"""The store: sessions of many agents in one database."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import Connection, Select, delete, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from foveate.errors import ConfigError, ConflictError, FoveateError, StoreError, UnknownReferenceError
from foveate.log.events import Event
from foveate.recall.embedding import Embedder
from foveate.store import artifacts
from foveate.store.access import Fingerprint, fingerprint_of
from foveate.store.artifacts import Artifact
from foveate.store.backlog import index_backlog
from foveate.store.draining import Drainer, drain_waiting
from foveate.store.embeddings import embed_backlog
from foveate.store.engine import (
    INTERACTIVE_WAIT,
    WAIT_SECONDS,
    insert_ignoring,
    is_busy,
    limit_wait,
    opened,
    shown,
    translated,
    url_of,
    wait_in_turns,
    wait_limit,
    writing,
)
from foveate.store.find import Filters, Search, SearchHit
from foveate.store.forking import gate
from foveate.store.held import HeldFolder, held_folder
from foveate.store.info import SessionInfo, info_of, new_row
from foveate.store.migrate import has_schema, migrated, shown_as_migrated
from foveate.store.orphans import refuse_orphaned
from foveate.store.reader import Reader
from foveate.store.schema import checkpoints, sessions
from foveate.store.writer import Writer

DEFAULT_VAULT: Final = "default"
# How often a commit is looked for whose connection was cut, if those that look are cut as well.
_READS: Final = 5
# In seconds: so long it is waited for another process that makes the tables of a new store, even where nobody waits.
_MAKING: Final = 15.0
# In bytes: SQLite's files have no more until the tables that were made are moved to them.
_ONE_PAGE: Final = 4_096


class Store:
    """Sessions in a SQLite file or a PostgreSQL database.

    Args:
        location: a file such as `agent.db`, or an address: `sqlite:///…`, `postgresql://…`.
        create: make a SQLite file that is not there yet.
        wait: how many seconds a write waits for another process that has locked the store.

    """

    def __init__(self, location: str | Path, *, create: bool = True, wait: float = WAIT_SECONDS) -> None:
        """Open a store, bring its tables to the schema of this version, and write what was held for it."""
        self.url = url_of(location)
        self.wait = wait
        self._open(create=create)

    def _open(self, *, create: bool) -> None:
        with gate.passed(), translated(self.url):
            self._engine, self._access = opened(self.url, create=create, wait=self.wait)
            self._frozen: Fingerprint | None = None
            if self._access is not None and self._access.mode == "frozen":
                self._frozen = fingerprint_of(self._access.path)
            gate.add(self._engine)
            self._writes = writing(self._engine)
            try:
                self._migrate_in_turns(partial(self._migrate, create=create), wait_limit(self.wait))
            except BaseException:
                self._engine.dispose()
                raise
        self.held = HeldFolder(held_folder(self.url), read_only=self.read_only)
        self.drainer = Drainer(self)
        drain_waiting(self)

    def _migrate_in_turns(self, migrate: Callable[[], None], wait: float) -> None:
        try:
            wait_in_turns(self.url, migrate, wait)
        except StoreError as error:
            if not is_busy(error) or wait >= _MAKING or not self._is_being_made():
                raise
            wait_in_turns(self.url, migrate, _MAKING)

    def _is_being_made(self) -> bool:
        """Whether another process is making the store at this moment, which ends soon."""
        if self.file is not None:
            return self.file.exists() and self.file.stat().st_size <= _ONE_PAGE
        # It was waited for already.
        with translated(self.url), limit_wait(0.1):
            return not has_schema(self._engine)

    def _migrate(self, *, create: bool) -> None:
        with translated(self.url):
            if self.read_only:
                shown_as_migrated(self._engine, refusal=self._refusal())
            else:
                migrated(self._engine, create=create)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __str__(self) -> str:
        return shown(self.url)

    @property
    def file(self) -> Path | None:
        """The file that a SQLite store is in."""
        database = self.url.database
        return Path(database).absolute() if self.url.get_backend_name() == "sqlite" and database else None

    @property
    def read_only(self) -> bool:
        """Whether the file can be read by this process and not written."""
        return self._access is not None and self._access.mode != "write"

    def require_writing(self) -> None:
        """Raise `StoreError` with the remedy if the file can only be read: what is said then could never be kept."""
        if self.read_only:
            raise StoreError(self._refusal())

    def close(self) -> None:
        """Let go of all connections; what is held stays in its file."""
        self.drainer.stop()
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Generator[Connection, None, None]:
        """A connection to read with: it sees one moment of the store, and waits for nobody."""
        if self._has_thawed():
            # Another user began to write it: from here on it is read with SQLite's locks.
            self.close()
            self._open(create=False)
        with gate.passed(), translated(self.url), self._engine.begin() as connection:
            yield connection
        if self._has_thawed():
            raise StoreError(f"store {self} was written by another process while it was read; try again")

    @contextmanager
    def writing(self) -> Generator[Connection, None, None]:
        """A connection to write with: all of what is done with it happens, or nothing."""
        self.require_writing()
        with gate.passed(), translated(self.url), self._writes.begin() as connection:
            yield connection

    @contextmanager
    def hurried(self, seconds: float) -> Generator[None, None, None]:
        """Do without the store what can be done without: a `StoreError` at once if it was locked a moment ago."""
        if self.held.is_busy:
            raise StoreError(f"store {self} was locked a moment ago; it is asked again soon")
        try:
            with limit_wait(seconds):
                yield
        except StoreError as error:
            if is_busy(error):
                self.held.note_busy()
            raise

    # --- sessions -------------------------------------------------------------------------------------------------

    def sessions(self) -> list[SessionInfo]:
        """All sessions, the most recently used first."""
        return self._infos(select(sessions).order_by(sessions.c.last_activity_at.desc(), sessions.c.id.desc()))

    def find(self, session_id: str) -> SessionInfo | None:
        """A session by its id, or None."""
        found = self._infos(select(sessions).where(sessions.c.session_id == session_id))
        return found[0] if found else None

    def session(self, session_id: str) -> SessionInfo:
        """A session by its id; an error names those that are spelt alike."""
        found = self.find(session_id)
        if found is not None:
            return found
        if not self.held.of(session_id).is_empty:
            raise UnknownReferenceError(
                f"session {session_id!r} is not in store {self} yet: its events are {self.held.of(session_id).place}, "
                "and written once the store can be; look whether another process locks it"
            )
        known = [one.session_id for one in self.sessions()]
        close = difflib.get_close_matches(session_id, known, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(map(repr, close))}?" if close else f"it has {len(known)} of them;"
        raise UnknownReferenceError(f"no session {session_id!r} in store {self}; {hint} `foveate sessions` lists them")

    def begin(self, session_id: str, *, vault_name: str = DEFAULT_VAULT) -> SessionInfo:
        """The session with an id; a new one, without events, if there is none."""
        row = new_row(session_id, vault_name)
        found = self.find(session_id)
        if found is None:
            with self.writing() as connection:
                refuse_orphaned(connection, session_id)
                # Another process may begin it at the same moment.
                connection.execute(insert_ignoring(connection, sessions), row)
        return found or self.session(session_id)

    def tags_of(self, session_id: str) -> dict[str, str]:
        """The tags of a session, those included that wait to be written; none, if there is no such session."""
        found = self.find(session_id)
        tags = {**(found.tags if found is not None else {}), **self.held.tags_of(session_id)}
        return {name: value for name, value in tags.items() if value}

    def reader(self, info: SessionInfo) -> Reader:
        """Reads the log of a session."""
        return Reader(info.key, info.session_id, self.reading)

    def writer(self, info: SessionInfo, *, system: str | None = None) -> Writer:
        """Appends to the log of a session; `system` is the system prompt it has now."""
        return Writer(info.key, info.session_id, info.vault_name, system=system)

    # --- the log --------------------------------------------------------------------------------------------------

    def append(self, writer: Writer, events: Sequence[Event], batch_id: int | None = None) -> None:
        """Append events to a session, all or none; when this returns they are on disk.

        `batch_id` is what their rows are recognized by, whoever looks for them; without it, by the writer.

        Raises:
            ConflictError: another writer was first; nothing was written.

        """
        if not events:
            return
        for last in (False, True):
            known = writer.known
            try:
                with self.writing() as connection:
                    writer.append(connection, events, batch_id)
            except ConflictError:
                # After a connection that broke, the other writer may have been this one.
                if last and self.came_through(writer, events[-1].seq, batch_id):
                    return
                raise
            except StoreError as error:
                writer.known = known
                if _connection_broke(error) and self.came_through(writer, events[-1].seq, batch_id):
                    return
                if last or not (_connection_broke(error) or _passing(error)):
                    raise
                continue
            return

    def came_through(self, writer: Writer, seq: int, batch_id: int | None = None) -> bool:
        """Whether the commit that a connection broke in was made all the same; False if nobody can tell."""
        for _ in range(_READS):
            try:
                with self.reading() as connection:
                    return writer.wrote(connection, seq, batch_id)
            except StoreError as error:
                if not _connection_broke(error):
                    break
        return False

    def save_checkpoint(self, info: SessionInfo, name: str, seq: int, data: bytes, *, keep_every: int) -> None:
        """Keep a checkpoint at an event number; of the older ones only one for each `keep_every` events stays."""
        mine = (checkpoints.c.session == info.key) & (checkpoints.c.name == name)
        with self.writing() as connection:
            found = connection.scalars(select(checkpoints.c.seq).where(mine).order_by(checkpoints.c.seq))
            # A damaged row may have anything for a number; it is passed over when a session is opened.
            older = [one for one in found if isinstance(one, int)]  # pyright: ignore[reportUnnecessaryIsInstance]
            stale = [one for one, following in pairwise([*older, seq]) if one // keep_every == following // keep_every]
            if stale:
                connection.execute(delete(checkpoints).where(mine, checkpoints.c.seq.in_(stale)))
            row = {"session": info.key, "name": name, "seq": seq, "data": data}
            connection.execute(insert_ignoring(connection, checkpoints), row)

    def note_tokens(self, info: SessionInfo, tokens: int, *, events: int) -> None:
        """Note how many tokens the messages of a session have, if it still has so many events."""
        counted = (sessions.c.id == info.key) & (sessions.c.events == events)
        with self.writing() as connection:
            connection.execute(update(sessions).where(counted).values(tokens=tokens))

    # --- artifacts ------------------------------------------------------------------------------------------------

    def artifact(self, handle: str) -> Artifact:
        """The artifact behind a handle such as artifact://log/0123456789abcdef."""
        with self.reading() as connection:
            return artifacts.found(connection, handle, self._content)

    def artifacts(self, info: SessionInfo) -> list[Artifact]:
        """The artifacts of a session, oldest first."""
        with self.reading() as connection:
            return artifacts.used_by(connection, info.key, self._content)

    # --- search ---------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        session: str | None = None,
        sessions: Collection[str] | None = None,
        roles: Collection[str] | None = None,
        tools: Collection[str] | None = None,
        kinds: Collection[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 10,
        embedder: Embedder | None = None,
    ) -> list[SearchHit]:
        """The passages that answer a query best, from all sessions or from one.

        Args:
            query: words, names, paths; a question will do.
            session: only in the session with this id.
            sessions: only in those of the sessions with these ids that are there.
            roles: only what was said in one of these roles: user, assistant, tool, system.
            tools: only calls and results of these tools.
            kinds: only messages of these origins, such as error, tool_call or user.
            since: not before this moment; a time without a zone is taken for UTC.
            until: before this moment.
            limit: the most passages.
            embedder: finds by meaning too; passages it has not seen yet are embedded first, which may take long.

        A store that can only be read, or that another process locks, is searched as it is: `indexed` of a session says
        how many messages that covers.

        """
        if limit < 1:
            raise ConfigError(f"`limit` must be 1 or more, got {limit!r}")
        filters = Filters(roles=roles, tools=tools, kinds=kinds, since=since, until=until)
        if session is not None and sessions is not None:
            raise ConfigError("give `session` or `sessions`, not both")
        infos = self.sessions() if session is None else [self.session(session)]
        if sessions is not None:
            infos = [info for info in infos if info.session_id in sessions]
        if not self.read_only:
            self._index(infos, embedder)
        search = Search(
            self, {info.key: info for info in infos}, filters, everywhere=session is None and sessions is None
        )
        try:
            return search.hits(query, limit, embedder)
        except FoveateError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            # Any value may stand in an index that was damaged.
            raise StoreError(
                f"store {self}: its search index is damaged ({error}); `foveate db check` says what can still be read"
            ) from error

    def _index(self, infos: Sequence[SessionInfo], embedder: Embedder | None) -> None:
        """Make findable what is not yet; who searches only reads, and does not wait for a store that is locked."""
        for info in infos:
            try:
                with self.hurried(INTERACTIVE_WAIT):
                    if info.indexed < info.messages:
                        index_backlog(self, info)
                    if embedder is not None:
                        embed_backlog(self, info, embedder)
            except StoreError as error:
                if not self.held.is_busy and not is_busy(error):
                    raise
                return

    # --- inside ---------------------------------------------------------------------------------------------------

    def _refusal(self) -> str:
        return self._access.refusal() if self._access is not None else ""

    def _has_thawed(self) -> bool:
        """Whether a file was changed that was opened as one that nobody writes."""
        if self._frozen is None or self._access is None:
            return False
        return fingerprint_of(self._access.path) != self._frozen

    def _content(self, sha256: str) -> bytes:
        with self.reading() as connection:
            return artifacts.content(connection, sha256)

    def _infos(self, query: Select[Any]) -> list[SessionInfo]:
        with self.reading() as connection:
            return [info_of(row) for row in connection.execute(query)]


def _connection_broke(error: StoreError) -> bool:
    cause = error.__cause__
    return isinstance(cause, DBAPIError) and cause.connection_invalidated


def _passing(error: StoreError) -> bool:
    """Whether only the moment was bad: a text was deleted with its last session, or two writers met in a deadlock."""
    cause = error.__cause__
    state = getattr(cause.orig, "sqlstate", None) if isinstance(cause, DBAPIError) else None
    return isinstance(cause, IntegrityError) or state in ("40P01", "40001")
