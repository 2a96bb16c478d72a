"""Reductions: the passes in order, what each changed, the event that makes it last, the check of what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from foveate.budget.window import TokenBudget
from foveate.compile.draft import Draft, PassContext
from foveate.compile.pass_protocol import Pass, PlainPass, pass_name
from foveate.compile.passes.digest import is_covered
from foveate.compile.projection import Projection, SentPrefix
from foveate.compile.rules import Facts, Invariant, broken
from foveate.compile.triggers import Decision
from foveate.errors import ConfigError, InvariantError
from foveate.log.events import ON_REQUEST, Body, Kept, PassRecord, Placed, ReductionRecorded
from foveate.log.items import Item
from foveate.log.messages import Message


class Reduced(NamedTuple):
    """The items of a request, what the passes did to them, and the events that make it last."""

    items: tuple[Item, ...]
    records: tuple[PassRecord, ...] = ()
    proposed: tuple[Body, ...] = ()
    # Messages that request passes rewrote, by place in the log, and the passes that have seen all messages now.
    rewritten: Mapping[int, Message] = MappingProxyType({})
    asked: tuple[str, ...] = ()


def run_passes(
    draft: Draft, passes: Iterable[Pass | PlainPass], ctx: PassContext
) -> tuple[Draft, tuple[PassRecord, ...]]:
    """The draft after passes in their order, with one record for each that had work to do."""
    records = []
    for stage in passes:
        if is_needed(stage, draft, ctx):
            result = run_pass(stage, draft, ctx)
            records.append(compared(pass_name(stage), draft, result))
            draft = result
    return draft, tuple(records)


def is_needed(stage: Pass | PlainPass, draft: Draft, ctx: PassContext, *, always: bool = False) -> bool:
    """Whether a pass has work to do: its own judgement, else `always`, or whether the draft is above the low mark."""
    own: Callable[[Draft, PassContext], bool] | None = getattr(stage, "needed", None)
    if own is not None:
        return own(draft, ctx)
    return always or draft.tokens > ctx.low


def run_pass(stage: Pass | PlainPass, draft: Draft, ctx: PassContext) -> Draft:
    """What a pass makes of a draft."""
    result = stage(draft, ctx)
    if not isinstance(result, Draft):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"pass `{pass_name(stage)}` returned {result!r}; a pass returns a `Draft`")
    return result


def compared(name: str, before: Draft, after: Draft) -> PassRecord:
    """What a pass did to a draft."""
    old = {item.id: item for item in before.items}
    new = {item.id: item for item in after.items}
    return PassRecord(
        name=name,
        tokens_before=before.tokens,
        tokens_after=after.tokens,
        rewritten=tuple(id for id, item in new.items() if id in old and item is not old[id] and item != old[id]),
        removed=tuple(id for id in old if id not in new),
        added=tuple(id for id in new if id not in old),
    )


def recorded(
    before: Sequence[Item], after: Reduced, ctx: PassContext, decision: Decision, records: tuple[PassRecord, ...]
) -> ReductionRecorded | None:
    """The event that turns `before` into `after` for good, or None if nothing changed."""
    items = after.items
    same = 0
    while same < min(len(before), len(items)) and before[-1 - same] is items[-1 - same]:
        same += 1
    head = items[: len(items) - same]
    if not head and same == len(before) and not after.rewritten:
        return None
    known = {id(item) for item in before}
    # What is done to new messages alone must not cost more the more was sent.
    first = _common(before, head) if decision.trigger in ON_REQUEST else 0
    return ReductionRecorded(
        number=ctx.number,
        trigger=decision.trigger,
        reason=decision.reason,
        passes=tuple(record.name for record in records),
        layout=tuple(Kept(id=item.id) if id(item) in known else Placed(item=item) for item in head[first:]),
        behind=before[first - 1].id if first else "",
        last=before[len(before) - same - 1].id if first < len(before) - same else "",
        before=sum(item.tokens for item in before),
        after=sum(item.tokens for item in items),
        claims=True,
        rewritten=tuple(after.rewritten.values()),
        dropped=_dropped(before, items, records),
    )


def _common(before: Sequence[Item], head: Sequence[Item]) -> int:
    """How many items both begin with."""
    pairs = enumerate(zip(before, head, strict=False))
    return next((at for at, (one, other) in pairs if one is not other), min(len(before), len(head)))


def _dropped(
    before: Sequence[Item], after: Sequence[Item], records: Iterable[PassRecord]
) -> dict[str, tuple[str, ...]]:
    """The items that nothing stands for any more, by the pass that took them out."""
    shown = {item.id for item in after}
    covered = [span for item in after for span in item.covers]
    gone = {item.id for item in before if item.id not in shown and not is_covered(item.order, covered)}
    return (
        {record.name: lost for record in records if (lost := tuple(one for one in record.removed if one in gone))}
        if gone
        else {}
    )


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


def verify(
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
        open_errors=frozenset(timeline.ledger.open_errors),
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
