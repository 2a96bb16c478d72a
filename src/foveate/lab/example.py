"""An example: the built-in coding session, replayed."""

from __future__ import annotations

from foveate.importers.recording import Recording
from foveate.lab.replay import DEFAULT_POLICIES, replay
from foveate.lab.result import Result
from foveate.lab.sources import given
from foveate.sample import SYSTEM, coding_session, tools
from foveate.wire.openai_chat import decode


def example_recording(messages: int | None = None) -> Recording:
    """The built-in session as a recording: ten seconds between messages, ten minutes before each user input."""
    decoded = [decode(raw) for raw in coding_session()][:messages]
    times: list[float | None] = []
    now = 1_767_000_000.0
    for message in decoded:
        now += 600 if message.role == "user" else 10
        times.append(now)
    return Recording(
        session="sample", format="sample", system=SYSTEM, tools=tuple(tools()), messages=decoded, times=times
    )


def example(*, model: str = "anthropic:claude-sonnet-4-5", budget: int = 8_000, messages: int | None = None) -> Result:
    """What the policies make of the built-in session."""
    sources = [given(example_recording(messages))]
    return replay(sources, policies=DEFAULT_POLICIES, model=model, budget=budget, jobs=1)
