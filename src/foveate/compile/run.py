"""The compile: one screen from a state to the request a model sees."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foveate.budget.calibrate import Correction
from foveate.budget.profiles import DEFAULT_RULES, CacheRules
from foveate.budget.tokens import TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compile.compiled import CompiledContext, Made, in_doubt, overridden, sent_before
from foveate.compile.framing import framing_of
from foveate.compile.policy import CompactWhen, Policy
from foveate.compile.projection import Projection, with_recalled
from foveate.compile.reducer import NOTHING_KEPT, Reducer, stray_pin
from foveate.compile.reduction import verify
from foveate.compile.timeline import projection_of
from foveate.compile.triggers import Sizes, asked_sizes, check_fit, check_room, decide, low_mark
from foveate.errors import BudgetError
from foveate.log.state import AgentState


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
    try:
        return _run(state, plan, timeline, strict)
    except BudgetError:
        lenient = timeline.calibration.correction(limit, lenient=True)
        if lenient == strict:
            raise
    # The past is reduced for a doubt about what the provider counts, but no input is refused for it.
    view = _run(state, plan, timeline, lenient)
    return replace(view, proposed=(*view.proposed, in_doubt(strict.correct(view.tokens), limit)))


def _run(state: AgentState, plan: Plan, timeline: Projection, correction: Correction) -> CompiledContext:
    policy = plan.policy
    reducer = Reducer(state, timeline, policy, plan.recall_tool)
    state, framed = reducer.beside()
    framing = framing_of(state, plan.counter, timeline.prefix)
    if state.override is not None:
        return overridden(state, plan.name, framing, timeline, plan.budget, plan.cache)
    items = with_recalled(timeline.mender.projected, state.recalled)
    used = timeline.tokens_of(items)
    budget, sizes = plan.budget, None
    if budget is not None:
        budget = budget.with_used(correction.correct(framing.tokens + used))
        limit = correction.room(budget.limit)
        low = low_mark(timeline, framing, limit, plan.cache, policy, reducer.owed)
        sizes = Sizes(used, low, limit - framing.tokens)
    decision, requested = reducer.requested(items, sizes)
    reduced, kept = requested, NOTHING_KEPT
    if budget is not None and sizes is not None:
        if reduced.items is not items:
            sizes = sizes._replace(used=timeline.tokens_of(reduced.items))
            budget = budget.with_used(correction.correct(framing.tokens + sizes.used))
        kept = reducer.kept(reduced.items, sizes.room)
        sizes = sizes._replace(low=max(sizes.low, min(kept.tokens, sizes.room)))
        asked = plan.compact_when is not None and plan.compact_when(state, state.context.messages, budget)
        asked = asked or budget.should_compact()
        due = policy.when(timeline, budget) if policy.when is not None else None
        if asked and due is None and not budget.over_limit():
            sizes = asked_sizes(timeline, budget, sizes, framing.tokens, correction)
        found = decide(
            timeline, budget, sizes, plan.cache, now=state.now, patience=policy.patience, asked=asked, due=due
        )
        used = sizes.used
        if found is not None:
            check_room(sizes.room, reducer.owed, framing, budget, correction)
            decision, reduced = found, reducer.reduced(items, reduced, sizes, found, kept)
            used = timeline.tokens_of(reduced.items)
            budget = budget.with_used(correction.correct(framing.tokens + used))
        check_fit(requested.items, reduced.items, framing, budget, correction)
    prefix = sent_before(reduced.items, timeline)
    free = sizes.room - used if sizes is not None else None
    verify(reduced, timeline, budget, room=free, prefix=prefix, rules=policy.rules, kept=kept.ids)
    reduced = reduced._replace(proposed=(*framed, *reduced.proposed, *map(stray_pin, timeline.stray_pins)))
    made = Made(plan.name, framing, items, requested.items, reduced, budget, decision, plan.cache, prefix)
    return CompiledContext.of(state, timeline, made, is_verified=True)
