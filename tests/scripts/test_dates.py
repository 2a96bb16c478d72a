"""Patterns of dates in paths."""

from __future__ import annotations

import doctest
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from foveate.scripts import dates
from foveate.scripts.dates import PATTERNS, dated, week_of


def test_examples_in_the_source_hold() -> None:
    """What the docstring shows."""
    assert doctest.testmod(dates).failed == 0


@given(st.dates(date(1971, 1, 1), date(9000, 1, 1)), st.integers(0, 6))
def test_every_pattern_of_every_day_is_filled_in(day: date, week_start: int) -> None:
    """No brace is left, and a week begins on its day, at most six days ago."""
    text = dated("".join(f"{{{one}}}" for one in PATTERNS), day, week_start)

    assert "{" not in text
    assert week_of(day, week_start).weekday() == week_start
    assert 0 <= (day - week_of(day, week_start)).days <= 6


def test_months_end() -> None:
    """The month before and after, at the ends of years."""
    assert dated("{last-month} {next-month}", date(2026, 1, 31)) == "2025-12 2026-02"
    assert dated("{last-month} {next-month}", date(2026, 12, 1)) == "2026-11 2027-01"
    assert dated("{unknown}", date(2026, 1, 1)) == "{unknown}"
