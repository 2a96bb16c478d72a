"""Privacy: what is stored of an item; what is sent is never changed here."""

from __future__ import annotations

from typing import Any, NamedTuple

from foveate.privacy import Redactor


class RedactedItem(NamedTuple):
    """An item as it is stored, and how many spans of it were redacted."""

    value: Any
    spans: int


def redact_item(value: Any) -> RedactedItem:
    """An item of a request as it is stored: keys, tokens and connection strings are marks in it."""
    redactor = Redactor()
    redacted = redactor.value(value)
    return RedactedItem(redacted, redactor.counts.total())
