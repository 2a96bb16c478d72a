"""Logs as lines, records and documents."""

from __future__ import annotations

import pytest

from foveate.importers.reading import moment
from foveate.importers.shape import is_lines
from tests.importers.logs import deep, log_of


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("a.jsonl", "a"),
        ("django-1.2.traj.json", "django-1.2"),
        ("model-1757015025.972.json", "model-1757015025.972"),
        (".aider.chat.history.md", "aider"),
        ("folder.v2", "folder.v2"),
        (".json", ".json"),
    ],
)
def test_a_log_is_called_by_all_of_its_name_but_the_ending(name: str, stem: str) -> None:
    """Two logs whose names differ behind a dot are two sessions."""
    assert log_of(b"", f"logs/{name}").stem == stem


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("2025-09-04T19:43:45Z", 1757015025.0),
        (1757015025, 1757015025.0),
        (1757015025972, 1757015025.972),
        (10**400, None),
        (float("nan"), None),
        (float("inf"), None),
        (-1, None),
        (True, None),
        ("yesterday", None),
        (None, None),
        ([], None),
    ],
)
def test_recorded_times_are_seconds(stamp: object, seconds: float | None) -> None:
    """What is no time is none, however large."""
    assert moment(stamp) == seconds


@pytest.mark.parametrize(
    ("content", "name", "lines"),
    [
        (b'{"a": 1}\n{"b": 2}\n', "a.txt", True),
        (b'\n{"a": 1}', "a.json", True),
        (b'{\n"a": 1}', "a.jsonl", False),
        (b'{"a": [\n1]}', "a.json", False),
        (b"[\n1]", "a.jsonl", False),
        (b"[1, 2]", "a.jsonl", False),
        (b"[1]\n[2]", "a.jsonl", True),
        (b'{"cut', "a.jsonl", True),
        (b'{"cut', "a.json", False),
        (b'{"a": ' + deep(100_000).encode() + b"}", "a.json", False),
        (b"", "a.json", False),
    ],
)
def test_documents_are_told_from_lines(content: bytes, name: str, lines: bool) -> None:
    assert is_lines(log_of(content, name)) is lines
