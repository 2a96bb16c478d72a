"""Verification: every compiled request is checked, and only what is new is checked again."""

from __future__ import annotations

from foveate.budget.window import TokenBudget
from foveate.errors import InvariantError
from foveate.invariants import Facts, broken
from foveate.log.items import Item
from foveate.views.timeline import Timeline


class Verified:
    """How far a timeline's items have been checked."""

    __slots__ = ("count", "epoch", "ids", "pins")

    def __init__(self) -> None:
        self.epoch = -1
        self.count = 0
        self.ids: set[str] = set()
        self.pins: tuple[str, ...] = ()

    def catch_up(self, timeline: Timeline) -> int:
        """The index from which items are unchecked; what was sent since the last check passed it."""
        pins = tuple(timeline.pins)
        if self.epoch != timeline.epoch or self.pins != pins:
            self.epoch, self.pins, self.count = timeline.epoch, pins, 0
            self.ids.clear()
            return 0
        for index in range(self.count, timeline.mender.sealed):
            item = timeline.mender.items[index]
            self.ids.add(item.id)
            self.ids.update(f"call {call.id}" for call in item.message.calls)
        self.count = timeline.mender.sealed
        return self.count


def _first_standing(timeline: Timeline) -> str | None:
    """The first request, if it still stood before this compile: what a smaller budget once dropped is not owed."""
    first = timeline.first_input
    return first if any(item.id == first for item in timeline.mender.items) else None


def verify(items: list[Item], timeline: Timeline, budget: TokenBudget | None, *, rearranged: bool) -> None:
    """Raise `InvariantError` if a request breaks a rule."""
    verified: Verified = timeline.memo.setdefault("verified", Verified())
    start = 0 if rearranged else verified.catch_up(timeline)
    facts = Facts(
        said=timeline.message,
        pins={pin: None for pin in timeline.pins if pin not in timeline.mender.left_out},
        newest_input=timeline.newest_input,
        first_input=_first_standing(timeline) if not start else None,
        leading=timeline.leading,
        open_errors=frozenset(failure.message_id for failure in timeline.ledger.open_errors.values()),
        known_ids=verified.ids if start else set(),
        tokens=budget.used if budget is not None else 0,
        limit=budget.limit if budget is not None else None,
    )
    violations = broken(items, facts, start)
    if violations:
        raise InvariantError(
            f"the compiled request breaks {len(violations)} rule(s): {'; '.join(violations[:5])}; "
            "a custom pass may have removed half of an exchange",
            violations=violations,
        )
