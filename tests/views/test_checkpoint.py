"""A checkpoint is a cache: with it or without, a log gives the same requests."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.dialogue import exchange, lines, user
from tests.properties.play import BUDGETS, Player, random_ops

import foveate
from foveate import Event, LogError, Session
from foveate.budget.tokens import SplintrCounter
from foveate.compile.checkpoint import checkpoint_name, checkpoint_of, resumed
from foveate.compile.timeline import Projector
from foveate.log.events import MessageAppended
from foveate.log.messages import Message

COUNTER = SplintrCounter()


@dataclass
class Kept:
    """The beginning of a log, kept in a list."""

    log: tuple[Event, ...]

    def events(self, first: int, last: int) -> Iterator[Event]:
        return iter(self.log[first:last])

    def message(self, position: int) -> Message:
        return self._messages()[position]

    def prefetch(self, positions: Sequence[int]) -> None:
        assert all(position < len(self._messages()) for position in positions)

    def position(self, message_id: str) -> int | None:
        return next((place for place, one in enumerate(self._messages()) if one.id == message_id), None)

    def _messages(self) -> list[Message]:
        return [event.body.message for event in self.log if isinstance(event.body, MessageAppended)]


def reopened(session: Session, **options: object) -> Session:
    """The session as a checkpoint leaves it, all its events out of memory."""
    context = session.context
    data = checkpoint_of(context, Projector(COUNTER))
    resumed_context, projector = resumed(data, Kept(session.events), COUNTER)
    return Session.continued(resumed_context, None, options, projector)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(1, 120))
def test_a_session_goes_on_from_a_checkpoint_as_if_it_had_never_stopped(rng: random.Random, count: int) -> None:
    """Every event and every request after it is the same, byte for byte."""
    options = {"budget": rng.choice(BUDGETS), "policy": rng.choice(("default", "drop", "mask"))}
    one, other = (Player(Session(system="Be brief.", **options)) for _ in range(2))
    for op in random_ops(rng, count):
        if rng.random() < 0.08:
            other.session = reopened(other.session, **options)
        try:
            view = one.apply(op)
        except (foveate.BudgetError, foveate.EmptyRequestError) as error:
            with pytest.raises(type(error)):
                other.apply(op)
            continue
        again = other.apply(op)
        assert (view is None) == (again is None)
        if view is not None and again is not None:
            assert again.payload == view.payload
            assert again.explain(json=True) == view.explain(json=True)
    assert other.session.dump() == one.session.dump()


def test_a_reopened_session_reads_what_left_its_memory() -> None:
    """Messages, events, references and past calls are there although nothing of them is in memory."""
    session = Session(budget=4_000)
    for number in range(30):
        session.extend([user(f"look at file {number}"), *exchange(f"c{number}", "Read", lines(20), file_path="a.py")])
        session.compile()
    again = reopened(session, budget=4_000)

    assert again.context.log.base == session.context.length
    assert list(again.messages) == list(session.messages)
    assert again.events == session.events
    assert again.recall("m3") == session.recall("m3")
    assert again.call(5).payload == session.call(5).payload
    assert again.preview().payload == session.preview().payload
    assert again.preview().explain(json=True) == session.preview().explain(json=True)


def test_a_result_finds_its_call_across_a_checkpoint() -> None:
    """A batch that was open when the process ended goes on."""
    session = Session(budget=4_000)
    call, result = exchange("c1", "Read", "all of it", file_path="a.py")
    session.extend([user("go"), call])
    again = reopened(session, budget=4_000)
    again.append(result)

    assert again.messages[2].meta.tool_name == "Read"
    assert [message["role"] for message in again.compile().to("openai")] == ["user", "assistant", "tool"]


def test_a_checkpoint_does_not_grow_with_the_log() -> None:
    """What it holds is what stands in the request, and bounded memories."""

    def size(turns: int) -> int:
        session = Session(budget=4_000)
        for number in range(turns):
            session.extend([user(f"go on {number}"), *exchange(f"c{number}", "bash", lines(30), command="make")])
            session.compile()
        return len(checkpoint_of(session.context, Projector(COUNTER)))

    assert size(600) < 1.5 * size(150)


def test_a_snapshot_branches_off_an_archived_log() -> None:
    """Two snapshots that go on from the same reopened one do not see each other's events."""
    session = Session(budget=4_000)
    session.extend([user("one"), user("two")])
    start = reopened(session).context
    first = start.with_events([MessageAppended(message=start.messages[0])])
    second = start.with_events([MessageAppended(message=start.messages[1])])

    assert [message.text for message in first.messages] == ["one", "two", "one"]
    assert [message.text for message in second.messages] == ["one", "two", "two"]


def test_a_damaged_checkpoint_is_refused() -> None:
    """Bytes that are no checkpoint are no timeline."""
    with pytest.raises(LogError, match="cannot read a checkpoint"):
        resumed(b"\x00rubbish", Kept(()), COUNTER)


def test_the_name_says_whose_fold_it_is() -> None:
    """Another tokenizer counts otherwise, so its checkpoints are of no use."""
    assert checkpoint_name(SplintrCounter(encoding="cl100k_base")) != checkpoint_name(COUNTER)
