"""Replays sessions through all arms in step, several sessions at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from multiprocessing import get_context
from typing import Final, Literal, TypeVar

from bench.arms import BASELINE, Measure
from bench.intervals import percentile
from bench.lanes import Judged, Lane, Prices
from bench.material import Material
from bench.outcome import Run, SessionInfo, Tally, Times
from bench.peering import end_lanes
from bench.tokens import count, request_tokens
from bench.trail import Trail
from foveate.budget.accounting import framing_tokens
from foveate.budget.tokens import counter_for
from foveate.lab.contestants import Contestant, Opening
from foveate.lab.script import Script
from foveate.lab.walk import moments

Progress = Callable[[int, int, str], None]
"""Told after each session: how many are done, of how many, and the name of the one just done."""
Key = tuple[str, int]
"""An arm's name and its budget."""

Done = TypeVar("Done")

_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a replay compares, and at which prices."""

    arms: tuple[Contestant, ...]
    budgets: tuple[int, ...]
    prices: Prices = field(default_factory=Prices.usual)
    # Of one arm in one session; some peers take hours for what others do in a second. What follows is not measured.
    most_seconds: float = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One session: for each arm and budget the sums, the milliseconds of each call, and what went wrong.

    `budgets` are those that can hold what no arm may leave out.
    """

    info: SessionInfo
    budgets: tuple[int, ...]
    tallies: dict[Key, Tally]
    milliseconds: dict[Key, list[float]]
    problems: dict[Key, list[str]]


def runs(
    sessions: Sequence[Material],
    setup: Setup,
    *,
    material: Literal["recorded", "generated"] = "recorded",
    split: str = "report",
    jobs: int = 2,
    progress: Progress | None = None,
) -> list[Run]:
    """Every arm at every budget over all sessions; on `jobs` depend times alone, and who runs out of them."""
    done: list[Replayed] = []
    for one in each_session(partial(replayed, setup=setup), sessions, jobs):
        done.append(one)
        if progress is not None:
            progress(len(done), len(sessions), one.info.name)
    done.sort(key=lambda one: one.info.name)
    return [_run(budget, done, setup, material=material, split=split) for budget in setup.budgets]


def replayed(material: Material, setup: Setup) -> Replayed:
    """One session under every arm at every budget."""
    opening = opening_of(material.script)
    least = least_tokens(material.script, opening)
    budgets = [budget for budget in setup.budgets if least <= budget]
    trail = Trail()
    base = Lane(BASELINE, opening, setup.prices)
    lanes = [
        Lane(arm, replace(opening, budget=budget), setup.prices, setup.most_seconds)
        for arm in setup.arms
        for budget in budgets
    ]
    for moment in moments(material.script, opening):
        for chat in moment.step.chats:
            trail.append(chat)
        call = Judged(moment=moment, trail=trail, untouched=base.sent(moment))
        for lane in lanes:
            lane.take(call)
    end_lanes()
    return Replayed(
        info=material.info,
        budgets=tuple(budgets),
        tallies={lane.key: lane.tally for lane in lanes},
        milliseconds={lane.key: lane.milliseconds for lane in lanes},
        problems={lane.key: lane.problems for lane in lanes if lane.problems},
    )


def each_session(work: Callable[[Material], Done], sessions: Sequence[Material], jobs: int) -> Iterator[Done]:
    """What a function makes of each session, in the order in which they are done; `work` must be picklable."""
    if jobs == 1:
        yield from map(work, sessions)
        return
    # Not forked: the pipes of running peers must not be shared.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(work, one) for one in sessions]):
            yield future.result()


def opening_of(script: Script) -> Opening:
    """What an arm is told when a session begins, apart from the budget."""
    # Tokenizing is the benchmark's own work; done here, it does not show up as an arm's.
    request_tokens(script.chats)
    count(script.system)
    reserved = framing_tokens(counter_for(None), system=None, tools=script.tools, response_format=None)
    return Opening(system=script.system, tools=script.tools, reserved=reserved, sizes=Measure())


def least_tokens(script: Script, opening: Opening) -> int:
    """The tokens of what no arm may leave out: tools, instructions, and at each call the newest user message."""
    instructions = takewhile(lambda chat: chat["role"] in ("system", "developer"), script.chats)
    inputs = (opening.sizes.of(chat) for chat in script.chats if chat["role"] == "user")
    return opening.reserved + opening.sizes.total([*opening.head(), *instructions]) + max(inputs, default=0)


def _run(
    budget: int, done: Sequence[Replayed], setup: Setup, *, material: Literal["recorded", "generated"], split: str
) -> Run:
    names = [arm.name for arm in setup.arms]
    found = [one for one in done if budget in one.budgets]
    return Run(
        budget=budget,
        material=material,
        split=split,
        sessions=tuple(one.info for one in found),
        left_out=len(done) - len(found),
        tallies={name: tuple(one.tallies[name, budget] for one in found) for name in names},
        times={name: _times([ms for one in found for ms in one.milliseconds[name, budget]]) for name in names},
        problems={name: told for name in names if (told := _examples(name, budget, found))},
    )


def _times(milliseconds: Sequence[float]) -> Times:
    p50, p95, longest = (round(percentile(milliseconds, share), 3) for share in (0.5, 0.95, 1))
    return Times(p50=p50, p95=p95, longest=longest)


def _examples(name: str, budget: int, done: Sequence[Replayed]) -> tuple[str, ...]:
    found = (f"{one.info.name} {text}" for one in done for text in one.problems.get((name, budget), ()))
    return tuple(text for text, _ in zip(found, range(_EXAMPLES), strict=False))
