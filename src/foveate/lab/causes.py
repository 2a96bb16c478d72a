"""Causes: why the cached share that was recorded is not the one that was simulated, found by rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from foveate.lab.cache import Charge

CLOSE: Final = 0.05

# So many calls that all report nothing are no chance.
_SILENT: Final = 5
_FEW: Final = 5
# Of a call's tokens: what differs by less is a matter of counting.
_APART: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One call as it was recorded beside as it was simulated; `rewrote` if the agent had just rewritten its history."""

    input_tokens: int
    cached_tokens: int | None
    charge: Charge
    rewrote: bool
    first: bool

    @property
    def surplus(self) -> float:
        """The cached tokens by which the simulation is above the record, on the recorded scale."""
        share = self.charge.cached / self.charge.tokens if self.charge.tokens else 0.0
        return share * self.input_tokens - (self.cached_tokens or 0)


def is_silent(compared: Sequence[Compared]) -> bool:
    """Whether the provider keeps no cache or does not tell: nothing found, however many calls."""
    return len(compared) >= _SILENT and not any(one.cached_tokens for one in compared)


def cause_of(compared: Sequence[Compared], recorded: float | None, simulated: float | None) -> str:
    """Why the shares are apart, in one sentence; "" if they are not."""
    if recorded is None or simulated is None:
        told = [one for one in compared if one.cached_tokens is not None]
        return f"none of {len(told)} calls reports cached tokens: no cache there, or no word of it" if told else ""
    if abs(recorded - simulated) <= CLOSE:
        return ""
    sign = 1 if simulated > recorded else -1
    weights: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for one in compared:
        if sign * one.surplus > _APART * one.input_tokens:
            weights[_reason(one)] += round(sign * one.surplus)
            calls[_reason(one)] += 1
    if not weights:
        return "no single call: small differences of all calls add up"
    reason = weights.most_common(1)[0][0]
    few = f"; of {len(compared)} calls each weighs much" if len(compared) < _FEW else ""
    return f"{calls[reason]} of {len(compared)} calls {reason}{few}"


def _reason(one: Compared) -> str:
    if one.first:
        return f"began the session with {'less' if one.surplus > 0 else 'more'} in the cache than was expected"
    if one.charge.cause == "model":
        return "went to another model, which knew more or less of the session than was expected"
    if one.rewrote:
        return "followed a rewrite of the history by the agent, which the log shows in part"
    if one.surplus > 0:
        return "found less than was there: the prefix was unchanged and in time, the provider missed it"
    if one.charge.cause == "expired":
        return "found what should have expired: the provider kept it longer than it promises"
    return "found more than the request before had: another session sent the same"
