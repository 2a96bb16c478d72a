"""The window of one request."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.budget import TokenBudget
from foveate.errors import ConfigError

SIZES = st.integers(min_value=0, max_value=10**7)


@given(window=st.integers(1, 10**7), used=SIZES, output=SIZES, system=SIZES)
def test_used_remaining_and_reserved_fill_the_window(window: int, used: int, output: int, system: int) -> None:
    """Nothing is promised twice: what remains is what is neither used nor reserved."""
    if output + system >= window:
        with pytest.raises(ConfigError, match="`reserved_output`"):
            TokenBudget(window=window, reserved_output=output, reserved_system=system)
        return
    budget = TokenBudget(window=window, used=used, reserved_output=output, reserved_system=system)

    assert budget.remaining() == max(0, window - used - output - system)
    assert budget.over_limit() == (used > budget.limit)
    assert budget.with_used(0).remaining() == budget.limit


def test_the_soft_threshold_counts_when_reached() -> None:
    """At the threshold it is time; without one it never is."""
    budget = TokenBudget(window=1_000, soft_threshold=600)

    assert not budget.with_used(599).should_compact()
    assert budget.with_used(600).over_soft_threshold()
    assert budget.with_used(600).should_compact()
    assert not TokenBudget(window=1_000, used=1_000).over_soft_threshold()


def test_too_little_headroom_is_a_reason_to_compact() -> None:
    """A full window compacts even below the soft threshold."""
    budget = TokenBudget(window=1_000, reserved_output=200, minimum_headroom=100)

    assert not budget.with_used(700).should_compact()
    assert budget.with_used(701).should_compact()


@pytest.mark.parametrize("option", ["window", "soft_threshold"])
def test_sizes_are_positive(option: str) -> None:
    """A size of nothing is refused by name."""
    with pytest.raises(ConfigError, match=f"`{option}` must be 1 token or more, got 0"):
        TokenBudget(**{"window": 10, option: 0})


@pytest.mark.parametrize("option", ["used", "reserved_output", "reserved_system", "minimum_headroom"])
def test_amounts_are_not_negative(option: str) -> None:
    """A negative amount is refused by name."""
    with pytest.raises(ConfigError, match=f"`{option}` must be 0 tokens or more, got -1"):
        TokenBudget(**{"window": 10, option: -1})


@pytest.mark.parametrize(
    "option", ["window", "used", "reserved_output", "reserved_system", "soft_threshold", "minimum_headroom"]
)
@pytest.mark.parametrize("value", ["a", "600", 0.5, 600.0, float("nan"), True, [1]])
def test_sizes_are_whole_numbers_of_tokens(option: str, value: Any) -> None:
    """Text, a share of the window, and a truth value are refused by name."""
    with pytest.raises(
        ConfigError, match=f"`{option}` must be a whole number of tokens, got {re.escape(repr(value))};"
    ):
        TokenBudget(**{"window": 1_000, option: value})
