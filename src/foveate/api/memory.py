"""Memory: what was read of sessions, so that it is not read again at each request."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from threading import Lock
from typing import Final, Generic, TypeVar

from foveate.inspect.call_views import CallViews
from foveate.inspect.costs import SessionCosts
from foveate.inspect.log_state import LogState, read_log_state
from foveate.inspect.session_costs import input_costs, read_session_costs
from foveate.store import SessionInfo, Store

_SESSIONS: Final = 64
_VIEWED: Final = 4
_COSTS: Final = 4_096

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Memory:
    """Remembers the state, costs and calls of the sessions that were asked for last; for several threads at once."""

    def __init__(self) -> None:
        self._states: _Latest[int, LogState] = _Latest(_SESSIONS)
        self._views: _Latest[tuple[int, object], CallViews] = _Latest(_VIEWED)
        self._costs: _Latest[tuple[int, int], SessionCosts] = _Latest(_SESSIONS)
        # A session without a known cost is remembered, too.
        self._input_costs: _Latest[tuple[int, int], tuple[float | None]] = _Latest(_COSTS)

    def log_state(self, store: Store, info: SessionInfo) -> LogState:
        """The state of a session's log beside messages and calls."""
        known = self._states.get(info.key)
        if known is None or known.length < info.events:
            known = read_log_state(store, info, known)
            self._states.put(info.key, known)
        return known

    def views(self, store: Store, info: SessionInfo) -> CallViews:
        """The recorded calls of a session; they are counted as the session's model counts."""
        key = info.key, info.metadata.get("model")
        known = self._views.get(key)
        if known is None:
            known = CallViews(store, info)
            self._views.put(key, known)
        return known

    def costs(self, store: Store, info: SessionInfo) -> SessionCosts:
        """The costs of a session, call by call."""
        known = self._costs.get((info.key, info.events))
        if known is None:
            known = read_session_costs(store, info)
            self._costs.put((info.key, info.events), known)
        return known

    def input_costs(self, store: Store, infos: Sequence[SessionInfo]) -> dict[int, float | None]:
        """The cost of each session as it was sent, by its key; None if it is not known."""
        known = {info.key: self._input_costs.get((info.key, info.events)) for info in infos}
        missing = [info for info in infos if known[info.key] is None]
        read = input_costs(store, missing)
        for info in missing:
            self._input_costs.put((info.key, info.events), (read[info.key],))
        return read | {key: found[0] for key, found in known.items() if found is not None}


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
