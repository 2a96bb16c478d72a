"""The reducer: what one compile does to the items that are too many, or too large."""

from __future__ import annotations

from collections.abc import Sequence
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
        # What was sent is left alone, so it is not even looked at: most calls cap nothing.
        sealed = self.timeline.mender.sealed
        new, cap = Draft(tuple(items[sealed:])), Cap()
        # Whether the rest fits is looked at where the rest is reduced.
        ctx = self._context(new.items, sizes, max(0, sizes.room), number=self.timeline.reductions + 1)
        if not cap.needed(new, ctx):
            return None, Reduced(items)
        before, draft = Draft(tuple(items)), Draft((*items[:sealed], *cap(new, ctx).items))
        decision = Decision("capped", f"new outputs of more than {ctx.part(ctx.shares.output)} tokens")
        records = (compared(cap.name, before, draft),)
        event = recorded(items, draft, ctx, decision, records)
        if event is None:
            return None, Reduced(items)
        return decision, Reduced(list(draft.items), records, (event,))

    def reduced(self, items: list[Item], so_far: Reduced, sizes: Sizes, decision: Decision) -> Reduced:
        """What the passes make of the items; as they were, with a diagnostic, if they make nothing better of them.

        `so_far` is what capping made of `items`. It is recorded by itself only if nothing more is done to them.
        """
        limit = checked_room(sizes.room, self.timeline, self.framing, self.budget)
        ctx = self._context(so_far.items, sizes, limit, number=self.timeline.reductions + 1)
        draft = restored(Draft(tuple(so_far.items)), ctx)
        draft, records = run_passes(draft, self.policy, ctx)
        records = (*so_far.records, *records)
        event = recorded(items, draft, ctx, decision, records)
        gained = sizes.used - draft.tokens
        if event is None or (decision.trigger != "must" and gained < sizes.room * WORTHWHILE[decision.trigger]):
            declined = DiagnosticRecorded(
                code="reduction_declined", phase="compile", text=decision.reason, subject=str(sizes.used)
            )
            return so_far._replace(proposed=(*so_far.proposed, declined))
        return Reduced(list(draft.items), records, (event,))

    def _context(self, items: Sequence[Item], sizes: Sizes, limit: int, *, number: int) -> PassContext:
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
