"""Arguments of calls as the objects that providers want."""

from __future__ import annotations

import json

import pytest

from foveate.wire.fields import arguments_object


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ('{"a": 1.5}', {"a": 1.5}),
        ("", {}),
        ("[1]", {"arguments": [1]}),
        ("{bro", {"arguments": "{bro"}),
        ('{"a": NaN}', {"arguments": '{"a": NaN}'}),
        ('{"a": 1e999}', {"arguments": '{"a": 1e999}'}),
        ('{"a": -1e999}', {"arguments": '{"a": -1e999}'}),
        ('{"a": "\\ud83d"}', {"a": "�"}),
        ('{"\\uD83D\\uDE00": 1}', {"😀": 1}),
        ("1" * 5_000, {"arguments": "1" * 5_000}),
        ("[" * 100_000, {"arguments": "[" * 100_000}),
    ],
)
def test_arguments_are_an_object_that_can_be_sent(arguments: str, value: object) -> None:
    """Whatever a model wrote: half characters and numbers that are none go to no provider."""
    assert arguments_object(arguments) == value
    json.dumps(arguments_object(arguments), ensure_ascii=False, allow_nan=False).encode()
