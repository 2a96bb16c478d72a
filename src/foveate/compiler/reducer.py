"""The reducer: what one compile does to the items that are too many, or too large."""

from __future__ import annotations

from dataclasses import dataclass

from foveate.budget.window import TokenBudget
from foveate.compiler.framing import Framing
from foveate.compiler.limits import checked_room, owed_tokens
from foveate.compiler.policy import Policy
from foveate.compiler.reduction import Reduced, compared, recorded, restored, run_passes
from foveate.compiler.triggers import WORTHWHILE, Decision, Sizes
from foveate.log.events import DiagnosticRecorded
from foveate.log.items import Item
from foveate.log.state import AgentState
from foveate.transforms import Cap
from foveate.views.draft import Draft, PassContext
from foveate.views.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Reducer:
    """Runs the passes of a policy for one compile."""

    state: AgentState
    timeline: Timeline
    framing: Framing
    budget: TokenBudget
    policy: Policy
    recall_tool: str | None

    def capped(self, items: list[Item], sizes: Sizes) -> tuple[Decision | None, Reduced]:
        """The items with new outputs capped, before it is decided whether the rest has to be reduced."""
        # Whether the rest fits is looked at where the rest is reduced.
        ctx = self._context(items, sizes, max(0, sizes.room), number=self.timeline.reductions + 1)
        before, cap = Draft(tuple(items)), Cap()
        if not cap.needed(before, ctx):
            return None, Reduced(items)
        draft = cap(before, ctx)
        decision = Decision("capped", f"new outputs of more than {ctx.part(ctx.shares.output)} tokens")
        records = (compared(cap.name, before, draft),)
        event = recorded(items, draft, ctx, decision, records)
        if event is None:
            return None, Reduced(items)
        return decision, Reduced(list(draft.items), records, (event,))

    def reduced(self, so_far: Reduced, sizes: Sizes, decision: Decision) -> Reduced:
        """What the passes make of the items; as it was, with a diagnostic, if they make nothing better of it."""
        items = so_far.items
        limit = checked_room(sizes.room, self.timeline, self.framing, self.budget)
        ctx = self._context(items, sizes, limit, number=self.timeline.reductions + len(so_far.proposed) + 1)
        draft = restored(Draft(tuple(items)), ctx)
        draft, records = run_passes(draft, self.policy, ctx)
        event = recorded(items, draft, ctx, decision, records)
        gained = 0 if event is None else event.before - event.after
        if event is None or (decision.trigger != "must" and gained < sizes.room * WORTHWHILE[decision.trigger]):
            declined = DiagnosticRecorded(
                code="reduction_declined", phase="compile", text=decision.reason, subject=str(sizes.used)
            )
            return so_far.then(Reduced(items, proposed=(declined,)))
        return so_far.then(Reduced(list(draft.items), records, (event,)))

    def _context(self, items: list[Item], sizes: Sizes, limit: int, *, number: int) -> PassContext:
        return PassContext(
            limit=limit,
            low=sizes.low,
            owed=owed_tokens(self.timeline)[0],
            shown={item.order: item.message for item in items if item.fate == "verbatim" and not item.is_digest},
            number=number,
            timeline=self.timeline,
            shares=self.policy.shares,
            running=self.state.context.execution_id,
            recall_tool=self.recall_tool,
        )
