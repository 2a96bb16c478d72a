"""Overrides: messages that a caller wants to send as they are."""

from __future__ import annotations

from foveate.budget.profiles import CacheRules
from foveate.budget.window import TokenBudget
from foveate.compiler.compiled import CompiledContext, Made
from foveate.compiler.framing import Framing
from foveate.compiler.reduction import Reduced
from foveate.errors import BudgetError
from foveate.log.events import Body, DiagnosticRecorded
from foveate.log.state import AgentState
from foveate.views.projection import Projection


def overridden(
    state: AgentState, name: str, framing: Framing, timeline: Projection, budget: TokenBudget | None, cache: CacheRules
) -> CompiledContext:
    """The request that is nothing but the override; the history is neither looked at nor reduced."""
    proposed: tuple[Body, ...] = ()
    if budget is not None:
        # What a caller wants to send as it is, is not refused for a doubt.
        correction = timeline.calibration.correction(budget.limit, lenient=True)
        budget = budget.with_used(correction.correct(framing.tokens))
        if budget.over_limit():
            raise BudgetError(
                f"`override` needs {budget.used} tokens but `budget` is {budget.limit}; shorten it or raise `budget`",
                needed=budget.used,
                limit=budget.limit,
            )
        if (most := timeline.calibration.correction(budget.limit).correct(framing.tokens)) > budget.limit:
            proposed = (in_doubt(most, budget.limit),)
    made = Made(name, framing, (), (), Reduced((), (), proposed), budget, None, cache)
    return CompiledContext.of(state, timeline, made, is_verified=False)


def in_doubt(most: int, limit: int) -> DiagnosticRecorded:
    """That a request may be over its budget by the provider's count, as far as reports tell."""
    text = (
        f"the provider may count up to {most} tokens for this request, more than the {limit} of `budget`: its reports "
        "do not tell yet whether it counts more for each token or adds the same to every request; report the usage of "
        "this one, or lower `budget`"
    )
    return DiagnosticRecorded(code="budget_in_doubt", phase="compile", text=text)
