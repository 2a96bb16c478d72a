"""Costs: what a recorded session cost, and what it would have cost with the whole history in every request.

There is one rule for each number, on every surface:

- A call is a request that Foveate recorded; in the log of another agent, a request that a response answered.
- What the provider reported for a call counts. A recorded request without a report counts as it was predicted: our
  count, scaled by what the session's reports say of it, and the prefix that was expected in the cache.
- Input is charged at the list price of the call's own model: what was read from the cache, what was written to it, the
  rest. If nobody counted what was written, all that was not read was.
- The untouched history is every message by then behind the same framing, on the same scale. It finds the request
  before it in the cache unless that has expired, and the first call finds what it was reported to have found.
- If the price of one call's model is not known, all costs of the session are in input tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from foveate.importers.entries import Usage
from foveate.inspect.calibration import Calibration, CountedRequest, calibrate
from foveate.inspect.model_calls import ChargedCall, SentCall
from foveate.inspect.prompt_cache import GrowingHistoryCache, Scale
from foveate.inspect.rates import Rates, RequestCost, Unit, request_cost


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCost:
    """One call: as it was sent, None if the log does not tell, and as it would have been with the whole history.

    `is_reported` says whether the provider counted it.
    """

    number: int
    sent: RequestCost | None
    untouched: RequestCost
    is_reported: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCosts:
    """The costs of a session, call by call; `scale` leads from our count of a request to its provider's."""

    unit: Unit = "input tokens"
    calls: tuple[CallCost, ...] = ()
    scale: Scale = field(default_factory=Scale)

    @property
    def sent(self) -> RequestCost:
        """All calls as they were sent; those of which nothing is known are left out."""
        return RequestCost.total(call.sent for call in self.calls if call.sent is not None)

    @property
    def untouched(self) -> RequestCost:
        """All calls with the whole history in each."""
        return RequestCost.total(call.untouched for call in self.calls)

    @property
    def reported_calls(self) -> int:
        """How many calls the provider's report is known of."""
        return sum(call.is_reported for call in self.calls)

    @property
    def dollars(self) -> dict[int, float]:
        """The dollars of each call as it was sent, by its number; none where prices are not known."""
        if self.unit != "USD":
            return {}
        return {call.number: call.sent.cost for call in self.calls if call.sent is not None}

    def as_dict(self) -> dict[str, Any]:
        """The sums as plain data."""
        return {
            "calls": len(self.calls),
            "known_calls": self.known_calls,
            "reported_calls": self.reported_calls,
            "unit": self.unit,
            "sent": self.sent.as_dict(),
            "untouched": self.untouched.as_dict(),
            "overhead": self.scale.overhead,
            "ratio": self.scale.ratio,
        }

    @property
    def known_calls(self) -> int:
        """How many calls `sent` covers."""
        return sum(call.sent is not None for call in self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedCall:
    """A call as far as costs need it, its sizes by our count.

    `framing` are the tokens beside the history, such as system prompt and tools. `predicted_cached` are the tokens
    expected in the cache; None if nobody predicted it, and then the request is known only as far as the log shows it.
    """

    number: int
    at: float | None
    model: str
    usage: Usage | None
    sent: int
    untouched: int
    framing: int = 0
    predicted_cached: int | None = None


def calibrate_calls(calls: Sequence[CountedCall]) -> Calibration:
    """The calibration that the reports of a session's calls give."""
    reported = [call.usage.input_tokens if call.usage is not None else 0 for call in calls]
    counted = [CountedRequest(call.sent, tokens) for call, tokens in zip(calls, reported, strict=True)]
    return calibrate(counted, is_exact=all(call.predicted_cached is not None for call in calls))


def warm_start(calls: Sequence[ChargedCall]) -> int:
    """What the first call was reported to find in the cache: an earlier session left it, and others keep it warm."""
    first = calls[0].usage if calls else None
    return (first.cached_tokens or 0) if first is not None else 0


def session_costs(calls: Sequence[CountedCall]) -> SessionCosts:
    """The costs of a session."""
    if not calls:
        return SessionCosts()
    basis = _Basis.of(calls)
    untouched = untouched_costs(calls, basis.rates, basis.scale, is_priced=basis.unit == "USD")
    return SessionCosts(
        unit=basis.unit,
        calls=tuple(
            CallCost(number=call.number, sent=basis.sent(call), untouched=whole, is_reported=call.usage is not None)
            for call, whole in zip(calls, untouched, strict=True)
        ),
        scale=basis.scale,
    )


def sent_cost(calls: Sequence[CountedCall]) -> tuple[Unit, RequestCost | None]:
    """The cost of a session as it was sent, None if its log tells of no call; and what that is counted in."""
    basis = _Basis.of(calls)
    known = [cost for cost in map(basis.sent, calls) if cost is not None]
    return basis.unit, RequestCost.total(known) if known else None


def untouched_costs(
    calls: Sequence[CountedCall], rates: Rates, scale: Scale, *, is_priced: bool = True
) -> list[RequestCost]:
    """For each call, the cost of the whole history by then."""
    cache = GrowingHistoryCache(scale, warm=min(warm_start(calls), scale.of(calls[0].framing)))
    found: list[RequestCost] = []
    for call in calls:
        profile = rates.profile(call.model)
        ttl = call.usage.ttl_seconds if call.usage is not None and rates.is_same_provider else None
        sent = cache.send(call.untouched, profile, model=call.model, at=call.at, ttl=ttl)
        found.append(request_cost(sent.tokens, sent.cached, profile, is_priced=is_priced))
    return found


def sent_costs(
    calls: Sequence[CountedCall], rates: Rates, scale: Scale, *, is_priced: bool = True
) -> list[RequestCost | None]:
    """For each call its cost as it was sent; None where the log does not tell, and at another provider's rates."""
    if not rates.is_same_provider:
        return [None] * len(calls)
    basis = _Basis(rates=rates, scale=scale, unit="USD" if is_priced else "input tokens")
    return list(map(basis.sent, calls))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Basis:
    """What the costs of a session's calls are computed from."""

    rates: Rates
    scale: Scale
    unit: Unit

    @classmethod
    def of(cls, calls: Sequence[CountedCall]) -> _Basis:
        rates = Rates.of_calls(calls)
        is_priced = rates.is_priced(call.model for call in calls)
        return cls(rates=rates, scale=calibrate_calls(calls).scale, unit="USD" if is_priced else "input tokens")

    def sent(self, call: CountedCall) -> RequestCost | None:
        """The cost of a call as it was sent."""
        usage, is_priced = call.usage, self.unit == "USD"
        predicted = self.scale.of(call.predicted_cached) if call.predicted_cached else 0
        if usage is not None:
            profile = self.rates.profile_of_usage(call.model, usage)
            cached = usage.cached_tokens if usage.cached_tokens is not None else predicted
            return request_cost(usage.input_tokens, cached, profile, written=usage.written_tokens, is_priced=is_priced)
        if call.predicted_cached is None:
            return None
        profile = self.rates.profile(call.model)
        return request_cost(self.scale.of(call.sent), predicted, profile, is_priced=is_priced)


def count_calls(
    calls: Sequence[SentCall], sizes: Sequence[int], compactions: Iterable[tuple[int, int]], *, framing: int
) -> list[CountedCall]:
    """The calls of a recording as costs need them.

    Args:
        calls: in order; the place of each is the number of messages before it.
        sizes: the tokens of each message.
        compactions: where the recorded agent put a text in the place of everything before, and the tokens of that text.
        framing: the tokens beside the messages in every request, such as system prompt and tools.

    """
    said = [0, *accumulate(sizes)]
    due, since, instead = list(compactions), 0, 0
    found: list[CountedCall] = []
    for number, call in enumerate(calls, start=1):
        request = call.request
        while due and due[0][0] <= call.place:
            since, instead = due.pop(0)
        found.append(
            CountedCall(
                number=number if request is None else request.number,
                at=call.at,
                model=call.model,
                usage=call.usage,
                sent=framing + instead + said[call.place] - said[since] if request is None else request.tokens,
                untouched=framing + said[call.place] if request is None else request.untouched,
                framing=framing if request is None else request.framing,
                predicted_cached=None if request is None else request.predicted_cached,
            )
        )
    return found
