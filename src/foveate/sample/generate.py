"""Plays the tasks one after the other and hands over what was said."""

from __future__ import annotations

import random

from foveate.sample.project import FILES, HISTORY
from foveate.sample.recorder import Recorder
from foveate.sample.tasks import TASKS, task
from foveate.sample.toolset import SYSTEM
from foveate.sample.workspace import Workspace

# What the user asks last, by the number of tasks done; from the sixth on, always the last one.
_CLOSING = (
    "Quick question before the next one: which setting holds the TTL, and what is it set to?",
    "Before I write to ops: what did I ask you never to touch, and is anything still open?",
    "Which event name does the warehouse's script filter by? I have to tell Lin Jing.",
    "For my notes: which commit was it, and which orders were waiting?",
    "Which of my house rules matters for the amounts in those events?",
    (
        "One more for the incident report, then I'm off: what was the commit that broke the "
        "invoice rounding, which three orders were affected, and what is still open?"
    ),
)


def coding_session(turns: int = 6, seed: int = 7) -> list[dict[str, object]]:
    """A coding agent's session in OpenAI's message format, ending where the model is to answer.

    `turns` counts the user's tasks, about 70 messages each for the first six and 50 for those
    after; some come with a question before or after. The same arguments give the same messages,
    and a longer session begins with the shorter one, up to its last message.
    """
    return record(turns, seed).messages


def record(turns: int, seed: int) -> Recorder:
    """The session together with the project as the agent left it."""
    if turns < 1:
        raise ValueError(f"`turns` must be 1 or more, got {turns!r}")
    rng = random.Random(seed)
    session = Recorder(Workspace(FILES, HISTORY, rng), rng)
    session.system(SYSTEM)
    for number in range(turns):
        task(number)(session)
    session.user(_CLOSING[min(turns, len(TASKS)) - 1])
    return session
