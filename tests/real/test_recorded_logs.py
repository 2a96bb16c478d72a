"""Promises on logs that real agents left behind."""

from __future__ import annotations

import os

import pytest
from bench.logs import RecordedSession, data_root, load_sessions

import foveate
from tests.validity import problems

ROOT = data_root()
if ROOT is None and not os.environ.get("CI"):
    pytest.skip("no recorded logs: set FOVEATE_DATA to a directory of them", allow_module_level=True)

SESSIONS = load_sessions(ROOT) if ROOT is not None else []


def test_the_recorded_logs_are_there() -> None:
    """In CI missing logs are a failure, not a skip."""
    assert len(SESSIONS) > 50


@pytest.mark.parametrize("source", sorted({session.source for session in SESSIONS}))
@pytest.mark.parametrize("budget", [4_000, 8_000, 32_000])
def test_every_recorded_step_compiles(source: str, budget: int) -> None:
    """At every step: a valid request within budget, an extension of the last one unless it was reduced."""
    calls = refused = 0
    for recorded in (session for session in SESSIONS if session.source == source):
        seen, unable = _replay(recorded, budget)
        calls += seen
        refused += unable
    print(f"{source} at {budget}: {calls} calls, {refused} refused")
    assert calls > 20
    assert refused == 0


def _replay(recorded: RecordedSession, budget: int) -> tuple[int, int]:
    session = foveate.Session(budget=budget, system=recorded.system or None)
    previous: list[dict[str, object]] = []
    calls = refused = 0
    for index, message in enumerate(recorded.messages):
        if index and message["role"] == "assistant":
            try:
                view = session.compile(now=recorded.timestamps[index])
            except foveate.BudgetError as error:
                # Only what must be sent may be too large, and then the error says so in numbers.
                assert sum(error.parts.values()) > error.limit
                refused += 1
                continue
            request = view.to("openai")
            assert not problems(request), (recorded.name, index)
            assert view.budget is not None
            assert view.budget.used <= budget
            if not view.proposed:
                assert request[: len(previous)] == previous, (recorded.name, index)
            previous, calls = request, calls + 1
        session.append(message)
    return calls, refused


def test_a_rebuilt_session_goes_on_with_the_same_bytes() -> None:
    """The longest recorded session, rebuilt from its serialised events, gives the same next request."""
    recorded = max(SESSIONS, key=lambda session: len(session.messages))
    session = foveate.Session(budget=8_000, system=recorded.system or None)
    for index, message in enumerate(recorded.messages):
        if index and message["role"] == "assistant":
            session.compile()
        session.append(message)
    events = session.dump()
    again = foveate.Session.from_events(foveate.load_events(events), budget=8_000)
    assert again.dump() == events
    assert again.compile().payload == session.compile().payload


def test_every_past_call_is_reproduced_byte_for_byte() -> None:
    """Folding the events up to a recorded call gives the payload whose hash that call recorded."""
    recorded = max((s for s in SESSIONS if s.source == "claude_code"), key=lambda session: len(session.messages))
    session = foveate.Session(budget=8_000, system=recorded.system or None)
    for index, message in enumerate(recorded.messages[:300]):
        if index and message["role"] == "assistant":
            session.compile()
        session.append(message)
    calls = [event for event in session.events if type(event.body).__name__ == "CallRecorded"]
    assert len(calls) > 50
    for event in calls[::10]:
        rebuilt = session.call(event.body.number)
        assert rebuilt.payload_sha256 == event.body.payload_sha256
