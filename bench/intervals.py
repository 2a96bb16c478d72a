"""Intervals over sessions, and which points nothing beats on both counts."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

LEVEL = 0.95


def ratio_interval(
    parts: Sequence[tuple[float, float]], *, seed: int = 7, resamples: int = 1_000
) -> tuple[float, float]:
    """Where sum(a) / sum(b) lies in 95 of 100 bootstrap samples of the parts (a, b); (0, 0) if there are none."""
    random = Random(seed)
    drawn = (random.choices(parts, k=len(parts)) for _ in range(resamples)) if parts else ()
    return _middle([ratio for ratio in map(_ratio, drawn) if ratio is not None])


def difference_interval(
    pairs: Sequence[tuple[tuple[float, float], tuple[float, float]]], *, seed: int = 7, resamples: int = 1_000
) -> tuple[float, float]:
    """Where one such ratio less another lies, of pairs (a, b), (c, d) that are drawn together; (0, 0) without any."""
    random = Random(seed)
    drawn = (random.choices(pairs, k=len(pairs)) for _ in range(resamples)) if pairs else ()
    ratios = ((_ratio([one for one, _ in each]), _ratio([other for _, other in each])) for each in drawn)
    return _middle([one - other for one, other in ratios if one is not None and other is not None])


def pareto(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For each point (cost, kept), whether no other costs no more and keeps no less, with one of them better."""
    return [not any(_beats(other, point) for other in points) for point in points]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of a list does not exceed; 0 for an empty list."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0.0


def _middle(values: Sequence[float]) -> tuple[float, float]:
    """Between which two values 95 of 100 lie."""
    if not values:
        return 0.0, 0.0
    ranked = sorted(values)
    tail = (1 - LEVEL) / 2
    return ranked[int(tail * len(ranked))], ranked[min(len(ranked) - 1, int((1 - tail) * len(ranked)))]


def _ratio(parts: Sequence[tuple[float, float]]) -> float | None:
    whole = sum(b for _, b in parts)
    return sum(a for a, _ in parts) / whole if whole else None


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[0] and one[1] >= other[1] and one != other
