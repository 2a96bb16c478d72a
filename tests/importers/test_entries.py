"""What an importer finds in a log."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from foveate.importers.entries import Usage, answered, usage_of
from foveate.log.messages import Message, MessageMeta
from tests.importers.logs import ANYTHING


def counted(usage: Any) -> Usage | None:
    return usage_of(Message(id="", role="assistant", meta=MessageMeta(extra={"usage": usage})))


def test_what_was_counted_is_read_back() -> None:
    usage = Usage(input_tokens=9, cached_tokens=4, written_tokens=0, output_tokens=2, ttl_seconds=300)
    assert usage_of(answered(Message(id="", role="assistant"), usage=usage)) == usage
    assert usage_of(Message(id="", role="assistant")) is None


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 3, "total_tokens": 4}, Usage(input_tokens=3)),
        ({"output_tokens": 3}, None),
        ({"input_tokens": 3, "cached_tokens": -1, "output_tokens": True}, Usage(input_tokens=3)),
        ({"input_tokens": 3.0, "output_tokens": "many"}, Usage(input_tokens=3)),
        ({"input_tokens": 10**30}, None),
        ({"input_tokens": True}, None),
        ({"input_tokens": float("nan")}, None),
        ({3: 4}, None),
        ([], None),
        ("3", None),
    ],
)
def test_only_counts_are_taken_from_what_others_recorded(usage: Any, expected: Usage | None) -> None:
    """Without the tokens that were sent there is no usage; other fields may be missing."""
    assert counted(usage) == expected


@given(ANYTHING)
def test_whatever_was_recorded_as_usage_it_is_read(value: Any) -> None:
    for usage in (value, {"input_tokens": value}, {"input_tokens": 1, "output_tokens": value}):
        found = counted(usage)
        assert found is None or found.input_tokens >= 0
