"""Kept: where an append went."""

from __future__ import annotations

from typing import Literal, NamedTuple

Place = Literal["store", "held", "memory"]


class Kept(NamedTuple):
    """Where an append is: in the store, in the file of held events, or in memory only; and why not in the store."""

    place: Place
    why: str = ""
