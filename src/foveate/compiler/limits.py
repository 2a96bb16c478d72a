"""Limits: how much room messages have, how far down a reduction goes, and whether the floor fits at all."""

from __future__ import annotations

from collections.abc import Sequence

from foveate.budget.calibrate import Correction
from foveate.budget.economics import marks
from foveate.budget.profiles import CacheRules
from foveate.budget.window import TokenBudget
from foveate.compiler.framing import Framing
from foveate.compiler.policy import Policy
from foveate.errors import BudgetError
from foveate.log.items import Item
from foveate.views.projection import Projection


def low_mark(timeline: Projection, framing: Framing, limit: int, cache: CacheRules, policy: Policy) -> int:
    """The tokens of messages, by our own count, that a reduction comes down to; `limit` is by our own count, too."""
    owed = sum(owed_tokens(timeline))
    if policy.low is not None:
        return max(int(limit * policy.low) - framing.tokens, owed)
    return marks(limit, min(limit, framing.tokens + owed), timeline.growth, cache).low - framing.tokens


def check_room(room: int, timeline: Projection, framing: Framing, budget: TokenBudget, correction: Correction) -> None:
    """Refuse a compile in which what must be sent does not fit into the room; found before any work is done."""
    pinned, newest = owed_tokens(timeline)
    if pinned + newest > room:
        parts = {"system, tools and sections": framing.tokens, "pinned": pinned, "newest input": newest}
        needed = correction.correct(sum(parts.values()))
        listed = ", ".join(f"{name} {tokens}" for name, tokens in parts.items() if tokens)
        raise BudgetError(
            f"what must be sent needs {needed} tokens ({listed}) but `budget` is {budget.limit}; "
            "raise `budget`, unpin, or shorten system prompt, tools or input",
            needed=needed,
            limit=budget.limit,
            parts=parts,
        )


def owed_tokens(timeline: Projection) -> tuple[int, int]:
    """Tokens of pinned and leading system messages, and of the newest input."""
    pinned = {position for pin in timeline.pins if (position := timeline.position(pin)) is not None}
    newest = timeline.position(timeline.newest_input) if timeline.newest_input is not None else None
    kept = (pinned | set(range(timeline.leading))) - {newest}
    return (
        sum(timeline.count(timeline.said[position]) for position in kept),
        timeline.count(timeline.said[newest]) if newest is not None else 0,
    )


def check_fit(
    before: Sequence[Item], after: Sequence[Item], framing: Framing, budget: TokenBudget, correction: Correction
) -> None:
    """Refuse a request that is over the budget, and one that has room for nothing of its conversation."""
    if budget.over_limit():
        raise BudgetError(
            f"the passes left {budget.used} tokens in a budget of {budget.limit}; "
            "end `passes` with `Truncate()` or raise `budget`",
            needed=budget.used,
            limit=budget.limit,
        )
    if _is_all_gone(before, after, framing):
        newest = sum(item.tokens for item in before if item.group == before[-1].group)
        raise BudgetError(
            f"not one message fits into a budget of {budget.limit} tokens, of which system prompt and tools take "
            f"{framing.tokens}; raise `budget`, or shorten system prompt or tools",
            needed=max(correction.correct(framing.tokens + newest), budget.limit + 1),
            limit=budget.limit,
        )


def _is_all_gone(before: Sequence[Item], after: Sequence[Item], framing: Framing) -> bool:
    """Whether a reduction left nothing of a conversation but instructions, though there was more."""
    beside = bool(framing.before or framing.after)
    is_left = beside or any(item.message.role != "system" or item.is_digest for item in after)
    return not is_left and any(item.message.role != "system" for item in before)
