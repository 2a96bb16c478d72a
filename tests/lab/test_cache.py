"""The simulated prompt cache: what is found, and why not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.budget import DEFAULT_RULES, CacheRules, ModelProfile, profile_for
from foveate.lab.cache import Finding, PromptCache, Scale, finding_of, last_marks

AUTOMATIC = replace(DEFAULT_RULES, breakpoints=0, lookback_blocks=0)


def said(size: int, name: str = "m") -> dict[str, Any]:
    return {"role": "user", "content": f"{name} {size}", "size": size}


def system(size: int) -> dict[str, Any]:
    return {"role": "system", "content": "be brief", "size": size}


def cache(rules: CacheRules = DEFAULT_RULES, **options: Any) -> PromptCache:
    return PromptCache(rules, lambda message: message["size"], **options)


def test_a_request_that_goes_on_finds_all_of_the_one_before() -> None:
    simulated = cache()
    first, second = simulated.send([said(2_000)]), simulated.send([said(2_000), said(300)])

    assert (first.tokens, first.cached, first.cause) == (2_000, 0, None)
    assert (second.tokens, second.cached, second.shared, second.cause) == (2_300, 2_000, 1, None)


def test_a_prefix_below_the_minimum_is_not_cached() -> None:
    simulated = cache()
    simulated.send([said(1_023)])

    assert simulated.send([said(1_023), said(5)]).cached == 0
    assert simulated.send([said(1_023), said(5), said(5)]).cached == 1_028


def test_what_is_not_used_in_time_expires() -> None:
    """Every use begins the time anew; 300 seconds after the last one it is over."""
    simulated = cache()
    request = [said(2_000)]
    simulated.send(request, at=1_000)

    assert simulated.send(request, at=1_300).cached == 2_000
    assert simulated.send(request, at=1_600).cached == 2_000
    late = simulated.send(request, at=1_901)
    assert (late.cached, late.cause, late.lost) == (0, "expired", 2_000)


def test_a_recorded_time_to_live_wins_over_the_rules() -> None:
    simulated = cache()
    request = [said(2_000)]
    simulated.send(request, at=0, ttl=3_600)

    assert simulated.send(request, at=3_000, ttl=300).cached == 2_000
    assert simulated.send(request, at=3_301).cached == 0


def test_without_times_nothing_expires() -> None:
    simulated = cache()
    simulated.send([said(2_000)], at=None)

    assert simulated.send([said(2_000)], at=9e9).cached == 2_000


def test_each_model_has_a_cache_of_its_own() -> None:
    """A switch finds nothing; back at the first model, what it had is still there."""
    simulated = cache()
    request = [said(2_000)]
    simulated.send(request, model="large")
    switched = simulated.send(request, model="small")

    assert (switched.cached, switched.cause) == (0, "model")
    assert simulated.send(request, model="large").cached == 2_000


def test_with_marks_a_rewrite_leaves_only_the_system_prompt() -> None:
    """Nothing marked the place where the new request leaves the old one, so nothing is found there."""
    simulated = cache()
    simulated.send([system(1_500), said(700), said(800), said(900)])
    rewritten = simulated.send([system(1_500), said(700), said(10, "new"), said(900)])

    assert (rewritten.cached, rewritten.shared, rewritten.cause) == (1_500, 2, "rewritten")
    assert rewritten.lost == 2_400


def test_an_automatic_cache_finds_any_prefix_in_steps() -> None:
    simulated = cache(AUTOMATIC, finding=finding_of(profile_for("openai:gpt-4o")))
    simulated.send([system(1_500), said(700), said(800), said(900)])

    assert simulated.send([system(1_500), said(700), said(10, "new")]).cached == 2_176  # 17 × 128 of 2,200


def test_a_claude_is_cached_by_marks_wherever_it_is_hosted() -> None:
    """Google's best effort is that of its own models."""
    hosted = ModelProfile(name="claude", provider="google", cache=DEFAULT_RULES)

    assert finding_of(hosted) == Finding()
    assert finding_of(profile_for("google:gemini-2.5-pro")) == Finding(step=2_048, share=0.94)


def test_a_best_effort_cache_finds_a_share_of_it() -> None:
    simulated = cache(AUTOMATIC, finding=Finding(step=1_000, share=0.9))
    simulated.send([said(5_500)])

    assert simulated.send([said(5_500), said(1)]).cached == 4_500


@pytest.mark.parametrize(("added", "found"), [(1, 2_000), (19, 2_000), (20, 0), (40, 0)])
def test_a_mark_looks_at_twenty_places_and_no_further(added: int, found: int) -> None:
    """Its own and nineteen blocks before it; an agent that adds more at once without a mark in between misses."""
    simulated = cache()
    simulated.send([said(2_000)], marks=[0])
    longer = [said(2_000), *(said(1, str(number)) for number in range(added))]

    assert simulated.send(longer, marks=[added]).cached == found


def test_by_default_the_last_unchanged_message_is_marked() -> None:
    """A policy that masks an old message at every call still finds what stands before it."""
    simulated = cache()
    history = [said(1_500, "a"), *(said(10, str(number)) for number in range(60))]
    simulated.send(history)
    simulated.send([*history[:10], said(1, "masked"), *history[11:]])

    assert simulated.send([*history[:10], said(1, "masked"), said(1, "masked too"), *history[12:]]).cached == 1_590


def test_overhead_stands_before_everything_and_tokens_are_scaled() -> None:
    """The provider's tokens are 10,000 + 1.5 × ours; a rewrite from the first message on leaves the overhead."""
    simulated = cache(scale=Scale(overhead=10_000, ratio=1.5))

    assert simulated.send([said(1_000)]).tokens == 11_500
    assert simulated.send([said(1_000), said(100)]).cached == 11_500
    assert simulated.send([said(100, "new")]).cached == 10_000


def test_what_other_sessions_keep_warm_is_found_by_cold_calls() -> None:
    simulated = cache(scale=Scale(overhead=10_000), warm=8_000)

    assert simulated.send([said(1_000)], at=0).cached == 8_000
    assert simulated.send([said(1_000)], at=10).cached == 11_000
    assert simulated.send([said(1_000)], at=5_000).cached == 8_000


def test_another_overhead_leaves_nothing_but_the_system_prompt() -> None:
    simulated = cache(scale=Scale(overhead=10_000))
    simulated.send([said(1_000)])
    simulated.rescale(Scale(overhead=4_000))

    assert simulated.send([said(1_000)]).cached == 4_000


def test_an_empty_request_costs_nothing() -> None:
    simulated = cache()

    assert simulated.send([]).tokens == 0
    assert simulated.send([]).cached == 0
    assert list(last_marks([])) == []


@given(
    requests=st.lists(st.lists(st.sampled_from([said(600, name) for name in "abcd"]), max_size=8), max_size=8),
    rules=st.sampled_from([DEFAULT_RULES, AUTOMATIC]),
    gaps=st.lists(st.integers(0, 500), min_size=8, max_size=8),
)
def test_no_call_finds_more_than_it_shares_with_the_one_before(
    requests: list[list[dict[str, Any]]], rules: CacheRules, gaps: list[int]
) -> None:
    """Whatever is sent: what is found is a prefix of both requests, and an expired cache gives nothing."""
    simulated = cache(rules)
    now = 0
    for request, gap in zip(requests, gaps, strict=False):
        now += gap
        charge = simulated.send(request, at=now)
        assert 0 <= charge.cached <= 600 * charge.shared <= charge.tokens
        assert charge.cached == 0 or charge.cached >= rules.minimum_tokens


@pytest.mark.parametrize("rules", [DEFAULT_RULES, AUTOMATIC])
def test_an_overhead_that_grew_is_not_in_the_cache_yet(rules: CacheRules) -> None:
    """After a rewrite, of the hidden prefix only as much can be found as was sent before."""
    simulated = cache(rules, scale=Scale(overhead=2_000))
    simulated.send([said(100, str(number)) for number in range(40)])
    simulated.rescale(Scale(overhead=6_000))
    charge = simulated.send([said(100, "summary")])

    assert charge.cached <= 2_000
    assert charge.cause == "rewritten"
    assert simulated.send([said(100, "summary"), said(50)]).cached == 6_100
