"""The payload: the request as bytes, and their hash."""

import hashlib
import json

import pytest
from tests.dialogue import call, calls, result, session_of, user, work

from foveate import ContextSection, Session, load_events

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@pytest.mark.parametrize("budget", [None, 3_000])
def test_the_hash_is_of_the_payload_at_every_call(budget: int | None) -> None:
    """Hashing incrementally gives what hashing the whole gives."""
    session = session_of([], budget=budget, system="Be kind.", tools=[TOOL])
    for index, message in enumerate(work(6)):
        session.append(message)
        view = session.compile(sections=[ContextSection(name="Step", content=str(index))])
        assert hashlib.sha256(view.payload).hexdigest() == view.payload_sha256


def test_the_payload_is_the_request() -> None:
    """Its messages are those that every format is written from."""
    view = session_of([*work(3)], system="Be kind.", tools=[TOOL], response_format={"type": "json_object"}).compile()
    payload = json.loads(view.payload)

    assert [message[0] for message in payload["messages"] if message] == [message.role for message in view.messages]
    assert (payload["wire"], payload["system"]) == (2, "Be kind.")
    assert (payload["tools"], payload["response_format"]) == ([TOOL], {"type": "json_object"})


def test_incremental_and_whole_are_the_same_bytes() -> None:
    """A live session against one rebuilt from its events at every step."""
    live = session_of([], budget=2_500)
    for message in [*work(5), calls(call("open", "Bash", command="x")), user("?"), result("open", "late"), *work(2)]:
        live.append(message)
        rebuilt = Session.from_events(load_events(live.dump()), budget=2_500)
        expected = rebuilt.preview()
        view = live.compile()
        assert (view.payload, view.payload_sha256, view.tokens) == (
            expected.payload,
            expected.payload_sha256,
            expected.tokens,
        )


def test_a_change_of_framing_changes_the_hash() -> None:
    """The system prompt is part of the request."""
    session = session_of([user("hi")], system="Be kind.")
    before = session.compile().payload_sha256
    session.reframe(system="Be brief.")
    view = session.compile()

    assert view.payload_sha256 != before
    assert hashlib.sha256(view.payload).hexdigest() == view.payload_sha256


def test_an_old_view_keeps_its_bytes_while_the_session_goes_on() -> None:
    """A view is what was sent, not what would be sent now."""
    session = session_of(work(4), budget=3_000)
    view = session.compile()
    payload, explained = view.payload, view.explain(json=True)
    session.extend(work(6))
    session.compile()

    assert view.payload == payload
    assert view.explain(json=True) == explained
