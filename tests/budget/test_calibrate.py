"""Correction of counts by reported usage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.budget import Calibration
from foveate.budget.calibrate import Correction, Sample, is_too_high, is_too_low
from foveate.errors import ConfigError

COUNTS = st.integers(min_value=0, max_value=10**7)
CALLS = st.lists(st.tuples(COUNTS, COUNTS), max_size=30)
LIMIT = 8_000


def learned(*calls: tuple[int, int]) -> Calibration:
    """What these reports teach, in their order."""
    calibration = Calibration()
    for estimated, reported in calls:
        calibration = calibration.observe(estimated, reported)
    return calibration


@given(COUNTS)
def test_nothing_is_corrected_before_the_first_report(tokens: int) -> None:
    """A new calibration leaves every count as it is."""
    assert Calibration().correction(LIMIT).correct(tokens) == tokens


@given(estimated=st.integers(1, 10**7), share=st.integers(1_000, 5_000), hidden=st.integers(0, 5_000))
def test_an_undercount_is_corrected_at_once(estimated: int, share: int, hidden: int) -> None:
    """After one report that is higher than ours, the same request is not counted low again."""
    reported = estimated * share // 1_000 + hidden
    calibration = learned((estimated, reported))

    assert calibration.correction(LIMIT).correct(estimated) >= reported
    assert calibration.correction(LIMIT, lenient=True).correct(estimated) >= reported


def test_what_was_learned_is_given_back_slowly() -> None:
    """One report near our own count gives back little of an earlier correction; many in a row give back all."""
    high = learned((1_000, 1_800))
    first = high.observe(1_000, 1_000)
    settled = first
    for _ in range(60):
        settled = settled.observe(1_000, 1_000)

    assert [one.correction(LIMIT).correct(1_000) for one in (high, first, settled)] == [1_800, 1_700, 1_000]


def test_what_a_provider_adds_no_more_is_forgotten() -> None:
    """Though requests of that size never come again."""
    calibration = learned((500, 5_500), *[(3_000, 3_000), (5_000, 5_000)] * 40)

    assert calibration.correction(LIMIT).correct(5_000) <= 5_100


@given(CALLS, COUNTS, st.integers(1, 10**6), st.booleans())
def test_no_report_makes_room(calls: list[tuple[int, int]], tokens: int, limit: int, lenient: bool) -> None:
    """A report may take room away, but no request ever gets more than our own count allows; the room is what fits."""
    correction = learned(*calls).correction(limit, lenient=lenient)
    room = correction.room(limit)

    assert correction.correct(tokens) >= tokens
    assert room <= limit
    assert room < 1 or correction.correct(room) <= limit < correction.correct(room + 1)


@pytest.mark.parametrize("hidden", [0, 346, 2_000, 5_000])
@pytest.mark.parametrize("ratio", [500, 750, 1_000, 1_300, 2_000])
def test_overhead_and_ratio_are_told_apart_by_two_sizes(ratio: int, hidden: int) -> None:
    """From then on a count is the provider's own, wherever that is more than ours."""
    calibration = learned(*((size, hidden + size * ratio // 1_000) for size in (1_000, 2_000)))

    for size in (500, 1_500, 3_000, 6_000):
        told = calibration.correction(LIMIT).correct(size)
        assert told == calibration.correction(LIMIT, lenient=True).correct(size)
        assert told == pytest.approx(max(size, hidden + size * ratio // 1_000), abs=8)


def test_a_surplus_of_one_size_is_a_ratio_for_the_past_and_an_overhead_for_an_input() -> None:
    """Which of them it is, is unknown; a request that is small beside the budget says nothing of a ratio."""
    small, large = learned((118, 464)), learned((2_000, 3_000))

    assert small.correction(LIMIT) == small.correction(LIMIT, lenient=True) == Correction(346, 1_000)
    assert (large.correction(LIMIT), large.correction(LIMIT, lenient=True)) == (
        Correction(0, 1_500),
        Correction(1_000, 1_000),
    )


@given(estimated=st.integers(1, 10**5), reported=st.integers(1, 10**6))
def test_a_report_is_learned_from_or_it_is_odd(estimated: int, reported: int) -> None:
    """There is nothing between: what is dropped is what the diagnostic is about."""
    is_odd = is_too_high(estimated, reported) or is_too_low(estimated, reported)

    assert (learned((estimated, reported)) == Calibration()) == is_odd


def test_the_bounds_of_the_plausible() -> None:
    """From half of our count to five times of it, and what a provider adds to any request."""
    assert [is_too_low(8_000, reported) for reported in (0, 3_999, 4_000)] == [True, True, False]
    assert [is_too_high(8_000, reported) for reported in (45_000, 45_001)] == [False, True]
    assert not is_too_low(90, 0)


@given(CALLS)
def test_the_same_reports_give_the_same_state(calls: list[tuple[int, int]]) -> None:
    """A replayed log corrects exactly as the live session did, in whole numbers, and it stays small."""
    once, twice = learned(*calls), learned(*calls)

    assert once == twice == Calibration(samples=once.samples)
    assert all(isinstance(value, int) for value in (*once.correction(LIMIT), *sum(once.samples, ())))
    assert len({sample.estimated.bit_length() for sample in once.samples}) * 4 >= len(once.samples)


def test_missing_usage_teaches_nothing() -> None:
    """Neither of a call that is unknown, nor without a count."""
    assert learned((0, 60), (5_000, 0)) == Calibration()


def test_wild_samples_are_refused() -> None:
    """What is stored out of bounds is named."""
    with pytest.raises(ConfigError, match=r"`samples`.*90000"):
        Calibration(samples=(Sample(1_000, 90_000),))
