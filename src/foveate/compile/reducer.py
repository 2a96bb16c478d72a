"""The reducer: what one compile does to the items that are too many, or too large."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final

from foveate.compile.compiled import CompiledContext, is_reduced
from foveate.compile.draft import Draft, PassContext
from foveate.compile.ledger import Ledger
from foveate.compile.passes.truncate import reserve
from foveate.compile.policy import Policy
from foveate.compile.projection import Projection, with_items, without
from foveate.compile.reduction import Reduced, recorded, run_passes
from foveate.compile.requests import ask, ask_beside
from foveate.compile.timeline import REDUCTION_DECLINED, STRAY_PIN
from foveate.compile.triggers import FOR_PRICE, WORTHWHILE, Decision, Owed, Sizes, owed_tokens
from foveate.compile.turns import KeptTurns
from foveate.log.events import Body, DiagnosticRecorded
from foveate.log.items import Item
from foveate.log.messages import Message
from foveate.log.state import AgentState
from foveate.log.text import counted

NOTHING_KEPT: Final = KeptTurns()
_UNBOUNDED: Final = sys.maxsize


@dataclass(frozen=True)
class Reducer:
    """Runs the passes of a policy for one compile."""

    state: AgentState
    timeline: Projection
    policy: Policy
    recall_tool: str | None

    @cached_property
    def owed(self) -> Owed:
        """The tokens that no reduction can take away."""
        return owed_tokens(self.timeline)

    def beside(self) -> tuple[AgentState, tuple[Body, ...]]:
        """The state as the passes of every request leave what stands beside the history."""
        passes = [one.stage for one in self.policy.request_passes if one.reaches_back]
        if not passes:
            return self.state, ()
        return ask_beside(self.state, passes, self._context((), Sizes(0, 0, _UNBOUNDED), _UNBOUNDED))

    def requested(self, items: tuple[Item, ...], sizes: Sizes | None) -> tuple[Decision | None, Reduced]:
        """The items after the passes of every request, before it is decided whether they have to be reduced."""
        sizes = sizes or Sizes(0, 0, _UNBOUNDED)
        # Whether the rest fits is looked at where the rest is reduced.
        kept = self.kept(items, _UNBOUNDED)
        ctx = self._context((), sizes, max(0, sizes.room), kept=kept)
        found = ask(items, self.policy.request_passes, ctx)
        requested = Reduced(found.items, found.records, (), found.rewritten, found.asked)
        if found.items is items and not found.rewritten:
            return None, requested
        names = ", ".join(record.name for record in found.records if record.rewritten)
        if found.rewritten:
            decision = Decision("request", f"{names} rewrote {counted(len(found.rewritten), 'message')}")
        else:
            decision = Decision("capped", f"new outputs of more than {ctx.part(ctx.shares.output)} tokens")
        event = recorded(items, requested, ctx, decision, requested.records)
        return decision, requested._replace(proposed=() if event is None else (event,))

    def kept(self, items: Sequence[Item], limit: int) -> KeptTurns:
        """What of the last turns stays as it was said, if they are to be kept, in `limit` tokens for messages."""
        rule = self.policy.turn_rule
        if rule is None:
            return NOTHING_KEPT
        errors = len(self.timeline.ledger.open_errors)
        room = limit - self.owed.standing - reserve(limit, errors)
        return rule.kept(items, room, newest_input=self.timeline.newest_input, exchanges=self.policy.shares.exchanges)

    def reduced(
        self,
        items: tuple[Item, ...],
        so_far: Reduced,
        sizes: Sizes,
        decision: Decision,
        kept: KeptTurns,
        aside: tuple[Item, ...] = (),
    ) -> Reduced:
        """What the passes make of the items; as they were, with a diagnostic, if they make nothing better of them.

        `so_far` is what the passes of every request made of `items`. It is recorded by itself only if nothing more is
        done to them. What was looked up for this call is set `aside`: no pass works on it.
        """
        ctx = self._context(so_far.items, sizes, sizes.room, so_far.rewritten, kept)
        ctx = replace(ctx, spares_running=decision.trigger in FOR_PRICE, looked_up=aside)
        draft, records = run_passes(Draft(without(so_far.items, aside)), self.policy.reducing_passes, ctx)
        records = (*so_far.records, *records)
        after = so_far._replace(items=with_items(draft.items, aside), records=records)
        event = recorded(items, after, ctx, decision, records)
        gained = sizes.used - draft.tokens
        if event is None or (decision.trigger != "must" and gained < sizes.measure * WORTHWHILE[decision.trigger]):
            text = f"{decision.reason}; the passes make {draft.tokens} of {sizes.used} tokens, which is not worth it"
            declined = DiagnosticRecorded(code=REDUCTION_DECLINED, phase="compile", text=text, subject=str(sizes.used))
            return so_far._replace(proposed=(*so_far.proposed, declined))
        said = [DiagnosticRecorded(code="turns_yielded", phase="compile", text=kept.yields)] if kept.yields else []
        said += _newest_dropped(so_far.items, draft.items)
        return after._replace(proposed=(event, *said))

    def completed(
        self, items: tuple[Item, ...], so_far: Reduced, plain: CompiledContext, aside: tuple[Item, ...]
    ) -> Reduced:
        """What a compile of the same state made of the items, with what was looked up since among them."""
        said = tuple(one for one in plain.proposed if isinstance(one, DiagnosticRecorded))
        if plain.decision is None or not is_reduced(plain):
            return so_far._replace(proposed=(*so_far.proposed, *said))
        after = so_far._replace(items=with_items(plain.items, aside), records=plain.records)
        ctx = self._context((), Sizes(0, 0, _UNBOUNDED), _UNBOUNDED)
        event = recorded(items, after, ctx, plain.decision, plain.records)
        return after._replace(proposed=said if event is None else (event, *said))

    def _context(
        self,
        items: Sequence[Item],
        sizes: Sizes,
        limit: int,
        rewritten: Mapping[int, Message] = MappingProxyType({}),
        kept: KeptTurns = NOTHING_KEPT,
    ) -> PassContext:
        return PassContext(
            limit=limit,
            low=sizes.low,
            scale=sizes.scale,
            owed=self.owed.standing,
            shown={item.order: item.message for item in items if item.is_as_said},
            rewritten=rewritten,
            ledger_now=_ledger_of(self.timeline, rewritten) if rewritten else None,
            kept=kept.ids,
            number=self.timeline.reductions + 1,
            timeline=self.timeline,
            shares=self.policy.shares,
            running=self.state.context.execution_id,
            recall_tool=self.recall_tool,
        )


def _ledger_of(timeline: Projection, rewritten: Mapping[int, Message]) -> Ledger:
    """The ledger as it will be once the log knows what was rewritten."""
    return timeline.ledger.rewritten((timeline.message(order), message) for order, message in rewritten.items())


def _newest_dropped(before: Sequence[Item], after: Sequence[Item]) -> list[DiagnosticRecorded]:
    """That the model does not see what was said last, if a reduction left nothing of it."""
    newest = [item for item in before if item.group == before[-1].group] if before else []
    shown = {item.id for item in after}
    if not newest or any(item.id in shown for item in newest):
        return []
    text = (
        f"the newest exchange, {newest[0].id} to {newest[-1].id}, {sum(item.tokens for item in newest)} tokens, is too "
        "large for the request even when shortened, and the model does not see it; raise `budget`, or have fewer calls "
        "made at once"
    )
    return [DiagnosticRecorded(code="newest_dropped", phase="compile", subject=newest[0].id, text=text)]


def stray_pin(pin: str) -> DiagnosticRecorded:
    """That a recorded pin names no message."""
    text = f"the pin {pin!r} names no message, and keeps none; pin a message by its id, such as m1"
    return DiagnosticRecorded(code=STRAY_PIN, phase="compile", subject=pin, text=text)
