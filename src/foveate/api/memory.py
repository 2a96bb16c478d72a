"""Memory: what was read of sessions and cannot change any more, so that it is not read again at each request."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Final, Generic, TypeVar

from foveate.compiler.compiled import CompiledContext
from foveate.compiler.difference import Difference, difference
from foveate.compiler.explain import Explanation
from foveate.session.durable import recorded_call
from foveate.store import SessionInfo, Store
from foveate.store.leafing import Marks, marks_of

_SESSIONS: Final = 64
# Each holds the messages of a window, and a line about every message of the log.
_CALLS: Final = 4

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Memory:
    """Remembers the marks of the sessions, and the calls, that were asked for last; for several threads at once."""

    def __init__(self) -> None:
        self._marks: _Latest[int, Marks] = _Latest(_SESSIONS)
        self._views: _Latest[tuple[int, int], CompiledContext] = _Latest(_CALLS)
        self._explained: _Latest[tuple[int, int], Explanation] = _Latest(_CALLS)
        # A view reads of its log as it needs it, and is not for several threads at once.
        self._working = Lock()

    def marks(self, store: Store, info: SessionInfo) -> Marks:
        """What stands in a session's log beside messages and calls."""
        known = self._marks.get(info.key)
        if known is None or known.length < info.events:
            known = marks_of(store, info, known)
            self._marks.put(info.key, known)
        return known

    def call(self, store: Store, info: SessionInfo, number: int) -> CompiledContext:
        """A recorded call, computed again."""
        with self._working:
            return self._call(store, info, number)

    def explanation(self, store: Store, info: SessionInfo, number: int) -> Explanation:
        """The account of a recorded call."""
        with self._working:
            known = self._explained.get((info.key, number))
            if known is None:
                known = self._call(store, info, number).explain()
                self._explained.put((info.key, number), known)
            return known

    def difference(self, store: Store, info: SessionInfo, first: int, second: int) -> Difference:
        """What differs between two recorded calls."""
        with self._working:
            return difference(self._call(store, info, first), self._call(store, info, second))

    def _call(self, store: Store, info: SessionInfo, number: int) -> CompiledContext:
        known = self._views.get((info.key, number))
        if known is None:
            known = recorded_call(store, info, number)
            self._views.put((info.key, number), known)
        return known


class _Latest(Generic[_Key, _Value]):
    """The values that were used last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[_Key, _Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: _Key) -> _Value | None:
        """A value, if it is remembered."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def put(self, key: _Key, value: _Value) -> None:
        """Remember a value, and forget the one that was not used for longest."""
        with self._lock:
            self._known[key] = value
            self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
