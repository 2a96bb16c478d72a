"""The window over time: what each call of a session was made of, what it cost, and where its policy compacts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from foveate.budget.economics import cheapest_batch
from foveate.budget.profiles import DEFAULT_RULES
from foveate.compile.policy import POLICIES
from foveate.inspect.calls import Call, Reduction, read_calls, section_tokens
from foveate.inspect.costs import SessionCosts, session_costs
from foveate.inspect.fates import window_parts
from foveate.inspect.rates import RequestCost, Unit, model_profile
from foveate.inspect.session_costs import counted_calls
from foveate.log.events import ON_REQUEST
from foveate.store import SessionInfo, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One call in the history of a session.

    Args:
        call: what was recorded of it.
        parts: the tokens of its window by what they are, see `foveate.inspect.fates.PARTS`.
        sent: its input and cost, as reported or else predicted.
        untouched: the same with the whole history in the request.
        is_reported: whether the provider counted it.
        low_mark: where a compaction comes down to; None if the policy does not say.
        pays_at: the size of the request from which a rewrite pays; None if the policy does not heed prices.

    """

    call: Call
    parts: dict[str, int]
    sent: RequestCost
    untouched: RequestCost
    is_reported: bool = False
    low_mark: int | None = None
    pays_at: int | None = None

    @property
    def number(self) -> int:
        """The number of the call."""
        return self.call.number


@dataclass(frozen=True, slots=True, kw_only=True)
class CallHistory:
    """All calls of a session, oldest first; `unit` is what their costs are counted in."""

    entries: tuple[HistoryEntry, ...] = ()
    unit: Unit = "input tokens"
    # Where each is in the tuple: numbers may have gaps.
    _places: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Sequence[HistoryEntry], unit: Unit) -> CallHistory:
        """The history of entries in order."""
        return cls(
            entries=tuple(entries), unit=unit, _places={entry.number: place for place, entry in enumerate(entries)}
        )

    @property
    def sent(self) -> RequestCost:
        """All requests as they were sent."""
        return RequestCost.total(entry.sent for entry in self.entries)

    @property
    def untouched(self) -> RequestCost:
        """All requests with the whole history in each."""
        return RequestCost.total(entry.untouched for entry in self.entries)

    def get(self, number: int) -> HistoryEntry | None:
        """A call by its number."""
        place = self._places.get(number)
        return self.entries[place] if place is not None else None

    def nearest(self, number: float) -> HistoryEntry:
        """The call whose number is nearest."""
        return min(self.entries, key=lambda entry: abs(entry.number - number))

    def beside(self, number: int, step: int) -> HistoryEntry | None:
        """The call so many places before or behind another."""
        place = self._places.get(number, -1) + step
        return self.entries[place] if number in self._places and 0 <= place < len(self.entries) else None

    def triggers(self) -> Counter[str]:
        """How many reductions each trigger caused."""
        return Counter(reduction.trigger for entry in self.entries for reduction in entry.call.reductions)


def read_call_history(store: Store, info: SessionInfo, costs: SessionCosts | None = None) -> CallHistory:
    """The history of a session's recorded calls; `costs` are given if they are not those of the record."""
    calls = read_calls(store, info)
    sections = section_tokens(store, info, calls)
    costs = costs or session_costs(counted_calls(calls))
    marks = _Marks()
    return CallHistory.of(
        [
            HistoryEntry(
                call=call,
                parts=window_parts(call.fates, call.framing_tokens, sections.get(call.number, 0)),
                sent=cost.sent or RequestCost(tokens=call.tokens),
                untouched=cost.untouched,
                is_reported=cost.is_reported,
                **dict(zip(("low_mark", "pays_at"), marks.of(call), strict=True)),
            )
            for call, cost in zip(calls, costs.calls, strict=True)
        ],
        costs.unit,
    )


class _Marks:
    """Follows what a history grows by and what compactions leave of it, from which the marks of each call follow."""

    def __init__(self) -> None:
        self._previous: Call | None = None
        self._growth = 0
        self._kept = 0

    def of(self, call: Call) -> tuple[int | None, int | None]:
        """The low mark of a call, and the size from which a rewrite pays."""
        for reduction in call.reductions:
            self._kept = self._after(reduction)
        found = self._marks(call)
        if self._previous is not None and call.tokens > self._previous.tokens:
            grown = call.tokens - self._previous.tokens
            self._growth = grown if not self._growth else (self._growth * 7 + grown) // 8
        self._previous = call
        return found

    def _after(self, reduction: Reduction) -> int:
        return reduction.after if reduction.trigger not in ON_REQUEST else self._kept

    def _marks(self, call: Call) -> tuple[int | None, int | None]:
        policy = POLICIES.get(call.policy)
        if policy is None or call.budget is None or policy.low is None:
            return None, None
        low = int(call.budget * policy.low)
        if policy.patience is None or not self._growth:
            return low, None
        profile = model_profile(call.model)
        rules = profile.cache if profile is not None else DEFAULT_RULES
        kept = self._kept or low
        batch = cheapest_batch(kept, self._growth, rules) * policy.patience
        # Behind the budget it is never reached: there a compaction must be made.
        return low, int(min(call.framing_tokens + kept + batch, call.budget))
