"""What a rewrite of the cached prefix costs, when it pays, how far down to compact."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from foveate.errors import ConfigError

if TYPE_CHECKING:
    from foveate.budget.profiles import CacheRules


class Marks(NamedTuple):
    """Compact when a request exceeds `high`, down to `low`, in one rewrite."""

    high: int
    low: int


def break_even_calls(rewritten: int, saved: int, cache: CacheRules) -> float:
    """After how many more calls a rewrite pays: its cost once over its saving per call."""
    cost = rewritten * (cache.write - cache.read)
    saving = saved * cache.read
    if cost <= 0:
        return 0.0
    return cost / saving if saving > 0 else math.inf


def cheapest_batch(kept: int, growth: int, cache: CacheRules) -> float:
    """By how much a history of `kept` tokens should grow before it is rewritten to `kept` again.

    Growing by M from L costs read·M/2 more per call, rewriting every M/g calls costs (write - read)·L·g/M: together
    least at M = sqrt(2·g·L·(write - read) / read).
    """
    if cache.read <= 0:
        return math.inf
    return math.sqrt(max(0.0, 2 * growth * kept * (cache.write - cache.read) / cache.read))


def call_cost(total: int, hit: int, cache: CacheRules, *, written: int | None = None) -> float:
    """The price of one request, in plain input tokens.

    Args:
        total: all its input tokens.
        hit: those of them that were read from the cache.
        cache: the provider's rules.
        written: those of them that were written to the cache. If nobody counted them, all that was not read was
            written, as a request that is long enough has a mark at its end.

    """
    if written is None and total < cache.minimum_tokens:
        return float(total)
    cached = min(max(hit, 0), total)
    fresh = total - cached
    kept = fresh if written is None else min(max(written, 0), fresh)
    return cached * cache.read + kept * cache.write + (fresh - kept)


def marks(budget: int, floor: int, growth: int, cache: CacheRules | None) -> Marks:
    """The high mark is the budget; the low one keeps all that it can without rewriting too often.

    A history that grows g a call from L to L+M, then is rewritten, costs per call about
    read·(L + M/2) + (write - read)·g·(1 + L/M). For a given L that is least at
    M*(L) = sqrt(2·g·L·(write - read) / read). Price alone would push L to nothing, but L is what
    the model still sees: so L is the largest with M*(L) <= high - L. With
    k = 2·g·(write - read) / read that is L = high + k/2 - sqrt(k·high + k²/4).
    """
    if budget <= 0:
        raise ConfigError(f"`budget` must be 1 token or more, got {budget!r}")
    high = budget - budget // _SAFETY
    lowest = max(floor, budget // 4)
    highest = budget * 7 // 10
    low = max(lowest, min(highest, _low(high, growth, cache)))
    return Marks(high=high, low=min(low, high))


# One percent: less than a message, more than the rounding of corrected counts.
_SAFETY = 100


def _low(high: int, growth: int, cache: CacheRules | None) -> int:
    if cache is None or growth <= 0:
        return high * 6 // 10
    if cache.write <= cache.read:
        return high
    if cache.read <= 0:
        return 0
    k = 2 * growth * (cache.write - cache.read) / cache.read
    return int(high + k / 2 - math.sqrt(k * high + k * k / 4))


def worth_looking_up(*, least: int, most: int, calls: float, cache: CacheRules) -> int:
    """The tokens worth looking up for an input whose turn takes so many calls behind the first one.

    Each doubling finds about as much more, so they are worth as many as they are cheap. A further call reads them
    again, and could find by itself what they would have told it, at the moment when it is needed.
    """
    price = cache.write + calls * cache.read
    cheap = cache.write / price if price > 0 else 1.0
    return least + int(max(0, most - least) * cheap / (1 + calls))


def early_rewrite_cost(*, kept: int, used: int, limit: int, cache: CacheRules) -> float:
    """What it costs to rewrite a history to `kept` tokens before it is at its limit: that part of the next rewrite."""
    early = max(0, limit - used) / max(1, limit - kept)
    return min(1.0, early) * kept * max(0.0, cache.write - cache.read)
