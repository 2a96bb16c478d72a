"""Replay: recorded sessions under several policies, in parallel; nothing calls a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from importlib.metadata import version
from multiprocessing import get_context
from typing import Final

from foveate.budget.profiles import ModelProfile, profile_for
from foveate.errors import ConfigError, FoveateError
from foveate.inspect.rates import Rates
from foveate.lab.config import Config
from foveate.lab.contestants import Contestant
from foveate.lab.performance import Setting, performed
from foveate.lab.policies import contestant, infos
from foveate.lab.result import LeftOut, Result, SessionResult, Totals
from foveate.lab.script import script_of
from foveate.lab.sources import Source

DEFAULT_POLICIES: Final = ("foveate", "raw", "recorded", "mask-10", "drop-steps")

Progress = Callable[[int, int, str], None]
"""Told after each log: how many are done, of how many, and the name of the one just done."""


def replay(
    sources: Sequence[Source],
    *,
    policies: Sequence[str] = (),
    model: str | ModelProfile | None = None,
    budget: int | None = None,
    config: Config | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Replay recorded sessions.

    Args:
        sources: the logs.
        policies: names of those to compare; by default what the configuration says.
        model: whose prices and cache rules count; by default those of each session's recorded model.
        budget: the most tokens a request may have; by default the window of the model.
        config: what `foveate.toml` says.
        jobs: how many processes; by default one for each processor. The numbers do not depend on it.
        progress: is told how far it is.

    """
    plan = _plan(policies, model, budget, config or Config(), jobs)
    alone = _jobs(jobs, sources) == 1
    outcomes = _in_turn(sources, plan, progress) if alone else _at_once(sources, plan, jobs, progress)
    sessions, left_out = _sorted_out(outcomes)
    is_priced = any(one.is_priced for one in sessions)
    unpriced = [one.session for one in sessions if is_priced and not one.is_priced]
    chosen = tuple(_distinct([one.session for one in sessions if one.is_priced or not is_priced]))
    contestants = plan.contestants()
    return Result(
        model=plan.profile.name if plan.profile is not None else "",
        budget=plan.budget,
        cost_unit="USD" if is_priced else "input tokens",
        prices_from=f"genai-prices {version('genai-prices')}",
        policies=tuple(infos(contestants)),
        sessions=chosen,
        totals={one.name: Totals.of(session.lanes[one.name].totals for session in chosen) for one in contestants},
        left_out=(*left_out, *map(_without_price, unpriced)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What every process is told; policies by name, because functions of a user cannot be sent."""

    policies: tuple[str, ...]
    profile: ModelProfile | None
    budget: int | None
    config: Config

    def contestants(self) -> tuple[Contestant, ...]:
        return tuple(contestant(name, self.config) for name in self.policies)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replayed:
    session: SessionResult
    is_priced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What became of one source."""

    replayed: tuple[_Replayed, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def _plan(
    policies: Sequence[str], model: str | ModelProfile | None, budget: int | None, config: Config, jobs: int | None
) -> _Plan:
    for option, value in (("--budget", budget), ("--jobs", jobs)):
        if value is not None and value < 1:
            raise ConfigError(f"`{option}` must be 1 or more, got {value!r}")
    asked = model if model is not None else config.model
    plan = _Plan(
        policies=tuple(dict.fromkeys(policies or config.replayed or DEFAULT_POLICIES)),
        profile=profile_for(asked) if isinstance(asked, str) else asked,
        budget=budget if budget is not None else config.budget,
        config=config,
    )
    # Now, and not in the middle of the work: a name that is not known is found out before anything is read.
    plan.contestants()
    return plan


def _jobs(jobs: int | None, sources: Sequence[Source]) -> int:
    return max(1, min(jobs or os.cpu_count() or 1, len(sources)))


def _in_turn(sources: Sequence[Source], plan: _Plan, progress: Progress | None) -> list[_Outcome]:
    contestants = plan.contestants()
    outcomes: list[_Outcome] = []
    for source in sources:
        outcomes.append(_outcome(source, plan, contestants))
        if progress is not None:
            progress(len(outcomes), len(sources), source.name)
    return outcomes


def _at_once(sources: Sequence[Source], plan: _Plan, jobs: int | None, progress: Progress | None) -> list[_Outcome]:
    # The largest first, or the last process would work on it alone.
    order = sorted(range(len(sources)), key=lambda index: -sources[index].size)
    outcomes: dict[int, _Outcome] = {}
    # Not forked: the tokenizer has threads, and a fork would wait for them for ever.
    with ProcessPoolExecutor(_jobs(jobs, sources), get_context("spawn"), _begin, (plan,)) as pool:
        futures: dict[Future[_Outcome], int] = {pool.submit(_work, sources[index]): index for index in order}
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                outcomes[futures[future]] = future.result()
                if progress is not None:
                    progress(done, len(sources), sources[futures[future]].name)
        except BrokenProcessPool as error:
            raise FoveateError("a process of the replay died, perhaps for want of memory; try `--jobs 1`") from error
        finally:
            pool.shutdown(cancel_futures=True)
    return [outcomes[index] for index in range(len(sources))]


_told: list[tuple[_Plan, tuple[Contestant, ...]]] = []


def _begin(plan: _Plan) -> None:
    """Remember, in a process of its own, what it was told."""
    _told[:] = [(plan, plan.contestants())]


def _work(source: Source) -> _Outcome:
    plan, contestants = _told[0]
    return _outcome(source, plan, contestants)


def _outcome(source: Source, plan: _Plan, contestants: tuple[Contestant, ...]) -> _Outcome:
    setting = Setting(contestants=contestants, profile=plan.profile, budget=plan.budget)
    replayed: list[_Replayed] = []
    left_out: list[LeftOut] = []
    try:
        found = source.load()
    except FoveateError as error:
        return _Outcome(left_out=(LeftOut(name=source.name, reason=str(error)),))
    for recording in found:
        script = script_of(recording, source=source.name)
        if not script.calls:
            left_out.append(LeftOut(name=script.name, reason="no model call was recorded"))
            continue
        rates = Rates.of_calls(script.calls, setting.profile)
        is_priced = rates.is_priced(call.model for call in script.calls)
        replayed.append(_Replayed(session=performed(script, setting), is_priced=is_priced))
    return _Outcome(replayed=tuple(replayed), left_out=tuple(left_out))


def _sorted_out(outcomes: Sequence[_Outcome]) -> tuple[list[_Replayed], list[LeftOut]]:
    sessions = [one for outcome in outcomes for one in outcome.replayed]
    return sessions, [one for outcome in outcomes for one in outcome.left_out]


def _without_price(session: SessionResult) -> LeftOut:
    said = f"no price is known for its model {session.model!r}" if session.model else "it does not say its model"
    return LeftOut(name=session.name, reason=f"{said}; give one with `--model`")


def _distinct(sessions: Sequence[SessionResult]) -> Iterator[SessionResult]:
    """The sessions, each under a name of its own."""
    taken: set[str] = set()
    for session in sessions:
        name, number = session.name, 2
        while name in taken:
            name, number = f"{session.name} ({number})", number + 1
        taken.add(name)
        yield session if name == session.name else replace(session, name=name)
