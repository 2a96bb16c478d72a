"""Errors that digests call open: what is settled is said once, and nothing that was sent changes."""

from pathlib import Path

import pytest
from tests.dialogue import exchange, reading, says, session_of, user
from tests.validity import problems

from foveate import Session

FAILED = exchange("t1", "Bash", "FAILED tests/test_a.py::test_x\n1 failed in 0.1s\nExit code: 1", command="pytest")
PASSED = exchange("t2", "Bash", "9 passed in 0.1s\nExit code: 0", command="pytest")


def folded_session(policy: str = "default") -> Session:
    """A session whose digest has an open error."""
    session = session_of([user("Fix the tests."), *FAILED, *reading(12)], budget=3_000, policy=policy)
    assert "open error m3" in session.compile().to("text")
    return session


@pytest.mark.parametrize("policy", ["default", "lines", "drop", "chat"])
def test_a_settled_error_is_said_to_be_before_the_next_input(policy: str) -> None:
    """As an append: all that was sent stands before it, byte for byte."""
    session = folded_session(policy)
    session.extend([*PASSED, says("It works.")])
    before = session.compile()
    session.append(user("Good. What else?"))
    view = session.compile()

    if view.decision is None:
        assert view.to("openai")[: len(before.to("openai"))] == before.to("openai")
        assert "settled: the error m3, open above, passed in m29" in view.to("text")
    else:
        assert "open error m3" not in view.to("text") or "settled: the error m3" in view.to("text")
    assert problems(view.to("openai")) == []
    session.extend([says("Nothing."), user("Then go on.")])
    assert session.compile().to("text").count("settled: the error m3") <= 1


@pytest.mark.parametrize("policy", ["default", "lines"])
def test_a_settled_error_is_said_to_be_in_the_next_rewrite(policy: str) -> None:
    """Within a turn: the older digest keeps its bytes, and the new one knows better."""
    session = folded_session(policy)
    digest = next(item for item in session.compile().items if item.is_digest)
    session.extend([*PASSED, *reading(12, first=12)])
    view = session.compile()

    assert view.decision is not None
    if digest in view.items and "open error m3" in digest.message.text:
        newest = [item for item in view.items if item.is_digest][-1]
        assert newest != digest
        assert [(line.kind, line.source) for line in newest.lines if line.kind == "settled"] == [("settled", "m3")]
    else:
        assert "open error m3" not in view.to("text")


def test_what_the_user_settled_is_said_too() -> None:
    """`session.resolve`."""
    session = folded_session()
    session.extend([says("I could not fix it.")])
    session.resolve("m3")
    session.append(user("Leave it."))

    assert "settled: the error m3, open above, settled by the user" in session.compile().to("text")


def test_settled_errors_survive_a_rebuild_and_a_checkpoint(tmp_path: Path) -> None:
    """What settles an error is known in another process, and each call is the same there."""
    with Session.open(tmp_path / "a.db", "s", budget=3_000) as session:
        session.extend([user("Fix the tests."), *FAILED, *reading(12)])
        session.compile()
    with Session.open(tmp_path / "a.db", "s", budget=3_000) as session:
        session.extend([*PASSED, says("It works."), user("What else?")])
        view = session.compile()
        assert "settled: the error m3" in view.to("text")
        assert session.call(view.number).to("text") == view.to("text")
