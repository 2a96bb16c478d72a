"""Overrides: messages that a caller wants to send as they are."""

from __future__ import annotations

from foveate.budget.profiles import CacheRules
from foveate.budget.window import TokenBudget
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.framing import Framing
from foveate.compiler.reduction import Reduced
from foveate.errors import BudgetError
from foveate.log.state import AgentState
from foveate.views.timeline import Timeline


def overridden(
    state: AgentState, name: str, framing: Framing, timeline: Timeline, budget: TokenBudget | None, cache: CacheRules
) -> CompiledContext:
    """The request that is nothing but the override; the history is neither looked at nor reduced."""
    if budget is not None:
        budget = budget.with_used(timeline.calibration.correct(framing.tokens))
        if budget.over_limit():
            raise BudgetError(
                f"`override` needs {budget.used} tokens but `budget` is {budget.limit}; shorten it or raise `budget`",
                needed=budget.used,
                limit=budget.limit,
            )
    return CompiledContext.of(state, name, framing, timeline, [], Reduced([]), budget, None, cache)
