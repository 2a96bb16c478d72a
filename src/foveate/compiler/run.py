"""The compile: one screen from a state to the request a model sees."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Final

from foveate.budget.calibrate import Correction
from foveate.budget.profiles import DEFAULT_RULES, CacheRules
from foveate.budget.tokens import TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compiler.compiled import CompiledContext, Made, sent_before
from foveate.compiler.framing import Framing, framing_of
from foveate.compiler.policy import CompactWhen, Policy
from foveate.compiler.reduction import Reduced, recorded, run_passes
from foveate.compiler.requests import ask, ask_beside
from foveate.compiler.triggers import (
    WORTHWHILE,
    Decision,
    Owed,
    Sizes,
    asked_sizes,
    check_fit,
    check_room,
    decide,
    low_mark,
    owed_tokens,
)
from foveate.errors import BudgetError, InvariantError
from foveate.invariants import Facts, Invariant, KeptTurns, broken
from foveate.log.events import Body, DiagnosticRecorded
from foveate.log.items import Item
from foveate.log.messages import Message
from foveate.log.state import AgentState
from foveate.transforms.truncate import reserve
from foveate.views.draft import Draft, PassContext
from foveate.views.ledger import Ledger
from foveate.views.projection import Projection, SentPrefix, with_recalled
from foveate.views.timeline import REDUCTION_DECLINED, STRAY_PIN, projection_of

_UNBOUNDED: Final = sys.maxsize
_NONE: Final = KeptTurns()


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
    return replace(view, proposed=(*view.proposed, _in_doubt(strict.correct(view.tokens), limit)))


def _run(state: AgentState, plan: Plan, timeline: Projection, correction: Correction) -> CompiledContext:
    policy = plan.policy
    reducer = _Reducer(state, timeline, policy, plan.recall_tool)
    state, framed = reducer.beside()
    framing = framing_of(state, plan.counter, timeline.prefix)
    if state.override is not None:
        return _overridden(state, plan, framing, timeline)
    items = with_recalled(timeline.mender.projected, state.recalled)
    used = timeline.tokens_of(items)
    budget, sizes = plan.budget, None
    if budget is not None:
        budget = budget.with_used(correction.correct(framing.tokens + used))
        limit = correction.room(budget.limit)
        low = low_mark(timeline, framing, limit, plan.cache, policy, reducer.owed)
        sizes = Sizes(used, low, limit - framing.tokens)
    decision, requested = reducer.requested(items, sizes)
    reduced, kept = requested, _NONE
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
    _verify(reduced, timeline, budget, room=free, prefix=prefix, rules=policy.rules, kept=kept.ids)
    reduced = reduced._replace(proposed=(*framed, *reduced.proposed, *map(_stray, timeline.stray_pins)))
    made = Made(plan.name, framing, items, requested.items, reduced, budget, decision, plan.cache, prefix)
    return CompiledContext.of(state, timeline, made, is_verified=True)


@dataclass(frozen=True)
class _Reducer:
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
            decision = Decision("request", f"{names} rewrote {len(found.rewritten)} messages")
        else:
            decision = Decision("capped", f"new outputs of more than {ctx.part(ctx.shares.output)} tokens")
        event = recorded(items, requested, ctx, decision, requested.records)
        return decision, requested._replace(proposed=() if event is None else (event,))

    def kept(self, items: Sequence[Item], limit: int) -> KeptTurns:
        """What of the last turns stays as it was said, if they are to be kept, in `limit` tokens for messages."""
        rule = self.policy.turn_rule
        if rule is None:
            return _NONE
        errors = len(self.timeline.ledger.open_errors)
        room = limit - self.owed.pinned - reserve(limit, errors)
        return rule.kept(items, room, newest_input=self.timeline.newest_input, exchanges=self.policy.shares.exchanges)

    def reduced(
        self, items: tuple[Item, ...], so_far: Reduced, sizes: Sizes, decision: Decision, kept: KeptTurns
    ) -> Reduced:
        """What the passes make of the items; as they were, with a diagnostic, if they make nothing better of them.

        `so_far` is what the passes of every request made of `items`. It is recorded by itself only if nothing more is
        done to them.
        """
        ctx = self._context(so_far.items, sizes, sizes.room, so_far.rewritten, kept)
        draft, records = run_passes(Draft(so_far.items), self.policy.reducing_passes, ctx)
        records = (*so_far.records, *records)
        after = so_far._replace(items=draft.items, records=records)
        event = recorded(items, after, ctx, decision, records)
        gained = sizes.used - draft.tokens
        if event is None or (decision.trigger != "must" and gained < sizes.measure * WORTHWHILE[decision.trigger]):
            text = f"{decision.reason}; the passes make {draft.tokens} of {sizes.used} tokens, which is not worth it"
            declined = DiagnosticRecorded(code=REDUCTION_DECLINED, phase="compile", text=text, subject=str(sizes.used))
            return so_far._replace(proposed=(*so_far.proposed, declined))
        said = [DiagnosticRecorded(code="turns_yielded", phase="compile", text=kept.yields)] if kept.yields else []
        said += _newest_dropped(so_far.items, draft.items)
        return after._replace(proposed=(event, *said))

    def _context(
        self,
        items: Sequence[Item],
        sizes: Sizes,
        limit: int,
        rewritten: Mapping[int, Message] = MappingProxyType({}),
        kept: KeptTurns = _NONE,
    ) -> PassContext:
        return PassContext(
            limit=limit,
            low=sizes.low,
            scale=sizes.scale,
            owed=self.owed.pinned,
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


def _overridden(state: AgentState, plan: Plan, framing: Framing, timeline: Projection) -> CompiledContext:
    """The request that is nothing but the override; the history is neither looked at nor reduced."""
    proposed: tuple[Body, ...] = ()
    budget = plan.budget
    if budget is not None:
        # What a caller wants to send as it is, is not refused for a doubt.
        correction = timeline.calibration.correction(budget.limit, lenient=True)
        budget = budget.with_used(correction.correct(framing.tokens))
        if budget.over_limit():
            raise BudgetError(
                f"`override` needs {budget.used} tokens but `budget` is {budget.limit}; shorten it or raise `budget`",
                needed=budget.used,
                limit=budget.limit,
            )
        if (most := timeline.calibration.correction(budget.limit).correct(framing.tokens)) > budget.limit:
            proposed = (_in_doubt(most, budget.limit),)
    made = Made(plan.name, framing, (), (), Reduced((), (), proposed), budget, None, plan.cache)
    return CompiledContext.of(state, timeline, made, is_verified=False)


def _in_doubt(most: int, limit: int) -> DiagnosticRecorded:
    """That a request may be over its budget by the provider's count, as far as reports tell."""
    text = (
        f"the provider may count up to {most} tokens for this request, more than the {limit} of `budget`: its reports "
        "do not tell yet whether it counts more for each token or adds the same to every request; report the usage of "
        "this one, or lower `budget`"
    )
    return DiagnosticRecorded(code="budget_in_doubt", phase="compile", text=text)


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


def _stray(pin: str) -> DiagnosticRecorded:
    text = f"the pin {pin!r} names no message, and keeps none; pin a message by its id, such as m1"
    return DiagnosticRecorded(code=STRAY_PIN, phase="compile", subject=pin, text=text)


@dataclass(frozen=True, slots=True)
class _KnownIds:
    """The ids of the items that were checked before: the first `count`."""

    places: Mapping[str, int]
    count: int

    def __contains__(self, one: object) -> bool:
        # The mapping grows with the log; what stands further behind is not known yet.
        return isinstance(one, str) and self.places.get(one, self.count) < self.count


def _first_standing(timeline: Projection) -> str | None:
    """The first request, if it still stood before this compile: what a smaller budget once dropped is not owed."""
    first = timeline.first_input
    return first if any(item.id == first for item in timeline.mender.items) else None


def _verify(
    reduced: Reduced,
    timeline: Projection,
    budget: TokenBudget | None,
    *,
    room: int | None,
    prefix: SentPrefix | None,
    rules: Iterable[Invariant],
    kept: frozenset[str],
) -> None:
    """Raise `InvariantError` if a request breaks a rule; `room` is what is free, by the count that passes go by.

    The items of `prefix` were checked when they were sent: unless other messages were pinned then, they are not again.
    """
    start = prefix.count if prefix is not None and prefix.pins == tuple(timeline.pins) else 0
    facts = Facts(
        said=lambda order: reduced.rewritten.get(order) or timeline.message(order),
        pins={pin: None for pin in timeline.pins if pin not in timeline.mender.left_out},
        newest_input=timeline.newest_input,
        first_input=_first_standing(timeline) if not start else None,
        leading=timeline.leading,
        open_errors=frozenset(failure.message_id for failure in timeline.ledger.open_errors.values()),
        known_ids=_KnownIds(timeline.item_ids, start),
        tokens=budget.used if budget is not None else 0,
        limit=budget.limit if budget is not None else None,
        room=room,
        kept=kept,
    )
    violations = broken(reduced.items, facts, start, rules=rules)
    if violations:
        raise InvariantError(
            f"the compiled request breaks {len(violations)} rule(s): {'; '.join(violations[:5])}; "
            "a custom pass may have removed half of an exchange",
            violations=violations,
        )
