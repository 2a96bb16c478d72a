"""Durable sessions: a session whose journal is a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

import zstandard

from foveate.budget.profiles import ModelProfile
from foveate.budget.tokens import TokenCounter, counter_for
from foveate.compile.checkpoint import checkpoint_name, checkpoint_of, resumed
from foveate.compile.compiled import CompiledContext
from foveate.compile.rebuild import rebuilt
from foveate.compile.timeline import Projector
from foveate.errors import ConfigError, ConflictError, FoveateError, LogError, StoreError
from foveate.log.context import AgentContext, Kept, Log
from foveate.log.events import CallRecorded, Event, MessageAppended
from foveate.recall import PassageIndex
from foveate.recall.postings import Statistics
from foveate.recall.terms import Term
from foveate.session.observing import log_failure
from foveate.session.options import Options
from foveate.session.session import Session
from foveate.store import SessionInfo, Store
from foveate.store.backlog import index_backlog
from foveate.store.engine import INTERACTIVE_WAIT, limit_wait, may_pass
from foveate.store.held_lines import Batch
from foveate.store.holding import HoldingWriter
from foveate.store.info import pending_info
from foveate.store.reader import Reader
from foveate.store.search import SessionPostings

# A session is opened by folding at most about so many events; older checkpoints stay further apart.
CHECKPOINT_EVENTS: Final = 1_000
_KEPT_EVERY: Final = 20_000
_STRETCH: Final = 10_000
_IN_MEMORY: Final = 2_000
_WORTH_CLOSING: Final = 100
# In seconds: so long a store is read that has refused already, or was busy a moment ago.
_LOOK: Final = 0.3
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
    # Options that cannot work are refused here, before anything is made in the store.
    begun = kind(**options)
    journal = StoreJournal.open(store, session_id, vault=vault)
    try:
        load: Callable[[], tuple[AgentContext, Projector]] = partial(journal.load, _counter(options, journal.model))
        session = None
        while session is None:
            try:
                with limit_wait(INTERACTIVE_WAIT):
                    context, projector = load()
                    session = kind.continued(context, journal, options, projector, begun)
            except ConflictError:
                # Another process began it, or went on with it, at this moment.
                load = journal.reload
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
    from foveate.session.transcript import TranscriptFile  # noqa: PLC0415  few sessions have one

    file = TranscriptFile(transcript)
    try:
        file.attach(session)
    except ConfigError:
        # Another process may have written to both since the session was read; else it was somebody else.
        session.refresh()
        file.attach(session, beside=True)


def _displaced(store: Store, info: SessionInfo, batches: Sequence[Batch]) -> list[Event]:
    from foveate.session.displacing import displaced  # noqa: PLC0415  few logs are ever gone on with twice

    return displaced(store, info, batches)


def _counter(options: Mapping[str, Any], recorded: str | None) -> TokenCounter:
    """The counter that a session with these options will have."""
    given = Options(model=options.get("model"), counter=options.get("counter"), compiler=options.get("compiler"))
    if "model" in options or recorded is None:
        return given.counter_for(given.profile())
    # Its name is enough; the price list may not even know it.
    return given.counter_for(ModelProfile(name=recorded))


class _Postings(SessionPostings):
    """The passages of one session, those included that were appended since the last search."""

    def __init__(self, store: Store, log: HoldingWriter) -> None:
        super().__init__(store.reading, log.info.key, log.reader.messages)
        self._of, self._log, self._key = store, log, log.info.key

    def statistics(self, terms: Sequence[Term], most: int) -> Statistics:
        """Counts over all passages; what every search asks for first."""
        info = self._log.info
        if info.key != self._key:
            # The session could be begun in the store at last.
            super().__init__(self._of.reading, info.key, self._log.reader.messages)
            self._key = info.key
        try:
            # Not without bound: this is part of a compile, and the rest is found by the next ones.
            with self._of.hurried(INTERACTIVE_WAIT):
                index_backlog(self._of, info, most=_INDEXED_SEARCHING)
        except StoreError as error:
            # A store that can only be read is searched as it is.
            log_failure(info.session_id, error)
        if self._of.held.is_unreadable:
            raise StoreError(f"store {self._of} cannot be read at this moment; nothing was searched")
        with limit_wait(INTERACTIVE_WAIT):
            return super().statistics(terms, most)


def _begun(store: Store, session_id: str, vault: str) -> SessionInfo:
    """A session of a store; one that the store cannot take at this moment is begun with what is held of it."""
    pending = pending_info(session_id, vault)
    try:
        with store.hurried(INTERACTIVE_WAIT):
            return store.begin(session_id, vault_name=vault)
    except StoreError as error:
        if not store.held.is_busy and not may_pass(error):
            raise
        with limit_wait(_LOOK):
            return store.find(session_id) or pending


class StoreJournal:
    """Keeps the events of one session in a store."""

    def __init__(self, store: Store, info: SessionInfo, *, owns_store: bool) -> None:
        self._store = store
        self._owns_store = owns_store
        self._log = HoldingWriter(store, info)
        self._counter: TokenCounter | None = None
        self._saved = 0
        self._wrote = False
        store.drainer.displace = _displaced

    @property
    def info(self) -> SessionInfo:
        """What the store knows of the session."""
        return self._log.info

    @property
    def _reader(self) -> Reader:
        return self._log.reader

    @classmethod
    def open(cls, store: str | Path | Store, session_id: str, *, vault: str) -> StoreJournal:
        """The journal of a session in a store; both are made if they are not there."""
        owns = not isinstance(store, Store)
        if isinstance(store, Store):
            opened = store
        else:
            # A store that cannot even be read is refused soon: somebody waits for the session.
            with limit_wait(INTERACTIVE_WAIT):
                opened = Store(store)
        try:
            return cls(opened, _begun(opened, session_id, vault), owns_store=owns)
        except BaseException:
            if owns:
                opened.close()
            raise

    @property
    def model(self) -> str | None:
        """The model that the session was last framed with."""
        model = self.info.metadata.get("model")
        return model if isinstance(model, str) else None

    @property
    def held_in(self) -> str | None:
        """Where events of the session wait to be written, in words; None if none do."""
        return self._log.place if self._log.is_held else None

    def load(self, counter: TokenCounter) -> tuple[AgentContext, Projector]:
        """The session as it stands when it is opened, so that the store was just asked for it."""
        self._counter = counter
        self._drain_soon()
        self._look_up_begun()
        return self._read()

    def reload(self) -> tuple[AgentContext, Projector]:
        """The session as it stands, all that is held included."""
        self._drain_soon()
        self._look_up()
        return self._read()

    def _read(self) -> tuple[AgentContext, Projector]:
        """The log from its newest checkpoint on, or from its first event, and behind it what is held."""
        self._saved = 0
        context, projector = self._context_at(None, self._counter or counter_for(self.model))
        self._log.restart(context.system)
        return context.with_recorded(self._log.held_since(context.length)), projector

    def _drain_soon(self) -> None:
        """Write what is held, if the store takes it at this moment; else it is read from its file."""
        if self._log.is_held and not self._store.held.is_busy:
            try:
                with limit_wait(INTERACTIVE_WAIT):
                    self._log.drain()
            except StoreError as error:
                log_failure(self.info.session_id, error)

    def _look_up(self) -> None:
        """Know the session as the store has it; if that cannot be read, as it was known last."""
        try:
            with limit_wait(INTERACTIVE_WAIT):
                self._log.look_up()
        except StoreError as error:
            if not self._log.is_held:
                raise
            log_failure(self.info.session_id, error)

    def _look_up_begun(self) -> None:
        """Know the key of a session that could not be begun at first, and was with what was held of it."""
        if not self.info.key:
            self._look_up()

    def append(self, events: Sequence[Event], /, *, hold: bool = False) -> Kept:
        """Write events, or hold them if the store cannot be written."""
        if hold and self._store.read_only and any(isinstance(event.body, MessageAppended) for event in events):
            # Held in memory it would be gone with the process, as this store never takes it.
            self._store.require_writing()
        kept = self._log.append(events, hold=hold)
        self._wrote = True
        return kept

    def since(self, length: int, /) -> list[Event]:
        """The events that others wrote."""
        try:
            self._log.settle()
        except ConflictError:
            raise
        except StoreError as error:
            # It cannot even be read: the log is what was known of it, and what is held.
            if not self._log.is_held:
                raise
            log_failure(self.info.session_id, error)
        events = self._log.events_since(length)
        self._log.follow(events)
        return events

    def rebuilt(self, number: int, counter: TokenCounter, /) -> CompiledContext:
        """A past call from the checkpoint before it and the events since."""
        self._look_up_begun()
        held = self._held_events()
        for event in held:
            if isinstance(event.body, CallRecorded) and event.body.number == number:
                past, projector = self._context_at(held[0].seq, counter)
                return rebuilt(past.with_recorded(held[: event.seq - held[0].seq]), event.body, projector)
        seq, body = self._reader.call(number)
        past, projector = self._context_at(seq, counter)
        return rebuilt(past, body, projector)

    def index(self) -> PassageIndex:
        """The store's own index."""
        return PassageIndex(_Postings(self._store, self._log))

    def artifact(self, handle: str, /) -> str:
        """The text of an artifact."""
        return self._store.artifact(handle).text()

    def save(self, context: AgentContext, projector: Projector, /) -> None:
        """Write a checkpoint if enough has happened since the last one, and let go of what is long past."""
        if context.length - self._saved >= CHECKPOINT_EVENTS and not self._log.is_held:
            self._look_up_begun()
            with self._store.hurried(INTERACTIVE_WAIT):
                self._save(context, projector)
            context.log.release(context.length - _IN_MEMORY)

    def close(self, context: AgentContext, projector: Projector, /) -> bool:
        """Leave the session so that it opens quickly and all of it is found, and let go of the store."""
        try:
            with self._store.hurried(INTERACTIVE_WAIT):
                self._log.drain()
                self._look_up_begun()
                if self._wrote:
                    self._finish(context, projector)
        except FoveateError as error:
            # What is held is in its file, and all else only saves time later.
            log_failure(self.info.session_id, error)
        finally:
            self.release()
        return not self._log.is_held

    def _finish(self, context: AgentContext, projector: Projector) -> None:
        if context.length - self._saved >= _WORTH_CLOSING:
            self._save(context, projector)
        self._store.note_tokens(self.info, projector.projection(context).logged, events=context.length)
        index_backlog(self._store, self.info, most=_INDEXED_CLOSING)

    def release(self) -> None:
        """Let go of the store, if it was opened for this session."""
        if self._owns_store:
            self._store.close()

    def _held_events(self) -> list[Event]:
        return self._log.held_behind(self._store.session(self.info.session_id).events if self.info.key else 0)

    def _context_at(self, seq: int | None, counter: TokenCounter) -> tuple[AgentContext, Projector]:
        """The snapshot of all events, or of those before number `seq`, and what folds it."""
        context, projector = self._from_checkpoint(seq, counter)
        events = self._reader.events(context.length, seq)
        while chunk := list(islice(events, _STRETCH)):
            context = context.with_recorded(chunk)
            if len(chunk) == _STRETCH:
                # A log that long is folded in stretches, so that it is never in memory whole.
                context, projector = self._refolded(context, projector, save=seq is None)
        if seq is None and context.length < self.info.events:
            raise LogError(
                f"event {context.length} of session {self.info.session_id!r} is missing, which should have "
                f"{self.info.events}; rows were deleted from outside, `foveate db check` lists what is left"
            )
        return context, projector

    def _from_checkpoint(self, seq: int | None, counter: TokenCounter) -> tuple[AgentContext, Projector]:
        found = self._reader.checkpoint(checkpoint_name(counter), before=seq)
        if found is not None:
            try:
                found_there = self._resumed(found[1], found[0], counter)
            except (LogError, zstandard.ZstdError, MemoryError) as error:
                # A checkpoint only saves time: without it the log is folded from its beginning.
                log_failure(self.info.session_id, error)
                return self._empty(), Projector(counter)
            if seq is None:
                self._saved = max(self._saved, found[0])
            return found_there
        return self._empty(), Projector(counter)

    def _resumed(self, data: bytes, seq: int, counter: TokenCounter) -> tuple[AgentContext, Projector]:
        context, projector = resumed(zstandard.ZstdDecompressor().decompress(data), self._reader, counter)
        if (context.session, context.length) != (self.info.session_id, seq):
            raise LogError(f"the checkpoint at event {seq} is of another session or place")
        return context, projector

    def _empty(self) -> AgentContext:
        return AgentContext(session=self.info.session_id, log=Log(archive=self._reader))

    def _refolded(self, context: AgentContext, projector: Projector, *, save: bool) -> tuple[AgentContext, Projector]:
        data = checkpoint_of(context, projector)
        if save:
            try:
                self._write(context.length, data, projector.counter)
            except StoreError as error:
                # A store that can only be read can still be read.
                log_failure(self.info.session_id, error)
        return resumed(data, self._reader, projector.counter)

    def _save(self, context: AgentContext, projector: Projector) -> None:
        self._write(context.length, checkpoint_of(context, projector), projector.counter)

    def _write(self, length: int, data: bytes, counter: TokenCounter) -> None:
        # With a checksum: a damaged one must be noticed, not believed.
        packed = zstandard.ZstdCompressor(level=3, write_checksum=True).compress(data)
        self._store.save_checkpoint(self.info, checkpoint_name(counter), length, packed, keep_every=_KEPT_EVERY)
        self._saved = length
