"""Reporting: the grades of a study as means with intervals over sessions, differences between arms, and agreement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from bench.intervals import difference_interval, ratio_interval
from bench.outcome import Stamp
from bench.reading.grading import Grade
from bench.reading.study import Study

Interval = tuple[float, float]
Measure = Callable[[Grade], float]

MEASURES: Final[dict[str, Measure]] = {
    "task": lambda grade: grade.task,
    "state": lambda grade: grade.state,
    "next": lambda grade: grade.next,
    "mean": lambda grade: grade.mean,
    "false": lambda grade: grade.false_statements,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean over answers, and where it lies in 95 of 100 samples of the sessions."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmReport:
    """One arm: how much it sent, and what its answers were given; `means` by measure."""

    name: str
    budget: int
    description: str
    answers: int
    sessions: int
    tokens: tuple[int, int, int]
    means: dict[str, Mean]
    problems: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One arm less another, where both were graded, by measure."""

    arm: str
    other: str
    situations: int
    means: dict[str, Mean]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two graders on the same answers: mean absolute difference, correlation, share not more than a point apart."""

    grader: str
    other: str
    answers: int
    difference: dict[str, float]
    correlation: dict[str, float | None]
    within_one: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingReport:
    """Grades and counts of a study; no text of any session."""

    stamp: Stamp
    budget: int
    split: str
    seed: int
    situations: int
    sessions: int
    arms: tuple[ArmReport, ...]
    differences: tuple[Difference, ...]
    agreement: tuple[Agreement, ...]
    readers: dict[str, str]
    missing_answers: int
    missing_grades: int
    grades: tuple[tuple[str, str, str, float, float, float, float], ...]
    """Grader, situation, arm, task, state, next, false statements."""


def report_of(
    study: Study, grades: Sequence[Grade], *, missing_answers: int, missing_grades: int, readers: dict[str, str]
) -> ReadingReport:
    """The report of the grades that there are so far."""
    names = [arm.name for arm in study.arms]
    return ReadingReport(
        stamp=study.stamp,
        budget=study.budget,
        split=study.split,
        seed=study.seed,
        situations=len(study.situations),
        sessions=len({one.session for one in study.situations.values()}),
        arms=tuple(_arm_report(study, name, grades) for name in names),
        differences=tuple(_difference(study, one, other, grades) for one, other in combinations(names, 2) if grades),
        agreement=tuple(_agreement(one, other, grades) for one, other in combinations(study.grader_names, 2) if grades),
        readers=readers,
        missing_answers=missing_answers,
        missing_grades=missing_grades,
        grades=tuple((g.grader, g.situation, g.arm, g.task, g.state, g.next, g.false_statements) for g in grades),
    )


def _arm_report(study: Study, name: str, grades: Sequence[Grade]) -> ArmReport:
    arm = next(one for one in study.arms if one.name == name)
    own = [grade for grade in grades if grade.arm == name]
    sent = sorted(arm.tokens.values()) or [0]
    return ArmReport(
        name=name,
        budget=arm.budget,
        description=arm.description,
        answers=len({grade.situation for grade in own}),
        sessions=len({study.situations[grade.situation].session for grade in own}),
        tokens=(sent[0], round(sum(sent) / len(sent)), sent[-1]),
        means={key: _mean(study, own, measure) for key, measure in MEASURES.items()},
        problems=arm.problems,
    )


def _mean(study: Study, grades: Sequence[Grade], measure: Measure) -> Mean:
    parts = list(_by_session(study, grades, measure).values())
    low, high = ratio_interval(parts)
    return Mean(value=_ratio(parts), low=low, high=high)


def _difference(study: Study, arm: str, other: str, grades: Sequence[Grade]) -> Difference:
    both = {g.situation for g in grades if g.arm == arm} & {g.situation for g in grades if g.arm == other}
    shared = [grade for grade in grades if grade.situation in both]
    means: dict[str, Mean] = {}
    for key, measure in MEASURES.items():
        one, two = (
            _by_session(study, [grade for grade in shared if grade.arm == name], measure) for name in (arm, other)
        )
        low, high = difference_interval([(one[session], two[session]) for session in one])
        means[key] = Mean(value=_ratio(one.values()) - _ratio(two.values()), low=low, high=high)
    return Difference(arm=arm, other=other, situations=len(both), means=means)


def _by_session(study: Study, grades: Iterable[Grade], measure: Measure) -> dict[str, tuple[float, float]]:
    """For each session the sum over its answers of what graders gave on average, and the number of answers."""
    answers: dict[str, list[float]] = defaultdict(list)
    for grade in grades:
        answers[grade.situation].append(measure(grade))
    sums: dict[str, tuple[float, float]] = {}
    for situation, values in answers.items():
        session = study.situations[situation].session
        total, count = sums.get(session, (0.0, 0.0))
        sums[session] = total + sum(values) / len(values), count + 1
    return sums


def _agreement(grader: str, other: str, grades: Sequence[Grade]) -> Agreement:
    one, two = ({(g.situation, g.arm): g for g in grades if g.grader == name} for name in (grader, other))
    both = sorted(one.keys() & two.keys())
    pairs = {
        key: [(measure(one[answer]), measure(two[answer])) for answer in both] for key, measure in MEASURES.items()
    }
    return Agreement(
        grader=grader,
        other=other,
        answers=len(both),
        difference={key: _average(abs(a - b) for a, b in found) for key, found in pairs.items()},
        correlation={key: _correlation(found) for key, found in pairs.items()},
        within_one={key: _average(float(abs(a - b) <= 1) for a, b in found) for key, found in pairs.items()},
    )


def _correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's; None if a grader gave the same everywhere."""
    mean, other_mean = _average(a for a, _ in pairs), _average(b for _, b in pairs)
    covariance = sum((a - mean) * (b - other_mean) for a, b in pairs)
    spread = sum((a - mean) ** 2 for a, _ in pairs) * sum((b - other_mean) ** 2 for _, b in pairs)
    return covariance / spread**0.5 if spread else None


def _average(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def _ratio(parts: Iterable[tuple[float, float]]) -> float:
    listed = list(parts)
    count = sum(part for _, part in listed)
    return sum(part for part, _ in listed) / count if count else 0.0
