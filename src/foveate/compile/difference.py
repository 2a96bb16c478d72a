"""The difference between two calls: what entered, what left, what changed its form, where the cached prefix broke."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from foveate.log.events import CallRecorded, Kept, ReductionRecorded
from foveate.log.items import Fate, Item

if TYPE_CHECKING:
    from foveate.compile.compiled import CompiledContext
    from foveate.compile.explain import Explanation

_PREVIEW = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One item that differs between two calls; what is None was not there."""

    id: str
    role: str
    preview: str
    before: Fate | None = None
    after: Fate | None = None
    tokens_before: int = 0
    tokens_after: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What differs between two calls of a session.

    `shared` items at the beginning are the same, `shared_tokens` with what frames them; `broke_at` is the first item of
    the earlier call that the later one does not show at its place, None if the later one only goes on.
    """

    first: int
    second: int
    tokens_before: int
    tokens_after: int
    entered: tuple[Change, ...]
    left: tuple[Change, ...]
    changed: tuple[Change, ...]
    shared: int
    shared_tokens: int
    broke_at: str | None
    why: str

    def as_dict(self) -> dict[str, Any]:
        """The difference as plain data."""
        return asdict(self)


def difference(first: CompiledContext, second: CompiledContext) -> Difference:
    """What differs in `second` from `first`, an earlier call of the same session."""
    before, after = first.items, second.items
    was, now = {item.id: item for item in before}, {item.id: item for item in after}
    reframed = (first.framing.system, first.framing.tools) != (second.framing.system, second.framing.tools)
    shared = 0 if reframed else _common(before, after)
    fixed = 0 if reframed else second.framing.fixed
    broke = before[shared].id if shared < len(before) else None
    gone = [item for item in before if item.id not in now]
    # Once for all of them: it goes through the whole log.
    account = second.explain() if gone else None
    return Difference(
        first=first.number,
        second=second.number,
        tokens_before=first.tokens,
        tokens_after=second.tokens,
        entered=tuple(_entered(item) for item in after if item.id not in was),
        left=tuple(_left(item, second, account) for item in gone),
        changed=tuple(
            _changed(was[item.id], item) for item in after if item.id in was and was[item.id].message != item.message
        ),
        shared=shared,
        shared_tokens=fixed + sum(item.tokens for item in after[:shared]),
        broke_at=broke,
        why=_why(broke, first, second, reframed=reframed),
    )


def _common(before: Sequence[Item], after: Sequence[Item]) -> int:
    """How many items two calls begin with in common, by what they say: each call may have been rebuilt by itself."""
    pairs = zip(before, after, strict=False)
    return sum(
        1 for _ in takewhile(lambda pair: pair[0].id == pair[1].id and pair[0].message == pair[1].message, pairs)
    )


def _entered(item: Item) -> Change:
    return Change(
        id=item.id,
        role=item.message.role,
        preview=_preview(item),
        after=item.fate,
        tokens_after=item.tokens,
        why=item.why,
    )


def _left(item: Item, later: CompiledContext, account: Explanation | None) -> Change:
    known = later.position(item.id) is not None
    return Change(
        id=item.id,
        role=item.message.role,
        preview=_preview(item),
        before=item.fate,
        tokens_before=item.tokens,
        why=account.why(item.id) if account is not None and known else "its place was taken by a later one",
    )


def _changed(old: Item, new: Item) -> Change:
    return Change(
        id=new.id,
        role=new.message.role,
        preview=_preview(new),
        before=old.fate,
        after=new.fate,
        tokens_before=old.tokens,
        tokens_after=new.tokens,
        why=new.why,
    )


def _preview(item: Item) -> str:
    message = item.message
    text = message.text.strip() or ", ".join(f"{call.name} {call.arguments}" for call in message.calls)
    line = " ".join(text.split())
    return line if len(line) <= _PREVIEW else line[: _PREVIEW - 1] + "…"


def _why(broke: str | None, first: CompiledContext, second: CompiledContext, *, reframed: bool) -> str:
    if reframed:
        return "system prompt or tools changed"
    if broke is None:
        return "nothing of the earlier call was changed"
    call, log = first.number + 1, second.state.context.log
    since = log.events(first.state.context.length, second.state.context.length)
    for body in (*(event.body for event in since), *second.proposed):
        match body:
            case ReductionRecorded(trigger=trigger, reason=reason) if _touches(body, broke, first):
                return f"{broke} was reduced at call {call} ({trigger}): {reason}"
            case CallRecorded(number=number):
                call = number + 1
            case _:
                continue
    return second.why(broke) if second.position(broke) is not None else f"{broke} was replaced"


def _touches(reduction: ReductionRecorded, item_id: str, before: CompiledContext) -> bool:
    """Whether a reduction changed or took away an item that an earlier call shows."""
    if any(isinstance(place, Kept) and place.id == item_id for place in reduction.layout):
        return False
    order = {item.id: index for index, item in enumerate(before.items)}
    # What stands before and behind a layout stays as it was.
    if order.get(reduction.behind, -1) >= order[item_id]:
        return False
    return order.get(reduction.last, len(order)) >= order[item_id]
