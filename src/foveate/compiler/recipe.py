"""Recipes: what is recorded of a call besides its hash, so that calls can be compared later."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from foveate.compiler.policy import POLICIES
from foveate.log.items import Item
from foveate.views.timeline import Timeline


class FateCounts:
    """How many items of a growing request have each fate, and their tokens; what was sent is counted once."""

    __slots__ = ("_count", "_epoch", "_sent")

    def __init__(self) -> None:
        self._epoch = -1
        self._count = 0
        self._sent: dict[str, tuple[int, int]] = {}

    def of(self, items: list[Item], timeline: Timeline) -> dict[str, tuple[int, int]]:
        """The counts of a request whose items are the timeline's, or a rearrangement of them."""
        if items is not timeline.mender.items:
            return _counted({}, items)
        if self._epoch != timeline.epoch:
            self._epoch, self._count, self._sent = timeline.epoch, 0, {}
        sealed = max(self._count, timeline.mender.sealed)
        self._sent = _counted(self._sent, items[self._count : sealed])
        self._count = sealed
        return _counted(self._sent, items[sealed:])


def _counted(known: dict[str, tuple[int, int]], items: Sequence[Item]) -> dict[str, tuple[int, int]]:
    counts = dict(known)
    for item in items:
        count, tokens = counts.get(item.fate, (0, 0))
        counts[item.fate] = (count + 1, tokens + item.tokens)
    return counts


def source_of(compiler: object) -> str:
    """Where a compiler comes from: ours as it is, ours with somebody's own options, or somebody's own."""
    kind = type(compiler)
    if not kind.__module__.startswith("foveate."):
        return f"{kind.__module__}:{kind.__qualname__}"
    policy = getattr(compiler, "policy", None)
    if policy is not None and policy.origin is not None:
        return str(policy.origin.source)
    return "builtin" if policy is None or policy == POLICIES.get(policy.name) else "custom"


def fingerprint(compiler: object) -> str:
    """A hash of a compiler and all its options, or of what these were read from; with the same, two decide alike."""
    policy = getattr(compiler, "policy", None)
    if policy is not None and policy.origin is not None:
        return str(policy.origin.sha256)
    return hashlib.sha256(_spelled(compiler).encode()).hexdigest()


def _spelled(value: Any) -> str:
    """A value as text that is the same in every process."""
    if is_dataclass(value) and not isinstance(value, type):
        options = ", ".join(f"{field.name}={_spelled(getattr(value, field.name))}" for field in fields(value))
        return f"{_name(type(value))}({options})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_spelled(key)}: {_spelled(one)}" for key, one in value.items()) + "}"
    if isinstance(value, tuple | list | set | frozenset):
        return f"[{', '.join(_spelled(one) for one in value)}]"
    if value is None or isinstance(value, str | int | float | bool):
        return repr(value)
    # A function or an object of somebody's own: its name must do, its address would be another in each process.
    return _name(value if callable(value) and hasattr(value, "__qualname__") else type(value))


def _name(value: Any) -> str:
    return f"{value.__module__}:{value.__qualname__}"
