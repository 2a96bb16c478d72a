"""Calls: what every call of a session held and cost, from what was recorded of it; no request is computed again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Final

from sqlalchemy import select

from foveate.budget.economics import call_cost, cheapest_batch
from foveate.budget.profiles import DEFAULT_RULES, CacheRules, profile_for
from foveate.budget.tokens import counter_for
from foveate.compiler.policy import POLICIES, Policy
from foveate.errors import UnknownModelError
from foveate.log.events import CallRecorded
from foveate.log.sections import ContextSection
from foveate.store import SessionInfo, Store
from foveate.store.artifacts import texts
from foveate.store.leafing import CallAccount, Reduction, call_accounts
from foveate.store.rows import event_of, hashes_of
from foveate.store.schema import context_summaries, events
from foveate.web.fates import FATES

_KNOWN: Final = frozenset(
    {"verbatim", "repaired", "superseded", "masked", "trimmed", "folded", "summarised", "recalled", "dropped"}
)
_TOGETHER: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call in numbers; `parts` are the tokens of its window by what they are, and `cost` is of its input.

    `low` is where a compaction comes down to and `pays_at` the size from which a rewrite pays, both None where the
    policy says nothing of it. `untouched` is what the whole history would have been as a request.
    """

    number: int
    turn: int
    time: datetime
    strategy: str
    model: str
    messages: int
    tokens: int
    budget: int | None
    cached: int
    reported_input: int | None
    reported_cached: int | None
    parts: dict[str, int]
    reductions: tuple[Reduction, ...]
    cost: float
    untouched: int
    untouched_cost: float
    low: int | None
    pays_at: int | None
    payload_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The calls of a session, oldest first, and what their costs are counted in."""

    calls: tuple[Call, ...] = ()
    unit: str = "input tokens"
    # Where each is in the tuple: numbers may have gaps.
    places: dict[int, int] = field(default_factory=dict)

    @property
    def cost(self) -> float:
        """What all requests cost."""
        return sum(call.cost for call in self.calls)

    @property
    def untouched_cost(self) -> float:
        """What they would have cost with the whole history in each."""
        return sum(call.untouched_cost for call in self.calls)

    def get(self, number: int) -> Call | None:
        """A call by its number."""
        place = self.places.get(number)
        return self.calls[place] if place is not None else None

    def nearest(self, number: float) -> Call:
        """The call whose number is nearest."""
        return min(self.calls, key=lambda call: abs(call.number - number))

    def beside(self, number: int, step: int) -> Call | None:
        """The call so many places before or behind another."""
        place = self.places.get(number, -1) + step
        return self.calls[place] if number in self.places and 0 <= place < len(self.calls) else None


def calls_of(store: Store, info: SessionInfo) -> Calls:
    """The calls that a session recorded."""
    accounts = call_accounts(store, info)
    beside = _sections(store, info)
    prices = {one.summary.model: _terms(one.summary.model)[1] for one in accounts}
    is_priced = bool(accounts) and all(price is not None for price in prices.values())
    ledger = _Ledger(is_priced=is_priced)
    calls = tuple(ledger.call(one, beside.get(one.summary.number, 0)) for one in accounts)
    return Calls(
        calls=calls,
        unit="USD" if is_priced else "input tokens",
        places={call.number: place for place, call in enumerate(calls)},
    )


class _Ledger:
    """Goes from call to call and keeps account of what they cost."""

    def __init__(self, *, is_priced: bool) -> None:
        self._is_priced = is_priced
        self._previous: Call | None = None
        self._said_at: datetime | None = None
        self._growth = 0
        self._kept = 0

    def call(self, account: CallAccount, beside: int) -> Call:
        summary, previous = account.summary, self._previous
        rules, price = _terms(summary.model)
        each = (price or 0.0) / 1_000_000 if self._is_priced else 1.0
        framing = summary.tokens - sum(size for _, size in summary.fates.values())
        untouched = framing + account.logged if account.logged else summary.tokens
        found = previous.untouched if previous is not None and not self._is_cold(account, rules) else 0
        for reduction in account.reductions:
            self._kept = reduction.after if reduction.trigger != "capped" else self._kept
        low, pays_at = self._marks(account, framing, rules)
        if previous is not None and summary.tokens > previous.tokens:
            grown = summary.tokens - previous.tokens
            self._growth = grown if not self._growth else (self._growth * 7 + grown) // 8
        self._said_at = _said_at(account)
        self._previous = Call(
            number=summary.number,
            turn=account.turn,
            time=account.time,
            strategy=summary.strategy,
            model=summary.model,
            messages=account.messages,
            tokens=summary.tokens,
            budget=summary.budget,
            cached=summary.predicted_cached,
            reported_input=summary.reported_input,
            reported_cached=summary.reported_cached,
            parts=_parts(summary.fates, framing, beside),
            reductions=account.reductions,
            cost=each * call_cost(summary.tokens, summary.predicted_cached, rules),
            untouched=untouched,
            untouched_cost=each * call_cost(untouched, found, rules),
            low=low,
            pays_at=pays_at,
            payload_sha256=summary.payload_sha256,
        )
        return self._previous

    def _is_cold(self, account: CallAccount, rules: CacheRules) -> bool:
        """Whether the provider's cache holds nothing of the call before, by the clock or by another model."""
        if self._previous is None or self._previous.model != account.summary.model:
            return True
        before, now = self._said_at, _said_at(account)
        return before is not None and now is not None and (now - before).total_seconds() > rules.ttl_seconds

    def _marks(self, account: CallAccount, framing: int, rules: CacheRules) -> tuple[int | None, int | None]:
        policy, budget = policy_of(account.summary.strategy), account.summary.budget
        if policy is None or budget is None or policy.low is None:
            return None, None
        low = int(budget * policy.low)
        if policy.patience is None or not self._growth:
            return low, None
        kept = self._kept or low
        batch = cheapest_batch(kept, self._growth, rules) * policy.patience
        # Behind the budget it is never reached: there a compaction must be made.
        return low, int(min(framing + kept + batch, budget))


def policy_of(strategy: str) -> Policy | None:
    """The policy that calls were made with, if it is one of ours as it is."""
    return POLICIES.get(strategy.removeprefix("pipeline:"))


def thinned(calls: Sequence[Call], most: int) -> list[Call]:
    """At most about so many calls of many, evenly, and of those with a compaction as many as go in."""
    if len(calls) <= most:
        return list(calls)
    step = len(calls) / most
    chosen = {round(place * step) for place in range(most)} | {0, len(calls) - 1}
    compactions = [place for place, call in enumerate(calls) if call.reductions]
    # The call before shows from where it came down.
    chosen |= {place + step for place in _some(compactions, most // 2) for step in (-1, 0)}
    return [call for place, call in enumerate(calls) if place in chosen]


def _some(places: Sequence[int], most: int) -> Iterable[int]:
    return places[:: max(1, -(-len(places) // most))]


def _said_at(account: CallAccount) -> datetime | None:
    """When a call was made, by the clock of who made it; None if nobody said."""
    return account.time if account.time != account.summary.recorded_at else None


def _parts(fates: dict[str, tuple[int, int]], framing: int, beside: int) -> dict[str, int]:
    parts = {"system": framing - min(framing, beside), "sections": min(framing, beside)}
    for fate, (_, size) in fates.items():
        # A log is anybody's: a name that is none of ours has no colour and no place of its own.
        name = fate if fate in _KNOWN else "other"
        parts[name] = parts.get(name, 0) + size
    return {name: parts[name] for name in (*FATES, "dropped", "other") if parts.get(name, 0) > 0}


def _sections(store: Store, info: SessionInfo) -> dict[int, int]:
    """For the calls that had sections beside the history, the tokens of those."""
    table = context_summaries
    with store.reading() as connection:
        had = (table.c.session == info.key) & (table.c.sections_included != "[]")
        places = list(connection.scalars(select(table.c.seq).where(had)))
        found: dict[int, int] = {}
        for start in range(0, len(places), _TOGETHER):
            mine = (events.c.session == info.key) & events.c.seq.in_(places[start : start + _TOGETHER])
            rows = connection.execute(select(events).where(mine)).all()
            content = texts(connection, hashes_of(rows))
            for body in (event_of(info.session_id, row, content).body for row in rows):
                found.update(_counted(body))
    return found


def _counted(body: object) -> Iterator[tuple[int, int]]:
    if isinstance(body, CallRecorded):
        yield body.number, sum(_section_tokens(section, body.model) for section in body.sections)


@lru_cache(maxsize=512)
def _section_tokens(section: ContextSection, model: str | None) -> int:
    return counter_for(model).count(f"## {section.name}\n{section.content}")


@lru_cache(maxsize=64)
def _terms(model: str) -> tuple[CacheRules, float | None]:
    """Cache rules of a model, and its price for a million input tokens if that is known."""
    try:
        profile = profile_for(model)
    except UnknownModelError:
        return DEFAULT_RULES, None
    return profile.cache, profile.input_price
