"""Reductions: the passes run one after the other, what each changed, and the event that makes it last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from foveate.compiler.policy import Policy
from foveate.compiler.triggers import Decision
from foveate.errors import ConfigError
from foveate.log.events import Body, Kept, Placed, ReductionRecorded
from foveate.log.items import Item
from foveate.transforms.errors import with_open_errors
from foveate.views.draft import Draft, Pass, PassContext, PlainPass, pass_name
from foveate.views.mending import Mender

# How far apart in the log a call and its result are looked for.
_EXCHANGE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRecord:
    """What one pass changed, found by comparing the drafts before and after it."""

    name: str
    tokens_before: int
    tokens_after: int
    rewritten: tuple[str, ...]
    removed: tuple[str, ...]
    added: tuple[str, ...]


class Reduced(NamedTuple):
    """The items of a request, what the passes did to them, and the events that make it last."""

    items: list[Item]
    records: tuple[PassRecord, ...] = ()
    proposed: tuple[Body, ...] = ()


def run_passes(draft: Draft, policy: Policy, ctx: PassContext) -> tuple[Draft, tuple[PassRecord, ...]]:
    """The draft after all passes of a policy, with one record for each that ran."""
    records = []
    for stage in stages(policy):
        if _needed(stage, draft, ctx):
            result = stage(draft, ctx)
            if not isinstance(result, Draft):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ConfigError(f"pass `{pass_name(stage)}` returned {result!r}; a pass returns a `Draft`")
            records.append(compared(pass_name(stage), draft, result))
            draft = result
    return with_open_errors(draft, ctx), tuple(records)


def _needed(stage: Pass | PlainPass, draft: Draft, ctx: PassContext) -> bool:
    """Whether a pass has work to do: its own judgement, else whether the draft is above the low mark."""
    own: Callable[[Draft, PassContext], bool] | None = getattr(stage, "needed", None)
    return own(draft, ctx) if own is not None else draft.tokens > ctx.low


def stages(policy: Policy) -> tuple[Pass | PlainPass, ...]:
    """The passes of a policy, with its isolation behind the repair: it decides first what finished turns leave."""
    first, *rest = policy.passes or (policy.isolation,)
    return (first, policy.isolation, *rest) if pass_name(first) == "repair" else (policy.isolation, *policy.passes)


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


def restored(draft: Draft, ctx: PassContext) -> Draft:
    """The draft with every pinned message verbatim again, together with its exchange."""
    shown = {item.id for item in draft.items if item.fate in ("verbatim", "repaired")}
    missing = [pin for pin in ctx.pins if pin not in shown and pin not in ctx.timeline.mender.left_out]
    if not missing:
        return draft
    items = list(draft.items)
    for pin in missing:
        exchange = _exchange(pin, ctx)
        gone = {item.id for item in exchange}
        items = [item for item in items if item.id not in gone]
        position = next((i for i, item in enumerate(items) if item.order > exchange[0].order), len(items))
        items = [*items[:position], *exchange, *items[position:]]
    mender = Mender(ctx.count_message)
    for item in items:
        mender.feed_item(item)
    return Draft(tuple(mender.projected()))


def recorded(
    before: Sequence[Item], after: Draft, ctx: PassContext, decision: Decision, records: tuple[PassRecord, ...]
) -> ReductionRecorded | None:
    """The event that turns `before` into `after` for good, or None if nothing changed."""
    same = 0
    while same < min(len(before), len(after.items)) and before[-1 - same] is after.items[-1 - same]:
        same += 1
    head = after.items[: len(after.items) - same]
    if not head and same == len(before):
        return None
    known = {id(item) for item in before}
    return ReductionRecorded(
        number=ctx.number,
        trigger=decision.trigger,
        reason=decision.reason,
        passes=tuple(record.name for record in records),
        layout=tuple(Kept(id=item.id) if id(item) in known else Placed(item=item) for item in head),
        last=before[len(before) - same - 1].id if same < len(before) else "",
        before=sum(item.tokens for item in before),
        after=after.tokens,
    )


def _exchange(pin: str, ctx: PassContext) -> list[Item]:
    """The pinned message as recorded, with the call or the results that belong to it."""
    said = ctx.timeline.said
    order = ctx.timeline.position(pin)
    assert order is not None, "a pin names a message of the log"  # noqa: S101
    result = said[order].result
    start = order
    if result is not None:
        first = max(0, order - _EXCHANGE)
        while start > first and not any(call.id == result.call_id for call in said[start].calls):
            start -= 1
    calls = {call.id for call in said[start].calls}
    mender = Mender(ctx.count_message)
    mender.feed(said[start], start)
    for index in range(start + 1, min(len(said), start + _EXCHANGE)):
        answer = said[index].result
        if not calls:
            break
        if answer is not None and answer.call_id in calls:
            calls.discard(answer.call_id)
            mender.feed(said[index], index)
    items = mender.projected()
    if any(item.id == pin for item in items):
        return items
    # A second or late answer has no place in its exchange: it comes back as the note it was.
    note = Mender(ctx.count_message)
    note.feed(said[order], order)
    return note.projected()
