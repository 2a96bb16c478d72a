"""Moments: when a rewrite disturbs nobody. Between two turns nothing is being worked on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from foveate.budget.window import TokenBudget
from foveate.compile.passes.compose import has_room_for_turn
from foveate.compile.policy import When
from foveate.compile.projection import Projection


@dataclass(frozen=True, slots=True, kw_only=True)
class BetweenTurns:
    """Reduce between two turns if there is no room for another one, so that none has to be reduced in its middle.

    `also` knows other reasons. Give it to a policy as `when`.
    """

    also: When | None = None
    recipe_name: ClassVar[str] = "due.between_turns@1"

    def __call__(self, timeline: Projection, budget: TokenBudget, /) -> str | None:
        """Why a reduction is due at this call; None if it is not."""
        other = self.also(timeline, budget) if self.also is not None else None
        if other is not None or not is_between_turns(timeline):
            return other
        items, used = timeline.mender.items, max(timeline.mender.tokens, budget.used)
        if timeline.kept and timeline.mender.tokens <= timeline.kept:
            # It is as small as the last reduction made it.
            return None
        return None if has_room_for_turn(items, used, budget.limit) else "there is little room left for another turn"


def is_between_turns(timeline: Projection) -> bool:
    """Whether a turn has ended with an answer, or one begins."""
    if not timeline.message_count:
        return False
    newest = timeline.position(timeline.newest_input) if timeline.newest_input is not None else None
    last = timeline.message(timeline.message_count - 1)
    return (last.role == "assistant" and not last.calls) or (newest is not None and newest >= timeline.sent_messages)
