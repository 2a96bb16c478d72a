"""Verification: every compiled request is checked, and only what is new is checked again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from foveate.budget.window import TokenBudget
from foveate.compiler.reduction import Reduced
from foveate.errors import InvariantError
from foveate.invariants import INVARIANTS, Facts, Invariant, broken
from foveate.views.projection import Projection, SentPrefix


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
    rules: Iterable[Invariant] = INVARIANTS,
    kept: frozenset[str] = frozenset(),
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
