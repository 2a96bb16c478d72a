"""Charges: what one request and its answer cost, by the model's prices."""

from __future__ import annotations

from foveate.budget.economics import call_cost
from foveate.budget.profiles import ModelProfile


def reply_cost(
    profile: ModelProfile, *, read: int, cached: int = 0, written: int = 0, answered: int = 0
) -> float | None:
    """The cost in dollars; None if a price is not known.

    Args:
        profile: the model.
        read: all input tokens.
        cached: those of them that came from the provider's cache.
        written: those of them that were written to it.
        answered: the output tokens.

    """
    if profile.input_price is None or profile.output_price is None:
        return None
    charged = call_cost(read, cached, profile.cache, written=written)
    return (charged * profile.input_price + answered * profile.output_price) / 1e6
