"""Calibration: from our token counts to the provider's, learned from the usage that was recorded with a session.

Two things are learned: `overhead`, what every request holds that the log does not show, and `ratio`, the provider's
tokens for each of ours. Where the recorded input shrinks although nothing left the log, the agent rewrote its history:
what is hidden changes there, so a new stretch with an overhead of its own begins. Estimates use the smallest overhead
of all long stretches: the rest was history from before the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median
from typing import Final, NamedTuple

from foveate.inspect.prompt_cache import Scale

# With fewer calls, or where requests hardly grew, a slope would be noise.
_CALLS: Final = 4
_SPREAD: Final = 1.2
_LOWEST: Final = 0.5
_HIGHEST: Final = 3.0
# So many calls give 19,900 pairs; more would change the median by nothing.
_SAMPLE: Final = 200
# An input that shrinks by less is a matter of counting.
_SHRUNK: Final = 0.03


class CountedRequest(NamedTuple):
    """The tokens of a request by our count, and by the provider's; 0 if the provider's count is not known."""

    counted: int
    reported: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The stretches of a session, as ranges of its requests, the scale of each, and the scale for estimates."""

    stretches: tuple[range, ...]
    scales: tuple[Scale, ...]
    scale: Scale


def calibrate(requests: Sequence[CountedRequest], *, is_exact: bool = False) -> Calibration:
    """The calibration of requests in order; exact ones are known as they were sent, and none hides a rewrite."""
    if not any(one.reported for one in requests):
        return Calibration(stretches=(range(len(requests)),), scales=(Scale(),), scale=Scale())
    stretches = (range(len(requests)),) if is_exact else tuple(_stretches(requests))
    ratio = _ratio([requests[stretch.start : stretch.stop] for stretch in stretches])
    scales = tuple(_scale(requests[stretch.start : stretch.stop], ratio) for stretch in stretches)
    return Calibration(stretches=stretches, scales=scales, scale=_stable(stretches, scales))


def _stretches(requests: Sequence[CountedRequest]) -> Iterator[range]:
    """Runs of requests between which the agent did not rewrite its history."""
    begin = last = 0
    for place, (before, after) in enumerate(pairwise(requests), start=1):
        last = before.reported or last
        is_shorter = bool(after.reported) and after.reported < last * (1 - _SHRUNK)
        if after.counted < before.counted or is_shorter:
            yield range(begin, place)
            begin, last = place, 0
    yield range(begin, len(requests))


def _ratio(stretches: Sequence[Sequence[CountedRequest]]) -> float:
    slopes: list[float] = []
    for stretch in stretches:
        seen = [one for one in stretch if one.reported]
        counts = [one.counted for one in seen]
        if len(seen) < _CALLS or max(counts) < _SPREAD * min(counts):
            continue
        sample = seen[:: -(-len(seen) // _SAMPLE)]
        slopes += [
            (two.reported - one.reported) / (two.counted - one.counted)
            for one, two in combinations(sample, 2)
            if one.counted != two.counted
        ]
    return _bounded(median(slopes)) if slopes else 1.0


def _scale(stretch: Sequence[CountedRequest], ratio: float) -> Scale:
    seen = [one for one in stretch if one.reported and one.counted]
    if not seen:
        return Scale(ratio=ratio)
    overhead = median(one.reported - ratio * one.counted for one in seen)
    if overhead < 0:
        # Nothing hidden takes less than nothing: then each of our tokens is less of theirs.
        return Scale(ratio=_bounded(median(one.reported / one.counted for one in seen)))
    return Scale(overhead=round(overhead), ratio=ratio)


def _stable(stretches: Sequence[range], scales: Sequence[Scale]) -> Scale:
    """The scale with the overhead that was there all the time: the smallest of those that many calls had."""
    most = max(len(stretch) for stretch in stretches)
    long = [scale for stretch, scale in zip(stretches, scales, strict=True) if len(stretch) >= most / 4]
    return min(long, key=lambda scale: scale.overhead)


def _bounded(ratio: float) -> float:
    return min(_HIGHEST, max(_LOWEST, ratio))
