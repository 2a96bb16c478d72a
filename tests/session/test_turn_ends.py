"""A turn's end: what the next request would wait for is done before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.dialogue import exchange, reading, says, session_of, user
from tests.validity import problems

from foveate import Session
from foveate.compile.summaries import SummaryRequest
from foveate.log.events import DiagnosticRecorded, ReductionRecorded, SummaryRecorded


class Writer:
    """A summarizer that keeps what it was asked."""

    name = "writer"

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[SummaryRequest] = []

    async def summarise(self, request: SummaryRequest, /) -> str:
        self.asked.append(request)
        return self.text


def full(policy: str, writer: Writer | None = None) -> Session:
    """A session after an answer, with no room for another turn like its first."""
    return filled(session_of([], budget=6_000, policy=policy, summarizer=writer))


def filled(session: Session) -> Session:
    """A session of 6,000 tokens after two turns that leave no room for a third."""
    session.extend(
        [
            user("Look at the files."),
            *reading(3),
            says("They are fine. The parser loses the last line."),
            user("More."),
        ]
    )
    session.compile()
    session.extend(
        [*exchange("w", "Write", "ok", file_path="src/parser_fix.py", content="x = 1"), *reading(4, first=3)]
    )
    session.extend([says("Done with these.")])
    return session


def bodies(session: Session, kind: type[Any]) -> list[Any]:
    return [event.body for event in session.events if isinstance(event.body, kind)]


@pytest.mark.parametrize("policy", ["default", "lines", "patient", "mask", "drop"])
async def test_a_turn_that_leaves_no_room_is_reduced_at_its_end(policy: str) -> None:
    """The next request finds it done, and is made without another reduction."""
    session = full(policy)
    before = session.compile().tokens
    assert before > 4_000
    assert await session.end_turn()
    made = len(bodies(session, ReductionRecorded))
    assert not await session.end_turn(), "once"
    session.append(user("And now?"))
    view = session.compile()

    assert view.decision is None
    assert view.tokens < before
    assert len(bodies(session, ReductionRecorded)) == made
    assert problems(view.to("openai")) == []
    again = Session.from_events(session.events, budget=6_000, policy=policy)
    assert again.call(view.number).to("openai") == view.to("openai")


async def test_nothing_is_done_where_there_is_room_or_work_goes_on() -> None:
    """In the middle of a turn, and in a session with room for another one."""
    roomy = session_of([user("Hi."), says("Hello.")], budget=6_000)
    assert not await roomy.end_turn()
    session = full("default")
    session.extend(exchange("r", "Read", "x", file_path="a.py"))
    assert not await session.end_turn()


@pytest.mark.parametrize("policy", ["default", "lines"])
async def test_a_summary_is_written_at_the_turns_end(policy: str) -> None:
    """The next request shows it, and nobody is asked then."""
    writer = Writer("SUMMARY: files looked at; the parser loses the last line; wrote src/parser_fix.py.")
    session = full(policy, writer)
    session.compile()
    assert await session.end_turn()
    assert len(writer.asked) == 1
    session.append(user("And now?"))
    view = await session.acompile()

    assert len(writer.asked) == 1
    assert "SUMMARY: files looked at" in view.to("text")
    assert [body.through for body in bodies(session, SummaryRecorded)] == [writer.asked[0].through]


async def test_a_summary_that_loses_what_the_ledger_has_is_refused() -> None:
    """The digest stays, and a diagnostic names the loss."""
    writer = Writer("All went well.")
    session = full("default", writer)
    session.extend([user("Go on."), says("We must never call flush_ledger twice, as the quota of acme-7 is 40.")])
    session.extend([user("Ok."), *reading(5, first=9), says("Read them.")])
    session.compile()
    while not writer.asked or not writer.asked[-1].must_keep:
        number = len(session.messages)
        session.extend([user(f"Next {number}."), *reading(4, first=number), says(f"We decided to use rule_{number}.")])
        session.compile()
        await session.end_turn()
        assert number < 400
    failed = [body for body in bodies(session, DiagnosticRecorded) if body.code == "summary_failed"]

    assert any("leaves out what only it would show" in body.text for body in failed)
    assert writer.asked[-1].through not in {body.through for body in bodies(session, SummaryRecorded)}


async def test_another_writer_may_end_the_turn_first(tmp_path: Path) -> None:
    """The reduction is made of the log as it stands then: the other's is taken in, and none is made of what is gone."""
    one = filled(Session.open(tmp_path / "agent.db", "shared", budget=6_000))
    other = Session.open(tmp_path / "agent.db", "shared", budget=6_000)
    assert await other.end_turn()
    assert not await one.end_turn()

    one.append(user("And now?"))
    view = one.compile()
    assert [body.number for body in bodies(one, ReductionRecorded)] == list(range(1, one.reductions + 1))
    assert problems(view.to("openai")) == []
    for session in (one, other):
        session.close()
