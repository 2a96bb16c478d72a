"""What if: what the recorded calls of a session would have taken at other budgets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from foveate.budget.economics import call_cost
from foveate.budget.profiles import DEFAULT_RULES, known_profile
from foveate.gateway.twin import Twin, TwinCall
from foveate.session.session import Session
from foveate.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOutcome:
    """All calls of a session at one budget; `cost` is in plain input tokens, with what is cached as it is charged.

    `impossible` are calls whose newest part alone is over the budget.
    """

    budget: int
    tokens: int
    largest: int
    rewrites: int
    cost: float
    impossible: int


def at_budgets(store: Store, session: str, budgets: Iterable[int]) -> list[BudgetOutcome]:
    """What a session's calls would have taken at each budget, by the prices of its own model."""
    store.session(session)
    with Session.open(store, session) as opened:
        context = opened.context
    profile = known_profile(context.model) if context.model else None
    rules = profile.cache if profile is not None else DEFAULT_RULES
    outcomes: list[BudgetOutcome] = []
    for budget in budgets:
        twin = Twin(budget, profile)
        twin.follow(context)
        sent = [one for one in twin.calls if one.tokens is not None]
        outcomes.append(
            BudgetOutcome(
                budget=budget,
                tokens=sum(_tokens(one) for one in sent),
                largest=max((_tokens(one) for one in sent), default=0),
                rewrites=sum(bool(one.trigger) for one in sent),
                cost=sum(call_cost(_tokens(one), min(one.cached, _tokens(one)), rules) for one in sent),
                impossible=len(twin.calls) - len(sent),
            )
        )
    return outcomes


def _tokens(call: TwinCall) -> int:
    return call.tokens or 0
