"""The compile: one screen from a state to the request a model sees."""

from __future__ import annotations

from dataclasses import dataclass

from foveate.budget.profiles import DEFAULT_RULES, CacheRules
from foveate.budget.tokens import TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.framing import Framing, framing_of
from foveate.compiler.limits import checked_room, low_mark, owed_tokens, room_for_messages
from foveate.compiler.policy import CompactWhen, Policy
from foveate.compiler.reduction import Reduced, compared, recorded, restored, run_passes
from foveate.compiler.triggers import WORTHWHILE, Decision, Sizes, decide
from foveate.compiler.verify import verify
from foveate.errors import BudgetError
from foveate.log.events import DiagnosticRecorded
from foveate.log.items import Item
from foveate.log.state import AgentState
from foveate.transforms import Cap
from foveate.views.draft import Draft, PassContext
from foveate.views.timeline import Timeline, timeline_of, with_recalled


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
    items = with_recalled(timeline.mender.projected(), state.recalled)
    correct = timeline.calibration.correct
    budget = plan.budget and plan.budget.with_used(correct(framing.tokens + timeline.tokens_of(items)))
    decision, reduced = None, Reduced(items)
    if budget is not None:
        low = low_mark(timeline, framing, budget, plan.cache, plan.policy)
        sizes = Sizes(timeline.tokens_of(items), low, room_for_messages(timeline, framing, budget))
        if plan.policy.shares.output < 1:
            decision, reduced = _capped(state, timeline, framing, items, budget, sizes, plan)
            sizes = sizes._replace(used=timeline.tokens_of(reduced.items))
            budget = budget.with_used(correct(framing.tokens + sizes.used))
        asked = plan.compact_when is not None and plan.compact_when(state, state.context.messages, budget)
        due = decide(timeline, budget, sizes, plan.cache, now=state.now, patience=plan.policy.patience, asked=asked)
        if due is not None:
            decision, reduced = due, _reduced(state, timeline, framing, reduced, budget, sizes, due, plan)
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


def _capped(
    state: AgentState,
    timeline: Timeline,
    framing: Framing,
    items: list[Item],
    budget: TokenBudget,
    sizes: Sizes,
    plan: Plan,
) -> tuple[Decision | None, Reduced]:
    """The items with new outputs capped, before it is decided whether the rest has to be reduced."""
    ctx = _context(state, timeline, framing, items, budget, sizes, plan, number=timeline.reductions + 1)
    before, cap = Draft(tuple(items)), Cap()
    if not cap.needed(before, ctx):
        return None, Reduced(items)
    draft = cap(before, ctx)
    decision = Decision("capped", f"new outputs of more than {ctx.part(ctx.shares.output)} tokens")
    records = (compared(cap.name, before, draft),)
    event = recorded(items, draft, ctx, decision, records)
    return (decision, Reduced(list(draft.items), records, (event,))) if event is not None else (None, Reduced(items))


def _reduced(
    state: AgentState,
    timeline: Timeline,
    framing: Framing,
    so_far: Reduced,
    budget: TokenBudget,
    sizes: Sizes,
    decision: Decision,
    plan: Plan,
) -> Reduced:
    """What the passes make of the items; as it was, with a diagnostic, if they make nothing better of it."""
    items = so_far.items
    number = timeline.reductions + len(so_far.proposed) + 1
    ctx = _context(state, timeline, framing, items, budget, sizes, plan, number=number)
    draft = restored(Draft(tuple(items)), ctx)
    draft, records = run_passes(draft, plan.policy, ctx)
    event = recorded(items, draft, ctx, decision, records)
    gained = 0 if event is None else event.before - event.after
    if event is None or (decision.trigger != "must" and gained < sizes.room * WORTHWHILE[decision.trigger]):
        declined = DiagnosticRecorded(
            code="reduction_declined", phase="compile", text=decision.reason, subject=str(sizes.used)
        )
        return so_far.then(Reduced(items, proposed=(declined,)))
    return so_far.then(Reduced(list(draft.items), records, (event,)))


def _context(
    state: AgentState,
    timeline: Timeline,
    framing: Framing,
    items: list[Item],
    budget: TokenBudget,
    sizes: Sizes,
    plan: Plan,
    *,
    number: int,
) -> PassContext:
    return PassContext(
        limit=checked_room(sizes.room, timeline, framing, budget),
        low=sizes.low,
        owed=owed_tokens(timeline)[0],
        shown={item.order: item.message for item in items if item.fate == "verbatim" and not item.is_digest},
        number=number,
        timeline=timeline,
        shares=plan.policy.shares,
        running=state.context.execution_id,
        recall_tool=plan.recall_tool,
    )
