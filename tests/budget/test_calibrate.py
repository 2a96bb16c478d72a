"""Correction of counts by reported usage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.budget import Calibration
from foveate.errors import ConfigError

COUNTS = st.integers(min_value=0, max_value=10**7)
CALLS = st.lists(st.tuples(COUNTS, COUNTS), max_size=30)


@given(COUNTS)
def test_nothing_is_corrected_before_the_first_report(tokens: int) -> None:
    """A new calibration leaves every count as it is."""
    assert Calibration().correct(tokens) == tokens


@given(estimated=st.integers(100, 10**7), share=st.integers(1_000, 3_000))
def test_an_undercount_is_corrected_at_once(estimated: int, share: int) -> None:
    """After one report that is higher than ours, the same request is not counted low again."""
    reported = estimated * share // 1_000
    learned = Calibration().observe(estimated, reported)

    assert learned.correct(estimated) >= reported


def test_an_overcount_is_corrected_slowly() -> None:
    """One low report gives back little; many in a row are believed."""
    first = Calibration().observe(1_000, 800)
    settled = first
    for _ in range(60):
        settled = settled.observe(1_000, 800)

    assert first.correct(1_000) == 975
    assert settled.correct(1_000) == 800


@given(CALLS)
def test_the_correction_stays_sane(calls: list[tuple[int, int]]) -> None:
    """No report, however wrong, corrects below a half or above three times."""
    calibration = Calibration()
    for estimated, reported in calls:
        calibration = calibration.observe(estimated, reported)

    assert 500 <= calibration.correct(1_000) <= 3_000


@given(CALLS)
def test_the_same_reports_give_the_same_state(calls: list[tuple[int, int]]) -> None:
    """A replayed log corrects exactly as the live session did."""
    once, twice = Calibration(), Calibration()
    for estimated, reported in calls:
        once = once.observe(estimated, reported)
        twice = twice.observe(estimated, reported)

    assert once == twice
    assert isinstance(once.ratio, int)


def test_useless_reports_are_ignored() -> None:
    """Tiny requests and missing usage teach nothing."""
    assert Calibration().observe(20, 60) == Calibration().observe(5_000, 0) == Calibration()


def test_a_wild_ratio_is_refused() -> None:
    """A stored ratio out of bounds is named."""
    with pytest.raises(ConfigError, match="`ratio`"):
        Calibration(ratio=9_000)
