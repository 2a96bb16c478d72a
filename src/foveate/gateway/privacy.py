"""Privacy: what is stored of an item; what is sent is never changed here."""

from __future__ import annotations

from typing import Any, NamedTuple


class Redacted(NamedTuple):
    """A value as it is stored, and how many spans of it were redacted."""

    value: Any
    spans: int


def redact_item(value: Any) -> Redacted:
    """An item of a request as it is stored."""
    return Redacted(value, 0)
