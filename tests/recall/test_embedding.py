from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foveate.recall.embedding import fused


def test_what_stands_high_in_both_comes_first() -> None:
    """Words and meaning agree on it."""
    assert fused(["a", "b", "c"], ["c", "b", "d"])[:2] == ["c", "b"]
    assert fused([1, 2], []) == [1, 2]
    assert fused([], []) == []


def test_of_equal_ones_the_first_said_comes_first() -> None:
    """The order does not depend on chance."""
    assert fused([1], [2]) == [1, 2]
    assert fused([2], [1]) == [2, 1]


@given(st.lists(st.integers(0, 20)), st.lists(st.integers(0, 20)))
def test_nothing_is_lost_or_doubled(one: list[int], other: list[int]) -> None:
    """Every id once, and what is first in both is first."""
    together = fused(one, other)

    assert sorted(together) == sorted({*one, *other})
    if one and other and one[0] == other[0]:
        assert together[0] == one[0]
