"""Dates: patterns such as `{today}` in the paths and headers of a script."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final

DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_PATTERN: Final = re.compile(r"\{([^{}]*)\}")


def day_of(now: float) -> date:
    """The day of a moment, where the reader lives."""
    return datetime.fromtimestamp(now, UTC).astimezone().date()


def week_of(day: date, week_start: int = 0) -> date:
    """The first day of the week that a day is in; `week_start` counts from Monday, which is 0."""
    return day - timedelta(days=(day.weekday() - week_start) % 7)


def unknown_patterns(text: str) -> list[str]:
    """The patterns in a text that stand for nothing."""
    return [found for found in _PATTERN.findall(text) if found not in PATTERNS]


def dated(text: str, day: date, week_start: int = 0) -> str:
    """A text with its patterns filled in for a day; a week is named by its first day.

    >>> dated("Journal/{today}.md", date(2026, 3, 4))
    'Journal/2026-03-04.md'
    >>> dated("{this-week} {last-month} {day-name}", date(2026, 3, 4))
    '2026-03-02 2026-02 Wednesday'
    """
    values = _values(day, week_start)
    return _PATTERN.sub(lambda found: values.get(found.group(1), found.group()), text)


def _values(day: date, week_start: int) -> Mapping[str, str]:
    week, first = week_of(day, week_start), day.replace(day=1)
    return {
        "today": day.isoformat(),
        "yesterday": (day - timedelta(days=1)).isoformat(),
        "tomorrow": (day + timedelta(days=1)).isoformat(),
        "this-week": week.isoformat(),
        "last-week": (week - timedelta(days=7)).isoformat(),
        "next-week": (week + timedelta(days=7)).isoformat(),
        "this-month": first.isoformat()[:7],
        "last-month": (first - timedelta(days=1)).isoformat()[:7],
        "next-month": (first + timedelta(days=31)).isoformat()[:7],
        "day-name": DAYS[day.weekday()].capitalize(),
        "month-name": _MONTHS[day.month - 1],
    }


PATTERNS: Final = tuple(_values(date(2000, 1, 1), 0))
