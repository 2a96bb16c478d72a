"""Prefixes: how much of a request is as it was in the one before."""

from __future__ import annotations

from collections.abc import Sequence

from foveate.lab.chat import Chat


def shared_prefix(before: Sequence[Chat], after: Sequence[Chat]) -> int:
    """How many messages two requests begin with in common.

    Lists are compared whole and halved, because that is done without looking into messages that are the same object.
    """
    low, high = 0, min(len(before), len(after))
    if before[:high] == after[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle
    return low
