"""Stations: places in a long log from which its calls are computed again quickly.

A call is the fold of all events before it. A store keeps few checkpoints of that fold, so that it stays small; who
leafs through the calls of a long session needs many. They are made aside, while somebody looks, and thrown away after.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Final

import zstandard

from foveate.budget.tokens import TokenCounter, counter_for
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.difference import Difference, difference
from foveate.compiler.rebuild import rebuilt
from foveate.log.context import AgentContext, Log
from foveate.session.durable import recorded_call
from foveate.store import SessionInfo, Store
from foveate.store.reader import Reader
from foveate.views.checkpoint import checkpoint_of, resumed
from foveate.views.timeline import timeline_of
from foveate.web.window import Window, made_at, window_of
from foveate.web.worker import Tell

EVERY: Final = 1_000
"""Events between two stations."""

WORTH: Final = 4_000
"""Events from which on a session gets stations."""

_KEPT: Final = 4


class Views:
    """The calls of a session, computed again as they are asked for; those asked for last are remembered."""

    def __init__(self, store: Store, info: SessionInfo, folder: Path) -> None:
        self._store = store
        self._info = info
        self._folder = folder
        self._known: OrderedDict[int, CompiledContext] = OrderedDict()
        # A view reads of its log as it needs it, and is not for several threads at once.
        self._working = Lock()

    def view(self, number: int) -> CompiledContext:
        """A call."""
        with self._working:
            return self._view(number)

    def window(self, number: int, predicted: int) -> Window:
        """What the model was sent with a call."""
        with self._working:
            view = self._view(number)
            return window_of(view, made_at(self._store, self._info, view, number), predicted)

    def difference(self, first: int, second: int) -> Difference:
        """What differs between two calls."""
        with self._working:
            return difference(self._view(first), self._view(second))

    def _view(self, number: int) -> CompiledContext:
        if number not in self._known:
            self._known[number] = self._computed(number)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(number)
        return self._known[number]

    def _computed(self, number: int) -> CompiledContext:
        reader = self._store.reader(self._info)
        seq, body = reader.call(number)
        station = max((one for one in stations_in(self._folder) if one <= seq), default=None)
        if station is None:
            return recorded_call(self._store, self._info, number)
        counter = _counter(self._info)
        context = _resumed(self._folder, station, reader, counter)
        return rebuilt(context.with_recorded(reader.events(station, seq)), body, counter)


def prepared(tell: Tell, location: str, session: str, folder: str) -> int:
    """Make the stations of a session that are not there yet; how many there are then."""
    # Whoever waits for a page comes first.
    os.nice(10)
    place = Path(folder)
    with Store(location, create=False) as store:
        info = store.session(session)
        reader, counter = store.reader(info), _counter(info)
        done = max(stations_in(place), default=0)
        context = (
            _resumed(place, done, reader, counter) if done else AgentContext(session=session, log=Log(archive=reader))
        )
        events = reader.events(context.length, info.events)
        while len(chunk := list(islice(events, EVERY))) == EVERY:
            context = leave_station(place, context.with_recorded(chunk), reader, counter)
            tell("preparing", context.length / max(1, info.events))
    return len(stations_in(place))


def leave_station(folder: Path, context: AgentContext, reader: Reader, counter: TokenCounter) -> AgentContext:
    """Leave a station at the end of a context; the same context, of which only what is needed is in memory."""
    data = checkpoint_of(context, timeline_of(context, counter))
    save_station(folder, context.length, data)
    return resumed(data, reader, counter)


def save_station(folder: Path, length: int, data: bytes) -> None:
    """Write a station; it is there only once it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{length}"
    unfinished.write_bytes(zstandard.ZstdCompressor(level=3).compress(data))
    unfinished.replace(folder / str(length))


def stations_in(folder: Path) -> list[int]:
    """The numbers of events that there are stations before."""
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()] if folder.is_dir() else []


def _resumed(folder: Path, station: int, reader: Reader, counter: TokenCounter) -> AgentContext:
    data = zstandard.ZstdDecompressor().decompress((folder / str(station)).read_bytes())
    return resumed(data, reader, counter)


def _counter(info: SessionInfo) -> TokenCounter:
    model = info.metadata.get("model")
    return counter_for(model if isinstance(model, str) else None)
