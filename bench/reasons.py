"""Why others do better by some measure: one reason for each kind of line."""

from __future__ import annotations

from typing import Final

_COST: Final = (
    "Who sends less pays less, and keeps less: cost is to be read beside references kept. For less money there are "
    "`frugal` and `lean`."
)
_KEPT: Final = (
    "Those arms cost more, most of them since they send more at every call. In a large budget Foveate as it comes "
    "sends much less than it may, because its shares grow with a root of the budget only; `patient` and `thorough` "
    "use more of it and keep more."
)
_ROOM: Final = "What these arms show more of takes room from what else they keep."

# By measure; the last four are those beyond the replay.
REASONS: Final[dict[str, str]] = {
    "cost at Anthropic": _COST,
    "cost at OpenAI": _COST,
    "cost at Gemini": _COST,
    "references kept": _KEPT,
    "references last seen far back": _KEPT,
    "references seen in tool output only": _KEPT,
    "references to files that were changed": _KEPT,
    "last three exchanges unchanged": "When Foveate reduces history, they may take two fifths of the room at most, "
    "less in larger budgets; outputs in them that exceed it are shortened, so that older things stay. Who drops whole "
    "messages leaves the newest as they are and gives up the rest.",
    "user messages": _ROOM,
    "first request": _ROOM,
    "open errors": _ROOM,
    "time for a request, ms at p50": "Foveate counts, checks and explains each request; who drops messages from one "
    "end does none of that. Either is little beside a model's answer.",
    "resuming": "The first request of the user after a session was resumed from memory indexes the whole log for "
    "recall, once. A loop that goes on does that message by message.",
    "reading": "The time goes into tokens that are not reused, and who sends shorter prompts has fewer of them. "
    "Foveate fills the budget.",
    "recall": "By default 4 % of the budget go to recall, since an agent's next action mostly refers to what is near; "
    "`chat` is the policy for conversations. In dialogues that nearly fit, the newest messages are hard to beat.",
}
