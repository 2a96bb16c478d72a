"""Asked: a soft threshold, a headroom and `compact_when` are obeyed wherever they lie, or say why not."""

from __future__ import annotations

import pytest
from tests.dialogue import reading, says, session_of, user

from foveate import ConfigError, Session, TokenBudget
from foveate.compile.table import as_text
from foveate.log.events import DiagnosticRecorded
from foveate.sample import coding_session

LOW = [
    {"budget": TokenBudget(window=32_000, soft_threshold=3_000)},
    {"budget": TokenBudget(window=32_000, minimum_headroom=29_001)},
    {"budget": 32_000, "compact_when": lambda _state, _messages, budget: budget.used >= 3_000},
]


@pytest.mark.parametrize("options", LOW)
def test_a_mark_below_a_quarter_of_the_budget_is_obeyed(options: dict) -> None:
    """The request comes down, though the low mark is 8,000 tokens."""
    log = [user("go"), *reading(10), user("and now?")]
    whole = session_of(log).compile().tokens
    view = session_of(log, policy="patient", **options).compile()

    assert 3_000 < whole < 8_000
    assert view.decision is not None
    assert view.decision.trigger == "asked"
    assert view.tokens < 3_000


def test_a_soft_threshold_holds_over_a_session() -> None:
    """Requests stay near it: what is above is the running work, which stays as it is."""
    session, sizes = Session(budget=TokenBudget(window=8_000, soft_threshold=3_000), policy="patient"), []
    for message in coding_session(turns=2):
        if message["role"] == "assistant":
            sizes.append(session.compile().tokens)
        session.append(message)

    assert sum(size >= 3_000 for size in sizes) < len(sizes) / 8
    assert max(sizes) < 4_000


def test_what_cannot_be_made_smaller_is_said_once() -> None:
    """The diagnostic has the reason and the numbers; the same input is not tried again."""
    session = session_of([user("word " * 400)], budget=TokenBudget(window=8_000, soft_threshold=100))
    session.compile()
    session.append(says("ok"))
    session.compile()
    said = [event.body for event in session.events if isinstance(event.body, DiagnosticRecorded)]

    assert [body.code for body in said] == ["reduction_declined"]
    assert "have reached the 100 of `soft_threshold`; the passes make" in said[0].text


def test_who_always_asks_gets_no_rewrite_for_nothing() -> None:
    """What was just reduced is reduced again once it has grown by an eighth."""
    session = session_of([user("go"), *reading(10)], budget=32_000, policy="patient", compact_when=lambda *_: True)
    first = session.compile()
    session.append(says("ok"))

    assert first.decision is not None
    assert session.compile().decision is None


def test_a_threshold_that_no_request_reaches_is_refused() -> None:
    """Requests are never larger than the limit."""
    with pytest.raises(ConfigError, match=r"`soft_threshold` 7001 would never be reached.* 7000 tokens"):
        TokenBudget(window=8_000, reserved_output=1_000, soft_threshold=7_001)


def test_a_headroom_that_leaves_nothing_is_refused() -> None:
    """Every request would be too large."""
    with pytest.raises(ConfigError, match="`minimum_headroom` 8000 leaves nothing of the 8000 tokens"):
        TokenBudget(window=8_000, minimum_headroom=8_000)


def test_a_narrowed_budget_keeps_its_marks_in_proportion() -> None:
    """A provider whose window turned out to be half as large asks at half of the threshold."""
    budget = TokenBudget(window=8_000, soft_threshold=6_000, minimum_headroom=1_000).narrowed(4_000)

    assert (budget.limit, budget.soft_threshold, budget.minimum_headroom) == (4_000, 3_000, 500)


def test_an_account_says_that_nothing_was_reduced() -> None:
    """A trigger that led to nothing is no reduction, in the table and as data, live and rebuilt."""
    session = session_of([user("word " * 400)], budget=TokenBudget(window=8_000, soft_threshold=100))
    live = session.compile()

    for view in (live, session.call(1)):
        account = view.explain()
        assert account.declined is not None and "which is not worth it" in account.declined
        assert f"not reduced ({account.trigger}): {account.declined}" in as_text(account, width=1_000)
