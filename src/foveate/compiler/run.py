"""The compile: one screen from a state to the request a model sees."""

from __future__ import annotations

from dataclasses import dataclass

from foveate.budget.profiles import DEFAULT_RULES, CacheRules
from foveate.budget.tokens import TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.framing import framing_of
from foveate.compiler.limits import low_mark, room_for_messages
from foveate.compiler.override import overridden
from foveate.compiler.policy import CompactWhen, Policy
from foveate.compiler.reducer import Reducer
from foveate.compiler.reduction import Reduced
from foveate.compiler.triggers import Sizes, decide
from foveate.compiler.verify import verify
from foveate.errors import BudgetError
from foveate.log.state import AgentState
from foveate.views.timeline import timeline_of, with_recalled


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that decides a compile besides the state; without a `budget` nothing is ever reduced."""

    name: str
    counter: TokenCounter
    policy: Policy
    budget: TokenBudget | None = None
    cache: CacheRules = DEFAULT_RULES
    compact_when: CompactWhen | None = None
    recall_tool: str | None = None


def run(state: AgentState, plan: Plan) -> CompiledContext:
    """Compile a state: fold the log, decide, reduce if due, check, hand over."""
    timeline = timeline_of(state.context, plan.counter)
    framing = framing_of(state, plan.counter)
    if state.override is not None:
        return overridden(state, plan.name, framing, timeline, plan.budget, plan.cache)
    items = with_recalled(timeline.mender.projected(), state.recalled)
    correct = timeline.calibration.correct
    budget = plan.budget and plan.budget.with_used(correct(framing.tokens + timeline.tokens_of(items)))
    decision, reduced = None, Reduced(items)
    if budget is not None:
        low = low_mark(timeline, framing, budget, plan.cache, plan.policy)
        sizes = Sizes(timeline.tokens_of(items), low, room_for_messages(timeline, framing, budget))
        reducer = Reducer(state, timeline, framing, budget, plan.policy, plan.recall_tool)
        if plan.policy.shares.output < 1:
            decision, reduced = reducer.capped(items, sizes)
            sizes = sizes._replace(used=timeline.tokens_of(reduced.items))
            budget = budget.with_used(correct(framing.tokens + sizes.used))
        asked = plan.compact_when is not None and plan.compact_when(state, state.context.messages, budget)
        own = plan.policy.when(timeline, budget) if plan.policy.when is not None else None
        patience, now = plan.policy.patience, state.now
        found = decide(timeline, budget, sizes, plan.cache, now=now, patience=patience, asked=asked, due=own)
        if found is not None:
            decision, reduced = found, reducer.reduced(items, reduced, sizes, found)
            budget = budget.with_used(correct(framing.tokens + timeline.tokens_of(reduced.items)))
    if budget is not None and budget.over_limit():
        raise BudgetError(
            f"the passes left {budget.used} tokens in a budget of {budget.limit}; "
            "end `passes` with `Truncate()` or raise `budget`",
            needed=budget.used,
            limit=budget.limit,
        )
    verify(reduced.items, timeline, budget, rearranged=reduced.items is not items)
    return CompiledContext.of(state, plan.name, framing, timeline, items, reduced, budget, decision, plan.cache)
