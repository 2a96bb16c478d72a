"""Limits: how much room messages have, how far down a reduction goes, and whether the floor fits at all."""

from __future__ import annotations

from foveate.budget.economics import marks
from foveate.budget.profiles import CacheRules
from foveate.budget.window import TokenBudget
from foveate.compiler.framing import Framing
from foveate.compiler.policy import Policy
from foveate.errors import BudgetError
from foveate.views.timeline import Timeline


def room_for_messages(timeline: Timeline, framing: Framing, budget: TokenBudget) -> int:
    """The tokens, by our own count, that messages may take."""
    return budget.limit * 1_000 // timeline.calibration.ratio - framing.tokens


def low_mark(timeline: Timeline, framing: Framing, budget: TokenBudget, cache: CacheRules, policy: Policy) -> int:
    """The tokens of messages, by our own count, that a reduction comes down to."""
    limit = budget.limit * 1_000 // timeline.calibration.ratio
    owed = sum(owed_tokens(timeline))
    if policy.low is not None:
        return max(int(limit * policy.low) - framing.tokens, owed)
    return marks(limit, min(limit, framing.tokens + owed), timeline.growth, cache).low - framing.tokens


def checked_room(room: int, timeline: Timeline, framing: Framing, budget: TokenBudget) -> int:
    """The room for messages, if what must be sent fits into it; found before any work is done."""
    pinned, newest = owed_tokens(timeline)
    if pinned + newest > room:
        parts = {"system, tools and sections": framing.tokens, "pinned": pinned, "newest input": newest}
        needed = timeline.calibration.correct(sum(parts.values()))
        listed = ", ".join(f"{name} {tokens}" for name, tokens in parts.items() if tokens)
        raise BudgetError(
            f"what must be sent needs {needed} tokens ({listed}) but `budget` is {budget.limit}; "
            "raise `budget`, unpin, or shorten system prompt, tools or input",
            needed=needed,
            limit=budget.limit,
            parts=parts,
        )
    return room


def owed_tokens(timeline: Timeline) -> tuple[int, int]:
    """Tokens of pinned and leading system messages, and of the newest input."""
    pinned = {position for pin in timeline.pins if (position := timeline.position(pin)) is not None}
    newest = timeline.position(timeline.newest_input) if timeline.newest_input is not None else None
    kept = (pinned | set(range(timeline.leading))) - {newest}
    return (
        sum(timeline.count(timeline.said[position]) for position in kept),
        timeline.count(timeline.said[newest]) if newest is not None else 0,
    )
