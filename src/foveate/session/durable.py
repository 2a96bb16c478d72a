"""Durable sessions: a session whose journal is a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

import zstandard

from foveate.budget.tokens import TokenCounter, counter_for
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.rebuild import rebuilt
from foveate.errors import ConfigError, ConflictError, FoveateError, LogError, StoreError
from foveate.log.context import AgentContext, Log
from foveate.log.events import Event
from foveate.recall import PassageIndex
from foveate.recall.postings import Statistics
from foveate.recall.terms import Term
from foveate.session.observing import log_failure
from foveate.session.options import Options
from foveate.session.session import Session
from foveate.session.transcript import TranscriptFile
from foveate.store import SessionInfo, Store
from foveate.store.backlog import index_backlog
from foveate.store.reader import Reader
from foveate.store.search import SessionPostings
from foveate.views.checkpoint import checkpoint_name, checkpoint_of, resumed
from foveate.views.timeline import timeline_of

# A session is opened by folding at most about so many events; older checkpoints stay further apart.
CHECKPOINT_EVENTS: Final = 1_000
_KEPT_EVERY: Final = 20_000
_STRETCH: Final = 10_000
_IN_MEMORY: Final = 2_000
_WORTH_CLOSING: Final = 100
# In messages; a large import is indexed by whoever made it.
_INDEXED_CLOSING: Final = 20_000
_INDEXED_SEARCHING: Final = 2_000

AnySession = TypeVar("AnySession", bound=Session)


def opened(
    kind: type[AnySession],
    store: str | Path | Store,
    session_id: str,
    *,
    vault: str,
    transcript: str | Path | None,
    options: dict[str, Any],
) -> AnySession:
    """A session of a store, as it was left, or a new one."""
    # Options that cannot work are refused before anything is made in the store.
    kind(**options)
    journal = StoreJournal.open(store, session_id, vault=vault)
    try:
        counter = _counter(options, journal.model)
        session = None
        while session is None:
            try:
                session = kind.continued(journal.load(counter), journal, options)
            except ConflictError:
                # Another process began it, or went on with it, at this moment.
                continue
        if transcript is not None:
            _follow(session, transcript)
    except BaseException:
        journal.release()
        raise
    return session


def recorded_call(store: Store, info: SessionInfo, number: int) -> CompiledContext:
    """A call of a session in a store, computed again from what was recorded."""
    journal = StoreJournal(store, info, owns_store=False)
    # Nothing is opened for writing: a call can be looked at in a store that can only be read.
    return journal.rebuilt(number, counter_for(journal.model))


def _follow(session: Session, transcript: str | Path) -> None:
    file = TranscriptFile(transcript)
    try:
        file.attach(session)
    except ConfigError:
        # Another process may have written to both since the session was read; else it was somebody else.
        session.refresh()
        file.attach(session, beside=True)


def _counter(options: Mapping[str, Any], recorded: str | None) -> TokenCounter:
    """The counter that a session with these options will have."""
    given = Options(model=options.get("model", recorded), counter=options.get("counter"))
    if "model" not in options and {"budget", "compiler"} & options.keys():
        # The recorded model stays without a profile then, and may even be unknown.
        return given.counter or counter_for(recorded)
    return given.counter_for(given.profile())


class _Postings(SessionPostings):
    """The passages of one session, those included that were appended since the last search."""

    def __init__(self, store: Store, info: SessionInfo, reader: Reader) -> None:
        super().__init__(store.reading, info.key, reader.messages)
        self._session = store, info

    def statistics(self, terms: Sequence[Term], most: int) -> Statistics:
        """Counts over all passages; what every search asks for first."""
        try:
            # Not without bound: this is part of a compile, and the rest is found by the next ones.
            index_backlog(*self._session, most=_INDEXED_SEARCHING)
        except StoreError as error:
            # A store that can only be read is searched as it is.
            log_failure(self._session[1].session_id, error)
        return super().statistics(terms, most)


class StoreJournal:
    """Keeps the events of one session in a store."""

    def __init__(self, store: Store, info: SessionInfo, *, owns_store: bool) -> None:
        self.info = info
        self._store = store
        self._owns_store = owns_store
        self._reader = store.reader(info)
        self._writer = store.writer(info)
        self._saved = 0
        self._wrote = False

    @classmethod
    def open(cls, store: str | Path | Store, session_id: str, *, vault: str) -> StoreJournal:
        """The journal of a session in a store; both are made if they are not there."""
        owns = not isinstance(store, Store)
        opened = Store(store) if not isinstance(store, Store) else store
        try:
            return cls(opened, opened.begin(session_id, vault_name=vault), owns_store=owns)
        except BaseException:
            if owns:
                opened.close()
            raise

    @property
    def model(self) -> str | None:
        """The model that the session was last framed with."""
        model = self.info.metadata.get("model")
        return model if isinstance(model, str) else None

    def load(self, counter: TokenCounter) -> AgentContext:
        """The session as it stands: from its newest checkpoint on, or from its first event."""
        context = self._context_at(None, counter)
        self._writer = self._store.writer(self.info, system=context.system)
        return context

    def append(self, events: Sequence[Event], /) -> None:
        """Write events."""
        self._store.append(self._writer, events)
        self._wrote = True

    def since(self, length: int, /) -> list[Event]:
        """The events that others wrote."""
        events = list(self._reader.events(length))
        self._writer.follow(events)
        return events

    def rebuilt(self, number: int, counter: TokenCounter, /) -> CompiledContext:
        """A past call from the checkpoint before it and the events since."""
        seq, body = self._reader.call(number)
        return rebuilt(self._context_at(seq, counter), body, counter)

    def index(self) -> PassageIndex:
        """The store's own index."""
        return PassageIndex(_Postings(self._store, self.info, self._reader))

    def artifact(self, handle: str, /) -> str:
        """The text of an artifact."""
        return self._store.artifact(handle).text()

    def save(self, context: AgentContext, counter: TokenCounter, /) -> None:
        """Write a checkpoint if enough has happened since the last one, and let go of what is long past."""
        if context.length - self._saved >= CHECKPOINT_EVENTS:
            self._save(context, counter)
            context.log.release(context.length - _IN_MEMORY)

    def close(self, context: AgentContext, counter: TokenCounter, /) -> None:
        """Leave the session so that it opens quickly and all of it is found, and let go of the store."""
        try:
            if self._wrote:
                self._finish(context, counter)
        except FoveateError as error:
            # All of it only saves time later.
            log_failure(self.info.session_id, error)
        finally:
            self.release()

    def _finish(self, context: AgentContext, counter: TokenCounter) -> None:
        if context.length - self._saved >= _WORTH_CLOSING:
            self._save(context, counter)
        self._store.note_tokens(self.info, timeline_of(context, counter).logged, events=context.length)
        index_backlog(self._store, self.info, most=_INDEXED_CLOSING)

    def release(self) -> None:
        """Let go of the store, if it was opened for this session."""
        if self._owns_store:
            self._store.close()

    def _context_at(self, seq: int | None, counter: TokenCounter) -> AgentContext:
        """The snapshot of all events, or of those before number `seq`."""
        context = self._from_checkpoint(seq, counter)
        events = self._reader.events(context.length, seq)
        while chunk := list(islice(events, _STRETCH)):
            context = context.with_recorded(chunk)
            if len(chunk) == _STRETCH:
                # A log that long is folded in stretches, so that it is never in memory whole.
                context = self._refolded(context, counter, save=seq is None)
        return context

    def _from_checkpoint(self, seq: int | None, counter: TokenCounter) -> AgentContext:
        found = self._reader.checkpoint(checkpoint_name(counter), before=seq)
        if found is not None:
            try:
                context = resumed(zstandard.ZstdDecompressor().decompress(found[1]), self._reader, counter)
            except (LogError, zstandard.ZstdError) as error:
                # A checkpoint only saves time: without it the log is folded from its beginning.
                log_failure(self.info.session_id, error)
                return self._empty()
            self._saved = max(self._saved, found[0])
            return context
        return self._empty()

    def _empty(self) -> AgentContext:
        return AgentContext(session=self.info.session_id, log=Log(archive=self._reader))

    def _refolded(self, context: AgentContext, counter: TokenCounter, *, save: bool) -> AgentContext:
        data = checkpoint_of(context, timeline_of(context, counter))
        if save:
            try:
                self._write(context.length, data, counter)
            except StoreError as error:
                # A store that can only be read can still be read.
                log_failure(self.info.session_id, error)
        return resumed(data, self._reader, counter)

    def _save(self, context: AgentContext, counter: TokenCounter) -> None:
        self._write(context.length, checkpoint_of(context, timeline_of(context, counter)), counter)

    def _write(self, length: int, data: bytes, counter: TokenCounter) -> None:
        # With a checksum: a damaged one must be noticed, not believed.
        packed = zstandard.ZstdCompressor(level=3, write_checksum=True).compress(data)
        self._store.save_checkpoint(self.info, checkpoint_name(counter), length, packed, keep_every=_KEPT_EVERY)
        self._saved = length
