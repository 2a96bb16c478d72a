"""The compile: one screen from a state to the request a model sees."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foveate.budget.calibrate import Correction
from foveate.budget.profiles import DEFAULT_RULES, CacheRules
from foveate.budget.tokens import TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compiler.compiled import CompiledContext, Made, in_doubt, is_reduced, overridden, sent_before
from foveate.compiler.framing import Framing, framing_of
from foveate.compiler.policy import CompactWhen, Policy
from foveate.compiler.reducer import NOTHING_KEPT, Reducer
from foveate.compiler.reduction import Reduced, verify
from foveate.compiler.triggers import (
    Decision,
    Sizes,
    asked_sizes,
    check_fit,
    check_room,
    decide,
    forgetting,
    low_mark,
    making_room,
)
from foveate.errors import BudgetError
from foveate.invariants import KeptTurns
from foveate.log.items import Item
from foveate.log.state import AgentState
from foveate.views.projection import Projection, looked_up, with_recalled, without
from foveate.views.timeline import projection_of


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
    reducer = Reducer(state, timeline, plan.policy, plan.recall_tool)
    state, framed = reducer.beside()
    framing = framing_of(state, plan.counter, timeline.prefix)
    if state.override is not None:
        return overridden(state, plan.name, framing, timeline, plan.budget, plan.cache)
    items = with_recalled(timeline.mender.projected, state.recalled)
    compiling = _Compiling(reducer, plan, timeline, framing, correction)
    decision, requested = reducer.requested(items, compiling.sizes(items))
    reduced, kept, budget, free = requested, NOTHING_KEPT, None, None
    if plan.budget is not None:
        found, reduced, kept = compiling.reduced(items, requested, plan.budget)
        decision = found or decision
        tokens = framing.tokens + timeline.tokens_of(reduced.items)
        budget = plan.budget.with_used(correction.correct(tokens))
        check_fit(requested.items, reduced.items, framing, budget, correction)
        free = correction.room(budget.limit) - tokens
    prefix = sent_before(reduced.items, timeline)
    verify(reduced, timeline, budget, room=free, prefix=prefix, rules=plan.policy.rules, kept=kept.ids)
    reduced = reduced._replace(proposed=(*framed, *reduced.proposed))
    made = Made(plan.name, framing, items, requested.items, reduced, budget, decision, plan.cache, prefix)
    return CompiledContext.of(state, timeline, made, is_verified=True)


@dataclass(frozen=True, slots=True)
class _Compiling:
    """What a compile goes by once its framing is known."""

    reducer: Reducer
    plan: Plan
    timeline: Projection
    framing: Framing
    correction: Correction

    def sizes(self, items: tuple[Item, ...]) -> Sizes | None:
        """The tokens that there are and may be; None without a budget."""
        plan, timeline = self.plan, self.timeline
        if plan.budget is None:
            return None
        limit = self.correction.room(plan.budget.limit)
        low = low_mark(timeline, self.framing, limit, plan.cache, plan.policy, self.reducer.owed)
        return Sizes(timeline.tokens_of(items), low, limit - self.framing.tokens)

    def reduced(
        self, items: tuple[Item, ...], requested: Reduced, budget: TokenBudget
    ) -> tuple[Decision | None, Reduced, KeptTurns]:
        """What the passes make of the items if they have to be reduced, why, and what of the last turns stays.

        What was looked up for this call is set aside: what is done to the history does not depend on it, but for the
        room that it needs.
        """
        aside = looked_up(requested.items, self.reducer.state.recalled)
        history = without(requested.items, aside)
        sizes = self.sizes(history)
        assert sizes is not None, "there is a budget"  # noqa: S101
        kept = self.reducer.kept(history, sizes.room)
        sizes = sizes._replace(low=max(sizes.low, min(kept.tokens, sizes.room)))
        wanted = sum(one.tokens for one in aside)
        plain = self._plain(is_unchanged=requested.items is items)
        if plain is not None:
            found = plain.decision
        else:
            found, sizes = self._decided(budget, sizes)
        if found is None or (plain is not None and not is_reduced(plain)):
            more, sizes = making_room(self.timeline, sizes, wanted, forgets=self.plan.policy.forgets)
            found, plain = more or found, None if more is not None else plain
        reduced = requested
        if plain is not None:
            reduced = self.reducer.completed(items, requested, plain, aside)
        elif found is not None:
            check_room(sizes.room, self.reducer.owed, self.framing, budget, self.correction)
            reduced = self.reducer.reduced(items, requested, sizes, found, kept, aside)
        if aside and self.timeline.tokens_of(reduced.items) > sizes.room:
            # Nothing makes as much room as it needs: then it is one of the things that are reduced.
            found = Decision("must", f"{wanted} tokens that were looked up have no room")
            sizes = sizes._replace(used=sizes.used + wanted)
            reduced = self.reducer.reduced(items, requested, sizes, found, kept)
        return found, reduced, kept

    def _plain(self, *, is_unchanged: bool) -> CompiledContext | None:
        """The view of this state without what was looked up, if it is given and is one of this compile."""
        state = self.reducer.state
        plain = state.plain
        if not is_unchanged or not state.recalled or not isinstance(plain, CompiledContext):
            return None
        is_same = plain.projection is self.timeline and plain.strategy == self.plan.name and not plain.state.recalled
        return plain if is_same and plain.state.override is None else None

    def _decided(self, budget: TokenBudget, sizes: Sizes) -> tuple[Decision | None, Sizes]:
        """The reason to reduce at this call, and how far."""
        plan, timeline, state = self.plan, self.timeline, self.reducer.state
        policy = plan.policy
        budget = budget.with_used(self.correction.correct(self.framing.tokens + sizes.used))
        asked = plan.compact_when is not None and plan.compact_when(state, state.context.messages, budget)
        asked = asked or budget.should_compact()
        due = policy.when(timeline, budget) if policy.when is not None else None
        if asked and due is None and not budget.over_limit():
            sizes = asked_sizes(timeline, budget, sizes, self.framing.tokens, self.correction)
        found = decide(
            timeline, budget, sizes, plan.cache, now=state.now, patience=policy.patience, asked=asked, due=due
        )
        if policy.forgets and policy.when is None and (found is None or budget.over_limit()):
            forgotten = forgetting(timeline, sizes, plan.cache)
            if forgotten is not None:
                # No other pass has work to do below this mark.
                return forgotten, sizes._replace(low=max(sizes.used, sizes.room))
        return found, sizes
