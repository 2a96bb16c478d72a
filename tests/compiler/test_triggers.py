"""Triggers: must, free, pays, asked."""

import pytest
from tests.dialogue import reading, says, session_of, user, work

from foveate import ModelProfile, TokenBudget, reducing_pass
from foveate.compile.triggers import Decision


def warm(**options):
    """A session that has sent a good part of its budget and is far from the limit."""
    session = session_of([user("go"), *reading(18)], **{"budget": 16_000, "policy": "patient", **options})
    session.compile(now=0.0)
    session.append(says("ok"))
    return session


def test_below_the_budget_with_a_warm_cache_nothing_is_reduced() -> None:
    """Rewriting would cost and save nothing yet."""
    view = warm().compile(now=10.0)

    assert (view.decision, view.proposed) == (None, ())
    assert view.predicted_cached > 8_000


def test_over_the_budget_it_must_be() -> None:
    """The reason has the numbers."""
    view = session_of([user("go"), *reading(18)], budget=4_000).compile()

    assert view.decision is not None
    assert view.decision.trigger == "must"
    assert view.decision.reason.endswith("tokens are more than 4000")


def test_idle_past_the_ttl_it_is_free() -> None:
    """A cold cache is rewritten anyway."""
    view = warm().compile(now=301.0)

    assert view.decision == Decision("free", "idle for 301 s, the cache is cold")
    assert view.predicted_cached == 0
    assert view.tokens < 8_000


def test_just_within_the_ttl_it_is_not() -> None:
    """The profile's TTL decides, to the second."""
    assert warm().compile(now=300.0).decision is None


def test_without_a_clock_nothing_is_cold_by_time() -> None:
    """Time is the caller's; without it nothing is assumed."""
    session = warm()

    assert session.compile().decision is None


def test_after_a_model_switch_it_is_free() -> None:
    """Another model has another cache."""
    session = warm(model=ModelProfile(name="one", window=200_000))
    session.reframe(model="openai:gpt-4o")
    view = session.compile(now=10.0)

    assert view.decision == Decision("free", "the model was switched, its cache is cold")
    assert view.predicted_cached == 0


def test_after_a_reported_miss_it_is_free() -> None:
    """The provider said that nothing was cached."""
    session = warm()
    sent = session.compile(now=10.0)
    session.report_usage(sent.tokens, 0)
    session.append(user("more"))

    assert session.compile(now=20.0).decision == Decision("free", "the last call missed the cache")


def test_after_a_reported_hit_it_is_not() -> None:
    """The cache is warm, and known to be."""
    session = warm()
    sent = session.compile(now=10.0)
    session.report_usage(sent.tokens, sent.predicted_cached)
    session.append(user("more"))

    assert session.compile(now=20.0).decision is None


def test_a_history_that_has_grown_enough_pays() -> None:
    """At the profile's prices, before the budget forces it."""
    session = session_of([], budget=60_000, policy="lines")
    decisions = []
    for message in work(40):
        session.append(message)
        view = session.compile()
        if view.decision is not None:
            decisions.append(view.decision.trigger)

    assert "pays" in decisions
    assert "must" not in decisions


def test_a_caller_can_ask() -> None:
    """`compact_when` sees the state, the log and the budget."""
    seen = []

    def every_second_turn(state, messages, budget: TokenBudget) -> bool:
        seen.append((state.context.turn, len(messages), budget.used))
        return state.context.turn % 2 == 0

    session = session_of(work(2, reads=8), budget=32_000, policy="patient", compact_when=every_second_turn)
    view = session.compile()

    assert view.decision == Decision("asked", "compaction was asked for")
    assert seen == [(2, 36, seen[0][2])]
    assert view.tokens < seen[0][2]


def test_the_soft_threshold_asks_too() -> None:
    """Reached means at or above."""
    log = [user("go"), *reading(18)]
    used = session_of(log).compile().tokens

    at = session_of(log, budget=TokenBudget(window=32_000, soft_threshold=used), policy="patient").compile()
    below = session_of(log, budget=TokenBudget(window=32_000, soft_threshold=used + 1), policy="patient").compile()
    assert (at.decision is not None and at.decision.trigger, below.decision) == ("asked", None)


def test_a_reduction_that_brought_nothing_is_not_tried_again_on_the_same_input() -> None:
    """No loops; a diagnostic says that it was tried."""
    runs = []

    @reducing_pass
    def nothing(draft, ctx):
        runs.append(ctx.number)
        return draft

    session = session_of(
        [user("go"), *reading(18)], budget=16_000, passes=(nothing, nothing), compact_when=lambda *_: True
    )
    first, second = session.compile(), session.compile()

    assert [type(body).__name__ for body in first.proposed] == ["DiagnosticRecorded"]
    assert second.proposed == ()
    assert len(runs) == 2  # once for each time that it is in the tuple


@pytest.mark.parametrize("idle", [0.0, 10_000.0])
def test_a_small_history_is_left_alone_even_if_free(idle: float) -> None:
    """A rewrite for a few tokens is not worth anybody's attention."""
    session = session_of([user("hi"), says("hello")], budget=16_000)
    session.compile(now=0.0)
    session.append(user("more"))

    assert session.compile(now=idle).decision is None
