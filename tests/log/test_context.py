"""Snapshots of the log are immutable and cheap."""

import pytest
from tests.dialogue import call, calls, result, says, session_of, user

from foveate.log.context import AgentContext
from foveate.log.events import Pinned
from foveate.log.router import AgentStep, DefaultRouter
from foveate.wire.openai_chat import decode

ROUTER = DefaultRouter()


def step(*raw: dict) -> AgentStep:
    return AgentStep(messages=tuple(decode(one) for one in raw))


def test_a_snapshot_does_not_see_what_comes_later() -> None:
    """Messages and events of a snapshot stay the same while the session goes on."""
    session = session_of([user("one")])
    before = session.context
    session.append(says("two"))

    assert [message.text for message in before.messages] == ["one"]
    assert before.messages[-1].text == "one"
    assert len(before.events) == before.length
    with pytest.raises(IndexError):
        before.messages[1]


def test_two_continuations_of_one_snapshot_do_not_mix() -> None:
    """Going on twice from the same moment gives two histories."""
    start = ROUTER.route(AgentContext(), step(user("one")))
    left = ROUTER.route(start, step(says("left")))
    right = ROUTER.route(start, step(says("right")))

    assert [message.text for message in left.messages] == ["one", "left"]
    assert [message.text for message in right.messages] == ["one", "right"]
    assert [message.text for message in start.messages] == ["one"]


def test_a_snapshot_is_rebuilt_from_its_events() -> None:
    """Turn, step, execution and framing follow from the events alone."""
    session = session_of([user("one"), says("two"), user("three")], system="Be kind.")
    rebuilt = AgentContext.from_events(session.events)

    for name in ("turn", "step", "execution_id", "system", "tools", "model", "message_count", "length", "session"):
        assert getattr(rebuilt, name) == getattr(session.context, name), name


def test_messages_can_be_sliced_without_leaving_the_snapshot() -> None:
    """A slice ends where the snapshot ends."""
    session = session_of([user("one"), says("two")])
    before = session.context.messages
    session.append(user("three"))

    assert [message.text for message in before[0:10]] == ["one", "two"]
    assert len(before) == 2


def test_the_newest_call_with_an_id_is_found() -> None:
    """When an id is used again, results belong to the later call."""
    session = session_of([user("x"), calls(call("a", "first")), result("a", "1"), calls(call("a", "second"))])

    found = session.context.call("a")
    assert found is not None
    assert found.name == "second"
    assert session.context.call("b") is None


def test_a_snapshot_keeps_its_own_call_when_the_id_is_used_again_later() -> None:
    """A snapshot's answers do not depend on what was appended after it."""
    session = session_of([user("x"), calls(call("a", "first")), result("a", "1")])
    before = session.context
    session.append(calls(call("a", "second")))

    found = before.call("a")
    assert found is not None
    assert found.name == "first"


def test_events_without_messages_change_no_message() -> None:
    """A pin is an event, not a message."""
    context = ROUTER.route(AgentContext(), step(user("one"))).with_events([Pinned(message_id="m1")], time=3.0)

    assert context.message_count == 1
    assert context.events[-1].body == Pinned(message_id="m1")
    assert context.events[-1].time == 3.0
