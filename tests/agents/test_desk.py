"""Asking for more: what an agent may look up, and that every access is written down and shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.agents import Desk
from foveate.log.events import AccessRecorded
from foveate.session import Session
from foveate.store import Store
from foveate.work import TaskOutcome

OUTCOMES = (
    TaskOutcome(
        task_id="T1", summary="made the parser", parts={"diff": "line 1\nline 2 about colour\nline 3", "review": "fine"}
    ),
)


def desk(session: Session | None = None) -> tuple[Desk, Session]:
    session = session or Session(budget=4_000)
    return Desk("developer", session, OUTCOMES), session


async def asked(arguments: Mapping[str, Any], session: Session | None = None) -> tuple[str, Session]:
    there, session = desk(session)
    return (await there.answer("recall", arguments)).text, session


def accesses(session: Session) -> list[AccessRecorded]:
    return [event.body for event in session.events if isinstance(event.body, AccessRecorded)]


async def test_the_list_says_what_there_is_without_showing_it() -> None:
    text, _ = await asked({"reference": "list"})
    assert "task:T1#diff (33 characters)" in text and "task:T1#review" in text
    assert "colour" not in text and "made the parser" not in text


async def test_a_large_part_has_a_handle_of_its_own() -> None:
    large = "\n".join(f"line {number}" for number in range(300))
    session = Session(budget=4_000)
    there = Desk("developer", session, (TaskOutcome(task_id="T1", parts={"diff": large}),))
    listed = (await there.answer("recall", {"reference": "list"})).text
    handle = listed.split("characters, ")[1].rstrip(")")
    assert handle.startswith("artifact://diff/")
    asked_for = {"reference": handle, "lines": {"start": 7, "end": 8}}
    assert (await there.answer("recall", asked_for)).text == "line 6\nline 7"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"reference": "task:T1#diff"}, "line 1\nline 2 about colour\nline 3"),
        ({"reference": "task:T1#diff", "lines": {"start": 2, "end": 2}}, "line 2 about colour"),
        ({"reference": "task:T1#review"}, "fine"),
    ],
)
async def test_an_outcome_is_given_whole_or_in_part(arguments: Mapping[str, Any], answer: str) -> None:
    assert (await asked(arguments))[0] == answer


async def test_lines_about_something_are_found() -> None:
    text, _ = await asked({"reference": "task:T1#diff", "query": "colour"})
    assert "line 2 about colour" in text


async def test_ones_own_work_can_be_recalled() -> None:
    session = Session(budget=4_000)
    session.append({"role": "user", "content": "the password is swordfish"})
    assert "swordfish" in (await asked({"reference": "m1"}, session))[0]


async def test_an_artifact_is_given_by_its_whole_handle_only(tmp_path: Path) -> None:
    with Store(tmp_path / "agent.db") as store, Session.open(store, "s", budget=4_000) as session:
        session.append({"role": "user", "content": "x" * 5_000})
        (artifact,) = store.artifacts(store.session("s"))
        assert (await asked({"reference": artifact.handle}, session))[0].startswith("xxx")
        shorter, _ = await asked({"reference": artifact.handle[:-8]}, session)
        assert "no whole handle" in shorter


async def test_every_access_is_recorded_and_explained() -> None:
    session = Session(budget=4_000)
    session.append({"role": "user", "content": "go on"})
    session.compile()
    there, _ = desk(session)
    await there.answer("recall", {"reference": "task:T1#diff", "lines": {"start": 1, "end": 2}})
    await there.answer("recall", {"reference": "task:T9"})
    first, second = accesses(session)
    assert (first.agent, first.reference, first.part, first.found) == ("developer", "task:T1#diff", "lines 1–2", True)
    assert first.tokens > 0 and not second.found
    explanation = session.compile().explain()
    assert [(one.reference, one.call) for one in explanation.accesses] == [("task:T1#diff", 2), ("task:T9", 2)]
    assert "developer asked for task:T1#diff lines 1–2" in str(explanation)
    # The record is part of the log: who reads it back sees the same.
    assert accesses(Session.from_events(session.events)) == [first, second]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"reference": 3},
        {"reference": "task:T9"},
        {"reference": "task:T1#nothing"},
        {"reference": "m99"},
        {"reference": ""},
        {"reference": "list", "more": 1},
        {"reference": "task:T1#diff", "lines": {"start": 9, "end": 12}},
    ],
)
async def test_a_wrong_question_gets_an_answer_that_helps(arguments: Mapping[str, Any]) -> None:
    there, _ = desk()
    answer = await there.answer("recall", arguments)
    assert answer.outcome == "error" and answer.text.startswith("error: ") and "list" in answer.text


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.integers())))
async def test_whatever_a_model_asks_it_gets_an_answer(arguments: dict[str, Any]) -> None:
    there, _ = desk()
    assert (await there.answer("recall", arguments)).text
