"""Recorded calls of a session, computed again as they are asked for, in long sessions from checkpoints in files.

A call is the fold of all events before it. A store keeps few checkpoints of that fold, so that it stays small; leafing
through the calls of a long session needs many. They are written into a folder of their own while somebody looks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Final, TypeVar

import zstandard

from foveate.budget.tokens import TokenCounter, counter_for
from foveate.compile.checkpoint import checkpoint_of, resumed
from foveate.compile.compiled import CompiledContext
from foveate.compile.difference import Difference, difference
from foveate.compile.explain import Explanation
from foveate.compile.rebuild import rebuilt
from foveate.compile.timeline import Projector
from foveate.inspect.fates import calls_of_reduced_items
from foveate.inspect.request import RequestContents, request_contents
from foveate.log.context import AgentContext, Log
from foveate.private_files import create_private_file, make_private_folder
from foveate.session.durable import recorded_call
from foveate.store import SessionInfo, Store
from foveate.store.reader import Reader

CHECKPOINT_EVENTS: Final = 1_000
"""Events between two checkpoints."""

WORTH_CHECKPOINTS: Final = 4_000
"""Events from which on a session gets checkpoints in files."""

Value = TypeVar("Value")
# Each holds the messages of a window, and its explanation a line about every message of the log.
_KEPT: Final = 4


class CallViews:
    """The recorded calls of one session; those asked for last are remembered. For several threads at once."""

    def __init__(self, store: Store, info: SessionInfo, folder: Path | None = None) -> None:
        """The calls of a session of a store; `folder` has its checkpoints, if it has any."""
        self._store = store
        self._info = info
        self._folder = folder
        self._views: OrderedDict[int, CompiledContext] = OrderedDict()
        self._explanations: OrderedDict[int, Explanation] = OrderedDict()
        # One at a time, so that nothing is computed twice.
        self._working = Lock()

    def view(self, number: int) -> CompiledContext:
        """A call."""
        with self._working:
            return self._view(number)

    def explanation(self, number: int) -> Explanation:
        """The account of a call."""
        with self._working:
            return _remembered(self._explanations, number, lambda: self._view(number).explain())

    def contents(self, number: int, predicted_cached: int) -> RequestContents:
        """What the model was sent with a call, of which so many tokens were expected in the cache."""
        with self._working:
            view = self._view(number)
            made_at = calls_of_reduced_items(self._store, self._info, view, number)
            return request_contents(view, made_at, predicted_cached)

    def difference(self, first: int, second: int) -> Difference:
        """What differs between two calls."""
        with self._working:
            return difference(self._view(first), self._view(second))

    def _view(self, number: int) -> CompiledContext:
        return _remembered(self._views, number, lambda: self._computed(number))

    def _computed(self, number: int) -> CompiledContext:
        if self._folder is None:
            return recorded_call(self._store, self._info, number)
        reader = self._store.reader(self._info)
        seq, body = reader.call(number)
        length = max((one for one in checkpoints_in(self._folder) if one <= seq), default=None)
        if length is None:
            return recorded_call(self._store, self._info, number)
        counter = _counter(self._info)
        context, projector = _resumed(self._folder, length, reader, counter)
        return rebuilt(context.with_recorded(reader.events(length, seq)), body, projector)


def _remembered(known: OrderedDict[int, Value], number: int, make: Callable[[], Value]) -> Value:
    if number not in known:
        known[number] = make()
        while len(known) > _KEPT:
            known.popitem(last=False)
    known.move_to_end(number)
    return known[number]


def write_missing_checkpoints(store: Store, info: SessionInfo, folder: Path, tell: Callable[[float], None]) -> int:
    """Write the checkpoints of a session that are not there yet; returns how many there are then.

    `tell` is told the share of the log that is done.
    """
    reader, counter = store.reader(info), _counter(info)
    done = max(checkpoints_in(folder), default=0)
    context, projector = AgentContext(session=info.session_id, log=Log(archive=reader)), Projector(counter)
    if done:
        context, projector = _resumed(folder, done, reader, counter)
    events = reader.events(context.length, info.events)
    while len(chunk := list(islice(events, CHECKPOINT_EVENTS))) == CHECKPOINT_EVENTS:
        context = context.with_recorded(chunk)
        data = checkpoint_of(context, projector)
        write_checkpoint(folder, context.length, data)
        # Only what is needed of the log stays in memory.
        context, projector = resumed(data, reader, counter)
        tell(context.length / max(1, info.events))
    return len(checkpoints_in(folder))


def write_checkpoint(folder: Path, length: int, data: bytes) -> None:
    """Write the checkpoint of the first `length` events; it is there only once it is whole."""
    make_private_folder(folder)
    unfinished = folder / f".{length}"
    unfinished.unlink(missing_ok=True)
    with create_private_file(unfinished) as file:
        file.write(zstandard.ZstdCompressor(level=3).compress(data))
    unfinished.replace(folder / str(length))


def checkpoints_in(folder: Path) -> list[int]:
    """The numbers of events that there are checkpoints of."""
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()] if folder.is_dir() else []


def _resumed(folder: Path, length: int, reader: Reader, counter: TokenCounter) -> tuple[AgentContext, Projector]:
    data = zstandard.ZstdDecompressor().decompress((folder / str(length)).read_bytes())
    return resumed(data, reader, counter)


def _counter(info: SessionInfo) -> TokenCounter:
    model = info.metadata.get("model")
    return counter_for(model if isinstance(model, str) else None)
