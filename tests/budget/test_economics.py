"""When a rewrite pays and how far down to compact."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from foveate.budget import DEFAULT_RULES, break_even_calls, call_cost, marks
from foveate.errors import ConfigError

FREE_REWRITES = replace(DEFAULT_RULES, write=1.0, read=1.0)


def test_the_break_even_of_a_plain_cut() -> None:
    """Dropping as much as is rewritten pays after 11.5 calls at 1.25 / 0.1."""
    assert break_even_calls(1_000, 1_000, DEFAULT_RULES) == pytest.approx(11.5)
    assert break_even_calls(0, 1_000, DEFAULT_RULES) == 0
    assert break_even_calls(1_000, 1_000, FREE_REWRITES) == 0
    assert break_even_calls(1_000, 0, DEFAULT_RULES) == math.inf


def test_a_warm_call_is_cheap() -> None:
    """Cached tokens cost a tenth, new ones the price of a write, tiny requests the plain price."""
    assert call_cost(10_000, 10_000, DEFAULT_RULES) == pytest.approx(1_000)
    assert call_cost(10_000, 0, DEFAULT_RULES) == pytest.approx(12_500)
    assert call_cost(10_000, 99_999, DEFAULT_RULES) == pytest.approx(1_000)
    assert call_cost(500, 500, DEFAULT_RULES) == 500


@given(
    budget=st.integers(1, 10**6),
    floor=st.integers(0, 10**6),
    growth=st.integers(-10, 10**5),
    read=st.sampled_from([0.0, 0.02, 0.1, 0.25, 0.5, 1.0]),
)
def test_marks_are_ordered_and_within_the_budget(budget: int, floor: int, growth: int, read: float) -> None:
    """The low mark is under the high one, at the floor or above, and not absurdly low."""
    high, low = marks(budget, floor, growth, replace(DEFAULT_RULES, read=read))

    assert 0 <= low <= high <= budget
    assert low >= min(high, max(floor, budget // 4))
    assert low <= max(floor, budget * 7 // 10)


@given(growth=st.integers(100, 3_000), budget=st.sampled_from([16_000, 64_000, 200_000]))
def test_the_marks_are_the_cheapest_rhythm(growth: int, budget: int) -> None:
    """From the low mark no earlier or later rewrite than at the high mark costs less per call."""
    high, low = marks(budget, 0, growth, DEFAULT_RULES)
    assume(budget // 4 < low < budget * 7 // 10)
    room = (high - low) // growth
    cheapest = min(_cost(low, calls, growth) for calls in range(1, 4 * room))

    assert _cost(low, room, growth) <= 1.03 * cheapest


def test_dear_rewrites_and_fast_growth_go_deeper() -> None:
    """The low mark falls as rewriting gets dearer or the history grows faster."""
    slow = marks(32_000, 0, 300, DEFAULT_RULES).low
    fast = marks(32_000, 0, 900, DEFAULT_RULES).low
    cheap = marks(32_000, 0, 900, replace(DEFAULT_RULES, write=1.0, read=0.5)).low

    assert fast < slow
    assert fast < cheap


def test_without_prices_the_low_mark_is_a_plain_default() -> None:
    """No prices or no growth known: down to three fifths."""
    assert marks(10_000, 0, 500, None) == marks(10_000, 0, 0, DEFAULT_RULES) == (9_900, 5_940)


def test_a_budget_of_nothing_is_refused() -> None:
    """An impossible budget is named."""
    with pytest.raises(ConfigError, match="`budget` must be 1 token or more, got 0"):
        marks(0, 0, 0, DEFAULT_RULES)


def _cost(low: int, calls: int, growth: int) -> float:
    """Mean cost of a call over one whole cycle that ends in a rewrite of what is left."""
    sizes = [low + growth * call for call in range(1, calls + 1)]
    warm = sum(call_cost(size, size - growth, DEFAULT_RULES) for size in sizes)
    return (warm + low * (DEFAULT_RULES.write - DEFAULT_RULES.read)) / calls
