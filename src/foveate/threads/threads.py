"""Threads: which session a history goes on from, and where another branch begins.

A client sends its whole history each time. Most histories go on from the one before; an edited or shortened one
shares its beginning with it, and two answers to the same question share all but the last of it. So a thread is a tree,
and each of its branches a session: a history goes to the branch with which it has the longest beginning in common, and
where that branch went on otherwise, to a new one that begins with what both have. No branch disturbs another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from foveate.compile.compiled import CompiledContext
from foveate.errors import ConfigError, FoveateError, UnknownReferenceError
from foveate.session.beside import Turns, run_beside
from foveate.session.observing import log_failure
from foveate.session.session import Session
from foveate.threads import branch as branches
from foveate.threads.branch import Branch
from foveate.threads.matching import shared_length
from foveate.threads.naming import current_thread, thread_name
from foveate.threads.request import HistoryRequest

if TYPE_CHECKING:
    from foveate.store import Store

# More are let go of, those first that were used longest ago; a store has them all the same.
_MOST_THREADS: Final = 256
_MOST_BRANCHES: Final = 64
_OWN: Final = frozenset({"system", "tools", "response_format", "session_id", "router"})


class Compiled(NamedTuple):
    """What is to be sent for a request, and where it was recorded."""

    view: CompiledContext
    branch: Branch
    session: Session


class _Thread:
    """The branches of one thread, and the lock that those hold who ask it something."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.turns = Turns()
        self.branches: list[Branch] = []
        self.used = 0.0


class Threads:
    """The threads of a program, each recorded in sessions with the same options.

    Any thread of the program may ask; those that ask the same thread of messages take turns.

    Args:
        store: a file such as `agent.db`, an address, or a `Store`: threads survive their process. Without it they are
            in memory.
        thread: the thread of all requests that name none; without it, a history tells by how it begins.
        clock: the time of day in seconds.
        options: those of `Session`, such as `budget`, `policy` and `keep_turns`.

    """

    def __init__(
        self,
        *,
        store: str | Path | Store | None = None,
        thread: str | None = None,
        clock: Callable[[], float] = branches.now,
        **options: Any,
    ) -> None:
        refused = sorted(_OWN & options.keys())
        if refused:
            raise ConfigError(f"`{refused[0]}` comes with each request; leave it out")
        # What is wrong with an option is said now, and not at the first request.
        Session(**options)
        self._options = options
        self._thread = thread_name(thread) if thread is not None else None
        self._clock = clock
        self._owns_store = isinstance(store, str | Path)
        self._store = _opened_store(store) if isinstance(store, str | Path) else store
        self._threads: dict[str, _Thread] = {}
        self._guard = threading.Lock()

    # --- a request ------------------------------------------------------------------------------------------------

    def compile(self, request: HistoryRequest) -> Compiled:
        """Record what is new in a request, and compile it; raises `BudgetError` if it cannot fit."""
        with self._asked(request) as (found, name):
            branch = self._taken(found, name, request)
            return Compiled(branch.view_for(request, self._clock()), branch, branch.session)

    async def acompile(self, request: HistoryRequest) -> Compiled:
        """Like `compile`, but beside the event loop, and a `summarizer` may write a summary first."""
        if not self.summarizes:
            return await run_beside(self.compile, request)
        async with self._known(self._name(request)).turns:
            branch = await run_beside(self._take, request)
            return Compiled(await branch.aview_for(request, self._clock()), branch, branch.session)

    @property
    def summarizes(self) -> bool:
        """Whether a summarizer may be asked, which only `acompile` does."""
        return self._options.get("summarizer") is not None

    def session(self, thread: str | None = None) -> Session:
        """The session of a thread: that of its branch that was used last; by default of the thread used last."""
        with self._guard:
            known = {name: found for name, found in self._threads.items() if found.branches}
        if not known or (thread is not None and thread not in known):
            raise UnknownReferenceError(f"no thread {thread!r:.200}; there are {', '.join(known) or 'none yet'}")
        found = known[thread] if thread is not None else max(known.values(), key=lambda one: one.used)
        with found.lock:
            return max(found.branches, key=lambda one: one.used).session

    def answer_recall(self, arguments: str | dict[str, Any], *, thread: str | None = None) -> str:
        """Answer a call of the recall tool; what is wrong with it is said to the model, not raised."""
        name = thread or current_thread() or self._thread
        with self._guard:
            lines = sum(len(found.branches) for found in self._threads.values())
        if name is None and lines > 1:
            # The one used last may be another user's.
            return "recall: several conversations are recorded, and none is named; run each in `foveate.thread(name)`"
        try:
            return self.session(name).answer_recall(arguments)
        except UnknownReferenceError as error:
            return f"recall: {error}"

    def close(self) -> None:
        """Let go of all sessions, and of the store if it was opened here."""
        with self._guard:
            known, self._threads = self._threads, {}
        for found in known.values():
            with found.lock:
                _close(found)
        if self._owns_store and self._store is not None:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # --- inside ---------------------------------------------------------------------------------------------------

    def _name(self, request: HistoryRequest) -> str:
        name = request.thread or current_thread() or self._thread
        return name if name is not None else f"{request.format}-{request.keys[0][:16]}"

    def _known(self, name: str) -> _Thread:
        with self._guard:
            return self._threads.setdefault(name, _Thread())

    @contextmanager
    def _asked(self, request: HistoryRequest) -> Generator[tuple[_Thread, str]]:
        name = self._name(request)
        found = self._known(name)
        with found.lock:
            found.used = self._clock()
            yield found, name
        self._forget_idle()

    def _take(self, request: HistoryRequest) -> Branch:
        with self._asked(request) as (found, name):
            return self._taken(found, name, request)

    def _taken(self, found: _Thread, name: str, request: HistoryRequest) -> Branch:
        """The branch of a request, with all of its items in its log."""
        branch = self._branch_for(found, name, request)
        branch.used = self._clock()
        if len(branch.keys) < len(request.keys):
            branch.take(request, self._clock())
        return branch

    def _branch_for(self, found: _Thread, name: str, request: HistoryRequest) -> Branch:
        if not found.branches:
            found.branches = self._opened(name)
        for one in found.branches:
            one.session.refresh()
            one.follow()
        shared = {one.session.id: shared_length(one.keys, request.keys) for one in found.branches}
        # Of those that share as much, one that ends there goes on; beside the others another one would have to begin.
        best = max(
            found.branches,
            key=lambda one: (shared[one.session.id], shared[one.session.id] == len(one.keys), one.used),
        )
        common = shared[best.session.id]
        if common == len(best.keys):
            return best
        return self._begun_beside(best, common, found, name)

    def _opened(self, name: str) -> list[Branch]:
        """The branches of a thread that the store has, or a first one."""
        opened = [self._open(name)]
        while self._store is not None and self._store.find(_numbered(name, len(opened) + 1)) is not None:
            opened.append(self._open(_numbered(name, len(opened) + 1)))
        return opened

    def _begun_beside(self, best: Branch, common: int, found: _Thread, name: str) -> Branch:
        """A new branch, which begins with what it has in common with one that is there."""
        number = 1 + max(_number(one.session.id, name) for one in found.branches)
        one = self._open(_numbered(name, number))
        history = best.history_until(common)
        # The first event frames the session, which the new one has done itself.
        one.session.note(*history[1:])
        one.session.tag(branch_of=best.session.id)
        one.follow()
        found.branches.append(one)
        if len(found.branches) > _MOST_BRANCHES:
            idle = min(found.branches[1:-1], key=lambda other: other.used)
            found.branches.remove(idle)
            idle.session.close()
        return one

    def _open(self, session_id: str) -> Branch:
        if self._store is None:
            return Branch(Session(session_id=session_id, **self._options))
        return Branch(Session.open(self._store, session_id, **self._options))

    def _forget_idle(self) -> None:
        with self._guard:
            if len(self._threads) <= _MOST_THREADS:
                return
            name = min(self._threads, key=lambda one: self._threads[one].used)
            found = self._threads.pop(name)
        with found.lock:
            _close(found)


def _opened_store(store: str | Path) -> Store:
    # Only threads that survive their process wait for SQLAlchemy.
    from foveate.store import Store  # noqa: PLC0415

    return Store(store)


def _close(found: _Thread) -> None:
    for one in found.branches:
        try:
            one.session.close()
        except FoveateError as error:
            log_failure(one.session.id, error)
    found.branches = []


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}~{number}"


def _number(session_id: str, name: str) -> int:
    return int(session_id.removeprefix(f"{name}~")) if session_id != name else 1
