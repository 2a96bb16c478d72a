"""Correction of our token counts by the usage that providers report.

A provider's count of a request is taken for a line: what it adds to any request, such as its own words about tools,
and a ratio to our count, which is that of its tokenizer. One report does not tell them apart; two of requests whose
sizes differ do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from foveate.errors import ConfigError

# Of seventeen kinds of text in eight public vocabularies the one counted highest, Gujarati, took 4.5 times o200k's.
_HIGHEST: Final = 5_000
# The lowest, Amharic, took 0.7 times; what is less than half has left something out.
_LOWEST: Final = 500
# What a provider may add to any request: its own words about tools, definitions that the session was not given.
_HIDDEN: Final = 5_000
_FALL: Final = 8
# In a tiny request the share that a provider leaves out of its count may outweigh the text.
_SMALLEST_SAMPLE: Final = 100
# While requests of one size were reported, a surplus is taken for the tokenizer's up to this ratio: those in use today
# stay below it for nearly all text, and what is beyond it is more often something that was added.
_ASSUMED: Final = 2_000
# A request below this part of the budget says nothing of the ratio: what was added may outweigh it.
_LARGE: Final = 8
# How far apart, in quarters and in tokens, the sizes of requests must be to tell the ratio, and to be sure of it.
_APART: Final = 5
_FAR_APART: Final = 8
_LEAST_APART: Final = 200


class Sample(NamedTuple):
    """What we counted for requests of about one size, and what the provider did."""

    estimated: int
    reported: int


class Correction(NamedTuple):
    """A provider's count as a line over ours: `overhead` tokens, and `ratio` for each thousand of ours.

    Never below our own count: a report may take room away but gives none, so that no report, were it half of the truth,
    carries a request over the budget.
    """

    # Integers: a recorded session must replay to the same bytes everywhere.
    overhead: int = 0
    ratio: int = 1_000

    def correct(self, tokens: int) -> int:
        """What the provider will probably count, rounded up."""
        return max(tokens, self.overhead - -tokens * self.ratio // 1_000) if tokens else 0

    def room(self, limit: int) -> int:
        """The most tokens, by our own count, that are no more than `limit` by the provider's; negative if none are."""
        return min(limit, (limit - self.overhead) * 1_000 // self.ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What was learned from reports: one sample for each size of request, four sizes to a doubling."""

    samples: tuple[Sample, ...] = ()

    def __post_init__(self) -> None:
        for sample in self.samples:
            if sample.estimated < 1 or sample.reported < 1 or is_too_high(*sample):
                raise ConfigError(f"`samples` must be plausible pairs of our count and the provider's, got {sample!r}")

    def observe(self, estimated: int, reported: int) -> Calibration:
        """Learn from one call: up at once, because too low overflows; down by an eighth.

        Nothing is learned from a report that no tokenizer explains: then something else was counted, or left out.
        """
        if estimated < 1 or reported < 1 or is_too_high(estimated, reported) or is_too_low(estimated, reported):
            return self
        size, ratio = _size(estimated), self.correction(0).ratio
        kept = {_size(sample.estimated): sample for sample in self.samples}
        before = kept.get(size)
        expected = before.reported + (estimated - before.estimated) * ratio // 1_000 if before is not None else 0
        kept[size] = newest = _plausible(estimated, _lowered(expected, reported))
        samples = tuple(kept[one] for one in sorted(kept))
        slope = _slope(samples, _APART)
        if slope is not None:
            # Requests of a size that come no more must not be believed forever.
            excess = [max(0, _surplus(one, slope) - _surplus(newest, slope)) for one in samples]
            samples = tuple(
                _plausible(one.estimated, _lowered(one.reported, one.reported - more))
                for one, more in zip(samples, excess, strict=True)
            )
        return Calibration(samples=samples)

    def correction(self, limit: int, *, lenient: bool = False) -> Correction:
        """The line to correct counts by in a budget of `limit` tokens.

        While all reports were of about one size, a surplus may be a ratio or an overhead. It is taken for a ratio, so
        that no request exceeds the budget; `lenient` takes it for an overhead, so that no input is refused for a doubt.
        """
        if not self.samples:
            return Correction()
        largest = self.samples[-1]
        is_large = largest.reported * _LARGE >= limit
        slope = _slope(self.samples, _APART) if is_large else None
        if lenient and (slope is None or _slope(self.samples, _FAR_APART) is None):
            slope = 1_000 if slope is None else min(slope, 1_000)
        elif slope is None:
            whole = -(-largest.reported * 1_000 // largest.estimated)
            slope = max(1_000, min(whole, _ASSUMED)) if is_large else 1_000
        return Correction(max(0, *(_surplus(sample, slope) for sample in self.samples)), slope)


def is_too_high(estimated: int, reported: int) -> bool:
    """Whether a report is more than any tokenizer makes of a request, with all that a provider adds to it."""
    return reported * 1_000 > estimated * _HIGHEST + _HIDDEN * 1_000


def is_too_low(estimated: int, reported: int) -> bool:
    """Whether a report is less than any tokenizer makes of a request."""
    return estimated >= _SMALLEST_SAMPLE and reported * 1_000 < estimated * _LOWEST


def _size(estimated: int) -> tuple[int, int]:
    """Which size a request is of: its highest bit, and the two below that."""
    bits = estimated.bit_length()
    return bits, estimated >> max(0, bits - 3)


def _plausible(estimated: int, reported: int) -> Sample:
    """A sample within the bounds of what is learned from, to which an earlier one need not carry over exactly."""
    highest = estimated * _HIGHEST // 1_000 + _HIDDEN
    return Sample(estimated, max(1, min(reported, highest)))


def _surplus(sample: Sample, slope: int) -> int:
    return sample.reported - sample.estimated * slope // 1_000


def _lowered(expected: int, reported: int) -> int:
    """A new report where an earlier one lets expect another."""
    return reported if reported >= expected else expected - -(-(expected - reported) // _FALL)


def _slope(samples: tuple[Sample, ...], quarters: int) -> int | None:
    """The ratio by least squares, if the sizes are far enough apart to show it."""
    if not samples:
        return None
    first, last = samples[0].estimated, samples[-1].estimated
    if last * 4 < first * quarters or last - first < _LEAST_APART:
        return None
    count, ours = len(samples), sum(one.estimated for one in samples)
    theirs = sum(one.reported for one in samples)
    products = sum(one.estimated * one.reported for one in samples)
    squares = sum(one.estimated**2 for one in samples)
    slope = -(-(count * products - ours * theirs) * 1_000 // (count * squares - ours**2))
    # A provider adds to a request but takes nothing away: no ratio is higher than that of a whole report.
    whole = max(-(-one.reported * 1_000 // one.estimated) for one in samples)
    return max(_LOWEST, min(slope, whole, _HIGHEST))
