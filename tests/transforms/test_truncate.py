"""Truncate: the last resort that always fits."""

import pytest
from tests.dialogue import call, calls, drafted, exchange, lines, reading, result, says, session_of, user, work

from foveate import POLICIES, BudgetError, Session
from foveate.compile.passes import Truncate


@pytest.mark.parametrize("limit", [150, 400, 1_000, 3_000])
def test_it_always_fits(limit: int) -> None:
    """Whatever the log has, the draft is within the limit and the newest input verbatim."""
    draft, ctx = drafted(session_of([*work(4), user("the newest question")]), limit=limit)
    after = Truncate()(draft, ctx)

    assert after.tokens <= limit
    assert after.items[-1].message.text == "the newest question"


def test_a_draft_that_fits_is_left_alone() -> None:
    """It runs only when the draft is too large to send."""
    draft, ctx = drafted(session_of(work(2)))

    assert not Truncate().needed(draft, ctx)


def test_large_outputs_yield_before_messages_are_dropped() -> None:
    """A preview is better than nothing."""
    draft, ctx = drafted(
        session_of([user("go"), *exchange("1", "Bash", lines(400), command="make"), says("ok"), user("next")]),
        limit=1_500,
    )
    after = Truncate()(draft, ctx)

    assert [(item.id, item.fate) for item in after.items] == [
        ("m1", "verbatim"), ("m2", "verbatim"), ("m3", "masked"), ("m4", "verbatim"), ("m5", "verbatim"),
    ]  # fmt: skip


def test_an_exchange_goes_whole_or_not_at_all() -> None:
    """At every limit the pairs are whole."""
    session = session_of(
        [
            user("go"),
            calls(call("a", "Read", file_path="x"), call("b", "Read", file_path="y")),
            result("a", lines(50)),
            result("b", lines(50)),
            *reading(3),
            user("next"),
        ]
    )
    for limit in range(60, 3_000, 60):
        draft, ctx = drafted(session, limit=limit)
        shown = {item.id for item in Truncate()(draft, ctx).items}
        assert len(shown & {"m2", "m3", "m4"}) in (0, 3), limit


def test_what_must_be_sent_and_does_not_fit_is_a_budget_error_with_numbers() -> None:
    """There is no silent overflow."""
    draft, ctx = drafted(session_of([user(lines(100))]), limit=100)

    with pytest.raises(BudgetError) as caught:
        Truncate()(draft, ctx)
    assert caught.value.limit == 100
    assert caught.value.needed > 1_000


def test_a_newest_exchange_of_a_megabyte_fits() -> None:
    """One huge output is cut to a preview."""
    session = session_of([user("go"), *exchange("1", "Bash", "data " * 200_000, command="cat big")])
    draft, ctx = drafted(session, limit=2_000)
    after = Truncate()(draft, ctx)

    assert after.tokens <= 2_000
    assert [item.id for item in after.items] == ["m1", "m2", "m3"]


@pytest.mark.parametrize(("count", "budget"), [(30, 1_000), (60, 2_000), (200, 8_000)])
def test_an_exchange_that_is_too_large_leaves_a_trace_and_takes_nothing_with_it(count: int, budget: int) -> None:
    """Its first calls are named, what was said before it stays, and a diagnostic says what the model does not see."""
    said = [message for n in range(5) for message in (user(f"earlier {n}"), says(f"answer {n}"))]
    many = [call(f"c{n}", "bash", command=f"cat src/module_{n}/file_{n}.py") for n in range(count)]
    session = session_of(
        [
            *said,
            user("read all files"),
            calls(*many),
            *(result(f"c{n}", f"out {n} " + "x y " * 5) for n in range(count)),
        ],
        budget=budget,
    )
    view = session.compile()
    text = view.to("text")

    assert view.tokens <= budget
    assert "m12 bash cat src/module_0/file_0.py" in text and "m12 to m" in text
    assert all(f"earlier {n}" in text for n in range(5))
    assert "answer" in text
    assert [one.partition(":")[0] for one in view.explain().diagnostics] == ["newest_dropped"]
    session.append(says("Those were too many."))
    assert "Those were too many." in session.compile().to("text")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("caption", ["", " ", "\n\n"])
def test_a_picture_with_a_blank_caption_leaves_a_note(policy: str, caption: str) -> None:
    """When the picture has to go, a word for it stays: a message may not be empty."""
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    session = Session(budget=2_400, policy=policy)
    session.extend([user([{"type": "text", "text": caption}, picture]), says("word " * 100)])
    session.append(user("next " + "word " * 1_200))

    first = session.compile(now=1.0).messages[0]

    assert first.text == "[image left out; reference m1]"
