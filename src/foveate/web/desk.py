"""The desk: what all pages of a server work with, and what they remember between them."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

from loguru import logger

from foveate.api import Place
from foveate.api.memory import Memory
from foveate.api.room import Room
from foveate.compile.compiled import CompiledContext
from foveate.compile.difference import Difference
from foveate.compile.explain import Explanation
from foveate.errors import FoveateError, UnknownReferenceError
from foveate.inspect.call_history import CallHistory, HistoryEntry, read_call_history
from foveate.inspect.call_views import WORTH_CHECKPOINTS, CallViews, checkpoints_in
from foveate.inspect.request import RequestContents
from foveate.sample import coding_session, tools
from foveate.session import Session
from foveate.store import SessionInfo, Store
from foveate.store.arrivals import import_lines
from foveate.web.replaying import Lens, Replayed, prepared, replayed
from foveate.web.worker import StoppedError, Worker

T = TypeVar("T")
SAMPLE: Final = "sample"
_DAY: Final = 86_400
_REMEMBERED: Final = 8
_Key = tuple[str, int, Lens]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A session and where its calls are: its own, or those of a replay."""

    info: SessionInfo
    store: Store
    calls_in: SessionInfo
    history: CallHistory
    views: CallViews
    lens: Lens | None = None
    replay: Replayed | None = None

    def view(self, number: int) -> CompiledContext:
        """A call, computed again from what was recorded for it."""
        return self.views.view(self.entry(number).number)

    def explanation(self, number: int) -> Explanation:
        """The account of a call, as the command line and HTTP give it."""
        return self.views.explanation(self.entry(number).number)

    def contents(self, number: int) -> RequestContents:
        """What the model was sent with a call."""
        return self.views.contents(number, self.entry(number).call.predicted_cached)

    def difference(self, first: int, second: int) -> Difference:
        """What differs between two calls."""
        return self.views.difference(self.entry(first).number, self.entry(second).number)

    def entry(self, number: int) -> HistoryEntry:
        """A call with its costs."""
        found = self.history.get(number)
        if found is None:
            last = self.history.entries[-1].number if self.history.entries else 0
            raise UnknownReferenceError(f"there is no call {number} in this session; the last one is {last}")
        return found


class Desk:
    """What all pages of a server work with: its store, and what was found out about sessions lately."""

    def __init__(self, place: Place, store: Store, memory: Memory, room: Room) -> None:
        self.place = place
        self.store = store
        self.memory = memory
        self.room = room
        self._aside: TemporaryDirectory[str] | None = None
        self._replays: Store | None = None
        self._known: OrderedDict[Hashable, Any] = OrderedDict()
        self._working: dict[_Key, Worker[Replayed]] = {}
        self._replaying: dict[_Key, asyncio.Task[Replayed]] = {}
        self._preparing: dict[int, tuple[str, Worker[int], asyncio.Task[None]]] = {}
        self._views: OrderedDict[tuple[int, int, int], CallViews] = OrderedDict()
        self._made: dict[_Key, Replayed] = {}
        self._opening = asyncio.Lock()
        self._is_open = False

    @property
    def location(self) -> str:
        """Where the store is, as another process can open it."""
        return str(self.place.store)

    def close(self) -> None:
        """Let go of what is not the server's own."""
        for replay in self._working.values():
            replay.stop()
        for _, preparation, _ in self._preparing.values():
            preparation.stop()
        if self._replays is not None:
            self._replays.close()
        if self._aside is not None:
            self._aside.cleanup()
        self._replays = self._aside = None

    async def open(self) -> Store:
        """The store, with the sample in it if there was nothing to look at when somebody first looked."""
        async with self._opening:
            if not self._is_open and not await asyncio.to_thread(self.store.sessions):
                await asyncio.to_thread(_with_sample, self.store)
            self._is_open = True
        return self.store

    async def seen(self, session_id: str, lens: Lens | None) -> Seen:
        """A session with its calls; without a lens its own, and if it has none those of a replay."""
        await self.open()
        info = await asyncio.to_thread(self.store.session, session_id)
        if lens is None and info.calls:
            key = ("history", info.key, info.events)
            history = await self.remembered(key, lambda: read_call_history(self.store, info))
            self._prepare(info)
            views = self._views_of(self.store, info)
            return Seen(info=info, store=self.store, calls_in=info, history=history, views=views)
        lens = lens or Lens()
        return await self._replayed(info, lens)

    def working(self, info: SessionInfo, lens: Lens) -> Worker[Replayed] | None:
        """The replay that is under way, if one is."""
        return self._working.get((info.session_id, info.events, lens))

    def preparation(self, session_id: str) -> str:
        """What to tell whoever waits for a call of a long session that is not prepared yet."""
        found = next((worker for name, worker, _ in self._preparing.values() if name == session_id), None)
        if found is None or found.share is None:
            return ""
        return f"This session is long: quick access to its calls is being prepared, {100 * found.share:.0f} % done"

    async def remembered(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made for a key lately, or is made now, in a thread."""
        if key not in self._known:
            made = await asyncio.to_thread(make)
            self._known[key] = made
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        found: T = self._known[key]
        return found

    async def _replayed(self, info: SessionInfo, lens: Lens) -> Seen:
        key = (info.session_id, info.events, lens)
        made, aside = self._made.get(key), self._replay_store()
        if made is None:
            if key not in self._replaying:
                self._replaying[key] = asyncio.create_task(self._replay(key))
            # Whoever else waits for it goes on waiting if this page is closed.
            made = await asyncio.shield(self._replaying[key])
        there = aside.session(made.session)
        key_of_history = ("history of a replay", made.session)
        history = await self.remembered(key_of_history, lambda: read_call_history(aside, there, made.costs))
        views = self._views_of(aside, there)
        return Seen(info=info, store=aside, calls_in=there, history=history, views=views, lens=lens, replay=made)

    async def _replay(self, key: _Key) -> Replayed:
        self._replay_store()
        session, _, lens = key
        name = sha256(repr((key, time.time())).encode()).hexdigest()[:32]
        worker = Worker(
            replayed, self.location, session, lens, str(self._replay_file), name, str(self._checkpoints(name))
        )
        self._working[key] = worker
        try:
            self._made[key] = await worker.result()
        finally:
            del self._working[key]
            del self._replaying[key]
        return self._made[key]

    def _views_of(self, store: Store, info: SessionInfo) -> CallViews:
        key = (id(store), info.key, info.events)
        if key not in self._views:
            name = info.session_id if store is self._replays else f"session-{info.key}"
            self._views[key] = CallViews(store, info, self._checkpoints(name))
            while len(self._views) > _REMEMBERED:
                self._views.popitem(last=False)
        self._views.move_to_end(key)
        return self._views[key]

    def _prepare(self, info: SessionInfo) -> None:
        """Have checkpoints made for a long session, so that its calls open quickly; nobody waits for it."""
        if info.events < WORTH_CHECKPOINTS or info.key in self._preparing:
            return
        folder = self._checkpoints(f"session-{info.key}")
        if max(checkpoints_in(folder), default=0) > info.events - WORTH_CHECKPOINTS:
            return
        worker = Worker(prepared, self.location, info.session_id, str(folder))
        self._preparing[info.key] = info.session_id, worker, asyncio.create_task(self._prepared(info, worker))

    async def _prepared(self, info: SessionInfo, worker: Worker[int]) -> None:
        try:
            await worker.result()
        except StoppedError:
            return
        except FoveateError as error:
            # Calls open without checkpoints too, only later.
            logger.warning("no quick access to the calls of {!r}: {}", info.session_id, error)
        finally:
            del self._preparing[info.key]

    def _replay_store(self) -> Store:
        if self._replays is None:
            self._replays = Store(self._replay_file)
        return self._replays

    @property
    def _replay_file(self) -> Path:
        return self._beside("replays.db")

    def _checkpoints(self, name: str) -> Path:
        return self._beside("checkpoints") / name

    def _beside(self, name: str) -> Path:
        """A place for what is only needed as long as the server runs."""
        if self._aside is None:
            self._aside = TemporaryDirectory(prefix="foveate-")
        return Path(self._aside.name) / name


def _with_sample(store: Store) -> None:
    """Put the sample into a store that is empty, as an agent with a small window would have recorded it."""
    session = Session(budget=12_000, model="claude-sonnet-4-5", tools=tools(), session_id=SAMPLE)
    moment = time.time() - _DAY
    for index, message in enumerate(coding_session()):
        # A person takes longer to answer than a cache is kept.
        moment += 600 if index and message["role"] == "user" else 9
        if index and message["role"] == "assistant":
            session.compile(now=moment)
        session.extend([message], time=moment)
    session.tag(about="a made-up coding session to look around with")
    import_lines(store, session.dump().splitlines())
