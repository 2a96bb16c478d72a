"""Fitting: whether the items of a compile have to be reduced to fit its budget, why, and how far."""

from __future__ import annotations

from dataclasses import dataclass

from foveate.budget.calibrate import Correction
from foveate.budget.profiles import DEFAULT_RULES, CacheRules
from foveate.budget.tokens import TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compile.compiled import CompiledContext, is_reduced
from foveate.compile.framing import Framing
from foveate.compile.policy import CompactWhen, Policy
from foveate.compile.projection import Projection, looked_up, without
from foveate.compile.reducer import Reducer
from foveate.compile.reduction import Reduced
from foveate.compile.triggers import (
    Decision,
    Sizes,
    asked_sizes,
    check_room,
    decide,
    forgetting,
    low_mark,
    making_room,
)
from foveate.compile.turns import KeptTurns
from foveate.log.items import Item


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


@dataclass(frozen=True, slots=True)
class Fitting:
    """What a compile goes by once its framing is known: its items, brought into its budget."""

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
        rest = tuple(one for one in state.recalled if not one.item.is_looked_up)
        is_same = plain.projection is self.timeline and plain.strategy == self.plan.name
        return plain if is_same and plain.state.recalled == rest and plain.state.override is None else None

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
