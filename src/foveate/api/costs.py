"""Costs: what the input of calls was charged at, where the price of the model is known."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Final

from sqlalchemy import select

from foveate.budget.economics import call_cost
from foveate.budget.profiles import ModelProfile, profile_for
from foveate.errors import UnknownModelError
from foveate.store import Store
from foveate.store.schema import context_summaries
from foveate.store.summaries import strategy_and_model

_TOGETHER: Final = 500


def input_cost(
    model: str, tokens: int, predicted: int, reported: int | None, reported_cached: int | None
) -> float | None:
    """The cost of one request in dollars: as the provider counted it, or else as predicted; None without a price."""
    profile = _priced(model)
    if profile is None or profile.input_price is None:
        return None
    total = tokens if reported is None else reported
    hit = predicted if reported_cached is None else reported_cached
    return profile.input_price / 1e6 * call_cost(total, hit, profile.cache)


def input_costs(store: Store, sessions: Collection[int]) -> dict[int, float | None]:
    """What the input of all calls of sessions cost, by their keys; None where a call's price is not known."""
    table = context_summaries
    named = (table.c.session, table.c.template_name, table.c.model_alias, table.c.input_payload)
    counted = (table.c.budget_used, table.c.predicted_cached, table.c.reported_input, table.c.reported_cached)
    query = select(*named, *counted)
    costs: dict[int, float | None] = {}
    keys = list(sessions)
    with store.reading() as connection:
        for start in range(0, len(keys), _TOGETHER):
            for key, name, alias, payload, *call in connection.execute(
                query.where(table.c.session.in_(keys[start : start + _TOGETHER]))
            ):
                # Not who wrote a summary that is in the request: who read it.
                _, model = strategy_and_model(name, alias, payload)
                cost, known = input_cost(model, *call), costs.get(key, 0.0)
                costs[key] = None if cost is None or known is None else known + cost
    return costs


@lru_cache(maxsize=256)
def _priced(model: str) -> ModelProfile | None:
    try:
        return profile_for(model)
    except UnknownModelError:
        return None
