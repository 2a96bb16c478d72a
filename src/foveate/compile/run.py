"""The compile: one screen from a state to the request a model sees."""

from __future__ import annotations

from dataclasses import replace

from foveate.budget.calibrate import Correction
from foveate.compile.compiled import CompiledContext, Made, in_doubt, overridden, sent_before
from foveate.compile.fitting import Fitting, Plan
from foveate.compile.framing import framing_of
from foveate.compile.projection import Projection, with_recalled
from foveate.compile.reducer import NOTHING_KEPT, Reducer, stray_pin
from foveate.compile.reduction import verify
from foveate.compile.timeline import projection_of
from foveate.compile.triggers import check_fit
from foveate.errors import BudgetError
from foveate.log.state import AgentState


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
    reducer = Reducer(state, timeline, plan.policy, plan.recall_tool)
    state, framed = reducer.beside()
    framing = framing_of(state, plan.counter, timeline.prefix)
    if state.override is not None:
        return overridden(state, plan.name, framing, timeline, plan.budget, plan.cache)
    items = with_recalled(timeline.mender.projected, state.recalled)
    fitting = Fitting(reducer, plan, timeline, framing, correction)
    decision, requested = reducer.requested(items, fitting.sizes(items))
    reduced, kept, budget, free = requested, NOTHING_KEPT, None, None
    if plan.budget is not None:
        found, reduced, kept = fitting.reduced(items, requested, plan.budget)
        decision = found or decision
        tokens = framing.tokens + timeline.tokens_of(reduced.items)
        budget = plan.budget.with_used(correction.correct(tokens))
        check_fit(requested.items, reduced.items, framing, budget, correction)
        free = correction.room(budget.limit) - tokens
    prefix = sent_before(reduced.items, timeline)
    verify(reduced, timeline, budget, room=free, prefix=prefix, rules=plan.policy.rules, kept=kept.ids)
    reduced = reduced._replace(proposed=(*framed, *reduced.proposed, *map(stray_pin, timeline.stray_pins)))
    made = Made(plan.name, framing, items, requested.items, reduced, budget, decision, plan.cache, prefix)
    return CompiledContext.of(state, timeline, made, is_verified=True)
