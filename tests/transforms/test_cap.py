"""Cap: a large output is shown by its beginning and end from its first call on."""

from __future__ import annotations

from tests.dialogue import exchange, lines, says, session_of, user

import foveate
from foveate import Policy, Session, Shares
from foveate.log.events import ReductionRecorded

LARGE = lines(200)
LEAN = Policy(name="lean", shares=Shares(output=0.0625))


def lean(messages, budget: int = 8_000) -> Session:
    return session_of(messages, budget=budget, policy=LEAN)


def output(view: foveate.CompiledContext, call: str) -> str:
    return next(m.result.text for m in view.messages if m.result is not None and m.result.call_id == call)


def test_a_large_output_is_capped_at_its_first_call() -> None:
    """Beginning, end, what is left out and how to get it back."""
    session = lean([user("go"), *exchange("big", "Bash", LARGE, command="cat all.txt")])
    view = session.compile()
    shown = output(view, "big")

    assert shown.startswith(LARGE[:100])
    assert shown.endswith(LARGE[-100:])
    assert "reference m3" in shown
    assert view.decision is not None
    assert view.decision.trigger == "capped"
    assert 440 < next(item for item in view.items if item.id == "m3").tokens < 560
    assert session.recall("m3") == LARGE


def test_what_was_capped_stays_as_it_is_byte_for_byte() -> None:
    """A second compile makes no second decision."""
    session = lean([user("go"), *exchange("big", "Bash", LARGE, command="cat all.txt")])
    first = session.compile().to("openai")
    session.extend([says("I see."), user("and now?")])
    second = session.compile()

    assert second.decision is None
    assert second.to("openai")[: len(first)] == first


def test_small_outputs_pins_and_the_default_policy_leave_everything_whole() -> None:
    small = lean([user("go"), *exchange("one", "Bash", "x = 1", command="cat")])
    assert small.compile().decision is None

    pinned = lean([user("go"), *exchange("big", "Bash", LARGE, command="cat all.txt")])
    pinned.pin("m3")
    assert output(pinned.compile(), "big") == LARGE

    usual = session_of([user("go"), *exchange("big", "Bash", LARGE, command="cat all.txt")], budget=8_000)
    assert output(usual.compile(), "big") == LARGE


def test_what_was_sent_whole_is_not_capped_later() -> None:
    """It would break the prefix that a provider has cached."""
    session = session_of([user("go"), *exchange("big", "Bash", LARGE, command="cat all.txt")], budget=8_000)
    session.compile()
    session.extend([says("I see."), user("more"), *exchange("next", "Bash", LARGE, command="cat more.txt")])
    view = Session.from_events(session.events, budget=8_000, policy=LEAN).compile()

    assert output(view, "big") == LARGE
    assert output(view, "next") != LARGE


def test_capping_comes_first_and_may_be_enough() -> None:
    """An output that would not fit whole forces no rewrite of the rest."""
    session = lean([user("go"), *exchange("a", "Bash", lines(20), command="cat a.txt")])
    session.compile()
    session.extend(exchange("big", "Bash", lines(2_000), command="cat all.txt"))
    view = session.compile()

    assert view.decision is not None
    assert view.decision.trigger == "capped"
    assert output(view, "a") == lines(20)


def test_a_rewrite_that_is_due_all_the_same_is_made_in_the_same_call() -> None:
    """Two reductions with numbers of their own, in this order; a restored log shows the same."""
    session = lean([user("go")], budget=1_500)
    triggers: list[str] = []
    for number in range(16):
        session.extend(exchange(f"c{number}", "Bash", lines(150), command=f"cat {number}.txt"))
        view = session.compile()
        triggers += [body.trigger for body in view.proposed if isinstance(body, ReductionRecorded)]
        assert view.tokens <= 1_500
    numbers = [event.body.number for event in session.events if isinstance(event.body, ReductionRecorded)]

    assert numbers == list(range(1, len(numbers) + 1))
    assert triggers.count("capped") == 16
    assert "must" in triggers
    again = Session.from_events(session.events, budget=1_500, policy=LEAN)
    assert again.compile().to("openai") == session.compile().to("openai")
