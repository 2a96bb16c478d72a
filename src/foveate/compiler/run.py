"""The compile: one screen from a state to the request a model sees."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foveate.budget.calibrate import Correction
from foveate.budget.profiles import DEFAULT_RULES, CacheRules
from foveate.budget.tokens import TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compiler.compiled import CompiledContext, Made, sent_before
from foveate.compiler.framing import framing_of
from foveate.compiler.limits import check_fit, check_room, low_mark
from foveate.compiler.override import in_doubt, overridden
from foveate.compiler.policy import CompactWhen, Policy
from foveate.compiler.reducer import Reducer
from foveate.compiler.triggers import Sizes, asked_sizes, decide
from foveate.compiler.verify import verify
from foveate.errors import BudgetError
from foveate.invariants import KeptTurns
from foveate.log.state import AgentState
from foveate.views.projection import Projection, with_recalled
from foveate.views.projector import projection_of


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
    timeline = projection_of(state.context, state.projection, plan.counter)
    limit = plan.budget.limit if plan.budget is not None else 0
    strict = timeline.calibration.correction(limit)
    lenient = timeline.calibration.correction(limit, lenient=True)
    try:
        return _run(state, plan, timeline, strict)
    except BudgetError:
        if lenient == strict:
            raise
    # The past is reduced for a doubt about what the provider counts, but no input is refused for it.
    view = _run(state, plan, timeline, lenient)
    return replace(view, proposed=(*view.proposed, in_doubt(strict.correct(view.tokens), limit)))


def _run(state: AgentState, plan: Plan, timeline: Projection, correction: Correction) -> CompiledContext:
    reducer = Reducer(state, timeline, plan.policy, plan.recall_tool)
    state, framed = reducer.beside()
    framing = framing_of(state, plan.counter, timeline.prefix)
    if state.override is not None:
        return overridden(state, plan.name, framing, timeline, plan.budget, plan.cache)
    items = with_recalled(timeline.mender.projected, state.recalled)
    correct = correction.correct
    budget = plan.budget and plan.budget.with_used(correct(framing.tokens + timeline.tokens_of(items)))
    sizes = None
    if budget is not None:
        limit = correction.room(budget.limit)
        low = low_mark(timeline, framing, limit, plan.cache, plan.policy)
        sizes = Sizes(timeline.tokens_of(items), low, limit - framing.tokens)
    decision, requested = reducer.requested(items, sizes)
    reduced, kept = requested, KeptTurns()
    if budget is not None and sizes is not None:
        if reduced.items is not items:
            sizes = sizes._replace(used=timeline.tokens_of(reduced.items))
            budget = budget.with_used(correct(framing.tokens + sizes.used))
        kept = reducer.kept(reduced.items, sizes.room)
        sizes = sizes._replace(low=max(sizes.low, min(kept.tokens, sizes.room)))
        asked = plan.compact_when is not None and plan.compact_when(state, state.context.messages, budget)
        own = plan.policy.when(timeline, budget) if plan.policy.when is not None else None
        patience, now = plan.policy.patience, state.now
        if own is None and not budget.over_limit() and (asked or budget.should_compact()):
            sizes = asked_sizes(timeline, budget, sizes, framing.tokens, correction)
        found = decide(timeline, budget, sizes, plan.cache, now=now, patience=patience, asked=asked, due=own)
        if found is not None:
            check_room(sizes.room, timeline, framing, budget, correction)
            decision, reduced = found, reducer.reduced(items, reduced, sizes, found, kept)
            budget = budget.with_used(correct(framing.tokens + timeline.tokens_of(reduced.items)))
    free = None
    if budget is not None:
        check_fit(requested.items, reduced.items, framing, budget, correction)
        free = correction.room(budget.limit) - framing.tokens - timeline.tokens_of(reduced.items)
    rules = plan.policy.rules
    prefix = sent_before(reduced.items, timeline)
    verify(reduced, timeline, budget, room=free, prefix=prefix, rules=rules, kept=kept.ids)
    reduced = reduced._replace(proposed=(*framed, *reduced.proposed))
    made = Made(plan.name, framing, items, requested.items, reduced, budget, decision, plan.cache)
    return CompiledContext.of(state, timeline, made, is_verified=True)
