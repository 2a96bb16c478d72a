"""The store: sessions of many agents in one database."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self
from weakref import WeakSet

from sqlalchemy import Connection, Engine, Select, delete, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from foveate.errors import ConfigError, ConflictError, StoreError, UnknownReferenceError
from foveate.log.events import Event
from foveate.recall.embedding import Embedder
from foveate.store import artifacts
from foveate.store.artifacts import Artifact
from foveate.store.backlog import index_backlog
from foveate.store.embeddings import embed_backlog
from foveate.store.engine import insert_ignoring, opened, shown, translated, url_of, writing
from foveate.store.find import Filters, Search, SearchHit
from foveate.store.info import SessionInfo, info_of, new_row
from foveate.store.migrate import migrated
from foveate.store.reader import Reader
from foveate.store.schema import checkpoints, sessions
from foveate.store.writer import Writer

DEFAULT_VAULT: Final = "default"
# A connection must not be shared with a process that was forked off: its side of it is forgotten, not closed.
_open_engines: Final[WeakSet[Engine]] = WeakSet()


def _forget_connections() -> None:
    for engine in list(_open_engines):
        engine.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_connections)


class Store:
    """Sessions in a SQLite file or a PostgreSQL database.

    Args:
        location: a file such as `agent.db`, or an address: `sqlite:///…`, `postgresql://…`.
        create: make a SQLite file that is not there yet.

    """

    def __init__(self, location: str | Path, *, create: bool = True) -> None:
        """Open a store, and bring its tables to the schema of this version."""
        self.url = url_of(location)
        with translated(self.url):
            self._engine = opened(self.url, create=create)
            _open_engines.add(self._engine)
            self._writes = writing(self._engine)
            try:
                migrated(self._engine, create=create)
            except BaseException:
                self._engine.dispose()
                raise

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

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Generator[Connection, None, None]:
        """A connection to read with: it sees one moment of the store, and waits for nobody."""
        with translated(self.url), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection, None, None]:
        """A connection to write with: all of what is done with it happens, or nothing."""
        with translated(self.url), self._writes.begin() as connection:
            yield connection

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
                # Another process may begin it at the same moment.
                connection.execute(insert_ignoring(connection, sessions), row)
        return found or self.session(session_id)

    def reader(self, info: SessionInfo) -> Reader:
        """Reads the log of a session."""
        return Reader(info.key, info.session_id, self.reading)

    def writer(self, info: SessionInfo, *, system: str | None = None) -> Writer:
        """Appends to the log of a session; `system` is the system prompt it has now."""
        return Writer(info.key, info.session_id, info.vault_name, system=system)

    # --- the log --------------------------------------------------------------------------------------------------

    def append(self, writer: Writer, events: Sequence[Event]) -> None:
        """Append events to a session, all or none; when this returns they are on disk.

        Raises:
            ConflictError: another writer was first; nothing was written.

        """
        if not events:
            return
        for last in (False, True):
            known = writer.known
            try:
                with self.writing() as connection:
                    writer.append(connection, events)
            except ConflictError:
                raise
            except StoreError as error:
                writer.known = known
                if _connection_broke(error) and self._came_through(writer, events[-1]):
                    return
                if last or not (_connection_broke(error) or _passing(error)):
                    raise
                continue
            return

    def save_checkpoint(self, info: SessionInfo, name: str, seq: int, data: bytes, *, keep_every: int) -> None:
        """Keep a checkpoint at an event number; of the older ones only one for each `keep_every` events stays."""
        mine = (checkpoints.c.session == info.key) & (checkpoints.c.name == name)
        with self.writing() as connection:
            older = list(connection.scalars(select(checkpoints.c.seq).where(mine).order_by(checkpoints.c.seq)))
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
            roles: only what was said in one of these roles: user, assistant, tool, system.
            tools: only calls and results of these tools.
            kinds: only messages of these origins, such as error, tool_call or user.
            since: not before this moment; a time without a zone is taken for UTC.
            until: before this moment.
            limit: the most passages.
            embedder: finds by meaning too; passages it has not seen yet are embedded first, which may take long.

        """
        if limit < 1:
            raise ConfigError(f"`limit` must be 1 or more, got {limit!r}")
        filters = Filters(roles=roles, tools=tools, kinds=kinds, since=since, until=until)
        infos = self.sessions() if session is None else [self.session(session)]
        for info in infos:
            if info.indexed < info.messages:
                index_backlog(self, info)
            if embedder is not None:
                embed_backlog(self, info, embedder)
        search = Search(self, {info.key: info for info in infos}, filters, everywhere=session is None)
        return search.hits(query, limit, embedder)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _content(self, sha256: str) -> bytes:
        with self.reading() as connection:
            return artifacts.content(connection, sha256)

    def _came_through(self, writer: Writer, event: Event) -> bool:
        """Whether the commit that a connection broke in was made all the same."""
        try:
            with self.reading() as connection:
                return writer.wrote(connection, event)
        except StoreError:
            return False

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
