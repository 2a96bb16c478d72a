"""The rules, what they need to know, and how they are asked together."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from foveate.invariants.pairing import Pairing
from foveate.invariants.presence import ErrorsVisible, FramingPresent, NewestInput, PinnedVerbatim
from foveate.invariants.shape import IdsUnique, NothingEmpty, ThinkingWhole, WithinBudget
from foveate.log.items import Item
from foveate.log.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the rules must know besides the items; `room` are the tokens still free, by our own count like the items."""

    said: Callable[[int], Message]
    pins: dict[str, None] = field(default_factory=dict)
    newest_input: str | None = None
    first_input: str | None = None
    leading: int = 0
    open_errors: frozenset[str] = frozenset()
    known_ids: Container[str] = frozenset()
    tokens: int = 0
    limit: int | None = None
    room: int | None = None
    # What of the last turns this compile had to leave as it was.
    kept: frozenset[str] = frozenset()


class Invariant(Protocol):
    """One rule.

    `cuts` are the indices at which a sequence of items may be cut without breaking the rule. `check` names what is
    broken; items before `start` were checked before and have not changed since.
    """

    @property
    def name(self) -> str: ...

    def cuts(self, items: Sequence[Item]) -> set[int]: ...

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]: ...


INVARIANTS: tuple[Invariant, ...] = (
    Pairing(),
    IdsUnique(),
    NothingEmpty(),
    ThinkingWhole(),
    FramingPresent(),
    PinnedVerbatim(),
    NewestInput(),
    ErrorsVisible(),
    WithinBudget(),
)


def broken(
    items: Sequence[Item], facts: Facts, start: int = 0, *, rules: Iterable[Invariant] = INVARIANTS
) -> tuple[str, ...]:
    """What is wrong with the items, each with the name of its rule."""
    return tuple(f"{rule.name}: {what}" for rule in rules for what in rule.check(items, facts, start))


def safe_cuts(items: Sequence[Item]) -> set[int]:
    """The indices at which no rule minds a cut."""
    cuts = set(range(len(items) + 1))
    for rule in INVARIANTS:
        cuts &= rule.cuts(items)
    return cuts
