"""Requests are checked exchange by exchange, with the verdict of the whole check."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from foveate.lab.validity import Validity
from foveate.wire.openai_rules import problems

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": "hi"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "a", "content": "done"},
    {"role": "tool", "tool_call_id": "b", "content": "done"},
    {"role": "user", "content": ""},
    {"role": "nobody", "content": "x"},
    {},
]


@given(st.lists(st.lists(st.sampled_from(MESSAGES), max_size=6), max_size=4))
def test_the_verdict_is_that_of_the_whole_request(requests: list[list[dict[str, Any]]]) -> None:
    """What was seen in earlier requests never changes what is said of a later one."""
    validity = Validity()
    for request in requests:
        assert validity.problems(request) == problems(request)
