"""Originals: a framework's own objects in place of compiled items that say the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from foveate.threads.matching import item_key

Own = TypeVar("Own")


def with_originals(
    sent: Iterable[Any], own: Sequence[Own], keys: Sequence[str], made: Callable[[Any], Own]
) -> list[Own]:
    """The objects to send: for each compiled item the framework's own that says the same, else one made of it.

    Each object is used once, and in the order that the framework has them in.
    """
    places: dict[str, list[int]] = {}
    for at in range(len(keys) - 1, -1, -1):
        places.setdefault(keys[at], []).append(at)
    behind = -1
    found: list[Own] = []
    for item in sent:
        known = places.get(item_key(item), [])
        while known and known[-1] <= behind:
            known.pop()
        if known:
            behind = known.pop()
            found.append(own[behind])
        else:
            found.append(made(item))
    return found
