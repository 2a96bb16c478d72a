"""Reporting: checks passed by where their fact stood, rules broken, files read again, steps; and facts in view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table

from bench.continuing.requests import SPOKEN, FactsShown
from bench.continuing.scenario import PLACES, Check
from bench.continuing.study import ContinuationStudy, Result, scenario_called
from bench.intervals import ratio_interval
from bench.outcome import Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmResult:
    """What came of one arm; `solved` and `checks` by place, rules broken only where something was delivered.

    Files read again, steps and recalls are means over the runs that tell them.
    """

    name: str
    budget: int
    runs: int
    solved: dict[str, int]
    checks: dict[str, int]
    low: float
    high: float
    rules_broken: int
    rules: int
    steps: float | None
    read_again: float | None
    recalls: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuationReport:
    """A study's results."""

    stamp: Stamp
    split: str
    seed: int
    scenarios: int
    runs: int
    missing: int
    arms: tuple[ArmResult, ...]
    results: tuple[Result, ...]


def report_of(study: ContinuationStudy, results: Sequence[Result], missing: int) -> ContinuationReport:
    """The results so far, by arm."""
    return ContinuationReport(
        stamp=study.stamp,
        split=study.split,
        seed=study.seed,
        scenarios=len(study.scenarios),
        runs=study.runs,
        missing=missing,
        arms=tuple(
            _arm_result(arm.name, arm.budget, [one for one in results if one.arm == arm.name]) for arm in study.arms
        ),
        results=tuple(results),
    )


def report_table(report: ContinuationReport) -> Table:
    """A row for each arm."""
    title = f"{report.scenarios} scenarios ({report.split}), {report.runs} runs of each arm"
    table = Table(
        "arm", "runs", "checks passed", *PLACES, "rules broken", "read again", "steps", "recalls", title=title
    )
    for arm in report.arms:
        solved, checks = sum(arm.solved.values()), sum(arm.checks.values())
        table.add_row(
            arm.name,
            str(arm.runs),
            f"{solved} of {checks} [{arm.low:.2f}, {arm.high:.2f}]",
            *(f"{arm.solved[place]} of {arm.checks[place]}" for place in PLACES),
            f"{arm.rules_broken} of {arm.rules}",
            *(_mean_cell(value) for value in (arm.read_again, arm.steps, arm.recalls)),
        )
    return table


def facts_table(found: Sequence[FactsShown], split: str) -> Table:
    """A row for each arm: facts in view in its requests."""
    scenarios = len({one.scenario for one in found})
    table = Table("arm", *SPOKEN, "tokens sent", "no request", title=f"Facts in view, {scenarios} scenarios ({split})")
    for arm in dict.fromkeys(one.arm for one in found):
        own = [one for one in found if one.arm == arm]
        sent = [one.tokens for one in own if not one.problem]
        table.add_row(
            arm,
            *(f"{sum(one.shown[place] for one in own)} of {sum(one.facts[place] for one in own)}" for place in SPOKEN),
            f"{min(sent):,}–{max(sent):,}" if sent else "–",
            str(len(own) - len(sent)),
        )
    return table


def _arm_result(name: str, budget: int, results: Sequence[Result]) -> ArmResult:
    solved = dict.fromkeys(map(str, PLACES), 0)
    checks = dict.fromkeys(map(str, PLACES), 0)
    by_scenario: dict[str, tuple[float, float]] = {}
    broken = rules = 0
    for result in results:
        known = _checks_of(result)
        passed = [check for check in known if not result.checks[check.name]]
        for check in known:
            checks[check.place] += 1
            solved[check.place] += check in passed
        before, of = by_scenario.get(result.scenario, (0.0, 0.0))
        by_scenario[result.scenario] = before + len(passed), of + len(known)
        # Nothing was delivered that could break a rule.
        if passed:
            own = [check for check in known if check.kind == "rule"]
            rules += len(own)
            broken += sum(check not in passed for check in own)
    low, high = ratio_interval(list(by_scenario.values()))
    return ArmResult(
        name=name,
        budget=budget,
        runs=len(results),
        solved=solved,
        checks=checks,
        low=low,
        high=high,
        rules_broken=broken,
        rules=rules,
        steps=_mean(one.steps for one in results),
        read_again=_mean(None if one.read_again is None else len(one.read_again) for one in results),
        recalls=_mean(one.recalls for one in results),
    )


def _checks_of(result: Result) -> list[Check]:
    return [check for check in scenario_called(result.scenario).checks if check.name in result.checks]


def _mean(values: Iterable[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _mean_cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
