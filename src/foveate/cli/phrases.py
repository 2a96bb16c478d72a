"""Phrases: times, counts and texts of others, as people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from foveate.log.text import counted, printable

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
# As an argument of Python is named; a session that is called so stands in quotes.
_STORE_ARGUMENT: Final = re.compile(r"(?<!['\"])`store`")


def ago(moment: datetime, now: datetime | None = None) -> str:
    """How long ago something was: "3 min ago"; after a month, the date."""
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    if seconds < _MINUTE:
        return "just now"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min ago"
    if seconds < _DAY:
        return f"{seconds // _HOUR:.0f} h ago"
    if seconds < 30 * _DAY:
        days = seconds // _DAY
        return "1 day ago" if days == 1 else f"{days:.0f} days ago"
    return f"{moment.astimezone():%Y-%m-%d}"


def with_options(problem: str) -> str:
    """What went wrong, with the option of the command where the store names the argument of Python."""
    return _STORE_ARGUMENT.sub("`--store`", problem)


def at(moment: datetime) -> str:
    """A moment on the reader's own clock."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


count: Final = counted


def tagged(tags: Mapping[str, str]) -> str:
    """Tags on one line."""
    return shown(", ".join(f"{name}={value}" for name, value in tags.items()))


def shown(text: str) -> str:
    """A text of others on one line, safe to print."""
    return " ".join(printable(text).split())
