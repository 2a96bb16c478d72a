"""Standings: how one arm did at one budget, as the shares that the page shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from bench.intervals import ratio_interval
from bench.outcome import ArmInfo, Family, ReplayOutcome, Run, Tally, Times

# An arm that goes wrong at more calls than this is set apart from the others.
MOST_WRONG: Final = 0.01
# In the order of `PROVIDERS`.
PROVIDER_NAMES: Final = ("Anthropic", "OpenAI", "Gemini")


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One arm over all sessions of a run, with its sums session by session; a share of nothing is None."""

    arm: ArmInfo
    run: Run
    rows: tuple[Tally, ...]
    times: Times | None

    @property
    def name(self) -> str:
        return self.arm.name

    @cached_property
    def total(self) -> Tally:
        return Tally.of(self.rows)

    @property
    def is_fit(self) -> bool:
        """Whether it does its work: no kind of trouble at more than one call in a hundred."""
        return self.total.sent > 0 and self.wrong <= MOST_WRONG

    @property
    def wrong(self) -> float:
        """The share of calls that the most frequent kind of trouble befalls."""
        total = self.total
        return share(max(total.invalid, total.over, total.failed, total.refused), total.calls) or 0.0

    @property
    def is_judged_when_over(self) -> bool:
        """Whether requests over the budget were judged too, as for a window without a limit."""
        return self.total.over > 0 and self.total.judged > self.total.sent - self.total.over

    def cost(self, provider: int) -> float | None:
        """What its requests cost, relative to the untouched history at the same calls."""
        return share(self.total.cost[provider], self.total.raw_cost[provider])

    @cached_property
    def cost_interval(self) -> tuple[float, float]:
        """Where the cost at the first provider lies in 95 of 100 samples of the sessions."""
        return ratio_interval([(row.cost[0], row.raw_cost[0]) for row in self.rows])

    @property
    def p50(self) -> float | None:
        """Milliseconds for a request."""
        return self.times.p50 if self.times is not None and self.total.sent else None

    @property
    def kept(self) -> float | None:
        return share(self.total.kept, self.total.references)

    @cached_property
    def kept_interval(self) -> tuple[float, float]:
        return ratio_interval([(row.kept, row.references) for row in self.rows])

    @property
    def restorable(self) -> float | None:
        return share(self.total.restorable, self.total.references)

    @property
    def lost(self) -> float | None:
        total = self.total
        return share(total.references - total.kept - total.restorable, total.references)


def share(part: float, whole: float) -> float | None:
    """A part of a whole; None if there is no whole."""
    return part / whole if whole else None


@dataclass(frozen=True, slots=True)
class Contest:
    """A run with all its arms, those that keep most first."""

    run: Run
    arms: tuple[Standing, ...]

    @property
    def where(self) -> str:
        """The run in words."""
        return f"{self.run.budget:,} tokens, {self.run.material}"

    @property
    def calls(self) -> int:
        """Recorded model calls of all sessions."""
        return sum(session.calls for session in self.run.sessions)

    @property
    def default(self) -> Standing | None:
        """Foveate as it comes."""
        ours = self.of("foveate")
        return next((one for one in ours if one.arm.is_default), ours[0] if ours else None)

    def of(self, family: Family) -> list[Standing]:
        """The arms of a family."""
        return [one for one in self.arms if one.arm.family == family]

    def best(self, value: Callable[[Standing], float | None], *, is_least: bool = False) -> float | None:
        """The best value among arms that are fit."""
        values = [found for one in self.arms if one.is_fit and (found := value(one)) is not None]
        return (min if is_least else max)(values, default=None)


def contests(outcome: ReplayOutcome) -> list[Contest]:
    """All runs, in their order."""
    return [Contest(run, tuple(sorted(_standings(outcome, run), key=_rank))) for run in outcome.runs]


def families_of(held: Iterable[Contest]) -> dict[str, Family]:
    """The family of each arm by its name; Foveate as it comes is known without any run."""
    return {"foveate": "foveate", **{one.name: one.arm.family for contest in held for one in contest.arms}}


def _standings(outcome: ReplayOutcome, run: Run) -> list[Standing]:
    return [
        Standing(arm=arm, run=run, rows=run.tallies[arm.name], times=run.times.get(arm.name))
        for arm in outcome.arms
        if arm.name in run.tallies
    ]


def _rank(one: Standing) -> tuple[float, float, str]:
    kept, cost = one.kept, one.cost(0)
    return -(kept if kept is not None else -1), cost if cost is not None else float("inf"), one.name
