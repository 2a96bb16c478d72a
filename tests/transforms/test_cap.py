"""Cap: a large output is shown by its beginning and end from its first call on."""

from __future__ import annotations

import pytest
from tests.dialogue import call, calls, exchange, lines, result, says, session_of, user

import foveate
from foveate import Policy, Session, Shares
from foveate.log.events import ReductionRecorded
from foveate.recall.tool import RECALL_TOOL

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


def test_a_rewrite_that_is_due_all_the_same_is_one_reduction_with_it() -> None:
    """One event for both; a restored log shows the same."""
    session = lean([user("go")], budget=1_500)
    for number in range(16):
        session.extend(exchange(f"c{number}", "Bash", lines(150), command=f"cat {number}.txt"))
        view = session.compile()
        assert view.tokens <= 1_500
    made = [event.body for event in session.events if isinstance(event.body, ReductionRecorded)]

    assert [one.number for one in made] == list(range(1, 17))
    assert {one.trigger for one in made} == {"capped", "must"}
    assert all("cap" in one.passes for one in made)
    again = Session.from_events(session.events, budget=1_500, policy=LEAN)
    assert again.compile().to("openai") == session.compile().to("openai")


def test_a_failed_output_still_says_what_went_wrong() -> None:
    """Also if it says so in the middle."""
    text = f"{lines(100)}\nValueError: total is negative\n{lines(60)}\nexit code 1"
    view = lean([user("go"), *exchange("bad", "Bash", text, command="make")]).compile()

    assert "ValueError: total is negative" in output(view, "bad")
    assert "reference m3" in output(view, "bad")


def test_what_was_recalled_is_not_capped_again() -> None:
    """Or the model would be told to recall the answer of its recall, without end."""
    session = session_of(
        [user("go"), *exchange("big", "Bash", LARGE, command="cat all.txt")],
        budget=8_000,
        policy=LEAN,
        tools=[RECALL_TOOL],
    )
    assert "recall restores it" in output(session.compile(), "big")
    session.extend(exchange("again", "recall", session.answer_recall({"reference": "m3"}), reference="m3"))
    view = session.compile()

    assert output(view, "again") == LARGE
    assert output(view, "big") != LARGE


def test_an_image_is_shown() -> None:
    """It has no beginning and end, and recalling gives only text back."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    session = lean([user("go"), calls(call("shot", "screenshot")), result("shot", [image])])
    view = session.compile()

    assert view.decision is None
    assert view.items[-1].message.result is not None
    assert view.items[-1].message.result.media


@pytest.mark.parametrize("share", [0.0, 0.001, 0.05])
def test_no_output_takes_more_than_its_share_and_a_note(share: float) -> None:
    """Nothing at all is a share, and the ends of a text may take more tokens than the rest of it."""
    dense = "".join(f"{number * 7919:x}" for number in range(1_000))
    text = dense + "\n        " * 20_000 + dense
    session = session_of(
        [user("go"), *exchange("big", "Bash", text, command="cat")],
        budget=8_000,
        policy=Policy(name="lean", shares=Shares(output=share)),
    )

    assert session.compile().items[-1].tokens <= 8_000 * share + 60


def test_a_call_that_caps_nothing_is_not_refused_for_its_floor() -> None:
    """A pin of what no request shows takes no room."""
    thought = {"type": "thinking", "thinking": "hm " * 2_000, "signature": "s"}
    session = lean([{"role": "assistant", "content": [thought]}, user("go")], budget=300)
    session.pin("m1")

    assert [item.id for item in session.compile().items] == ["m2"]
