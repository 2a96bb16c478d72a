"""Logs as lines, records and documents."""

from __future__ import annotations

import json
from codecs import BOM_UTF8

import pytest

from foveate.errors import LogError
from foveate.importers.detection import read_sessions
from foveate.importers.reading import moment
from foveate.importers.shape import is_lines
from tests.importers.logs import deep, log_of


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("a.jsonl", "a"),
        ("django-1.2.traj.json", "django-1.2"),
        ("model-1757015025.972.json", "model-1757015025.972"),
        (".aider.chat.history.md", "logs"),
        ("output.jsonl", "logs"),
        ("output.json", "output"),
        ("events", "logs"),
        ("trajectory.json", "logs"),
        ("api_conversation_history.json", "logs"),
        ("chat.jsonl", "chat"),
        ("\udcff.jsonl", "\ufffd"),
        ("folder.v2", "folder.v2"),
        (".json", ".json"),
    ],
)
def test_a_log_is_called_by_all_of_its_name_but_the_ending(name: str, stem: str) -> None:
    """Two logs whose names differ behind a dot are two sessions; names that a program always gives say nothing."""
    assert log_of(b"", f"logs/{name}").stem == stem


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_the_sign_of_an_encoding_is_no_part_of_a_log(ending: str) -> None:
    """Programs of some systems write it before every text."""
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    text = json.dumps(messages) if ending == "json" else "\n".join(map(json.dumps, messages))

    (found,) = read_sessions(log_of(BOM_UTF8 + text.encode(), f"a.{ending}"))

    assert [message.text for message in found.messages] == ["hi", "hello"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": "b', "Unterminated string starting at column 7"),
        ('{"a": "\t"}', "Invalid control character at column 8"),
        ('{"a": x', "Expecting value at column 7"),
    ],
)
def test_what_is_broken_is_named_by_its_column(text: str, reason: str) -> None:
    """In a document and in a line."""
    with pytest.raises(LogError, match=f"line 1: not JSON: {reason}$"):
        log_of(text.encode(), "a.json").document()
    with pytest.raises(LogError, match=f"line 1: not JSON: {reason}$"):
        list(log_of(text.encode()).records())


def test_a_number_too_long_to_be_read_is_called_so() -> None:
    """In a document and in a line, without advice to change Python; the lines around it can be read."""
    text = b'{"a": ' + b"7" * 400_000 + b"}"
    reason = r"not JSON that can be read: it has a number too long to be read, of more than [\d,]+ digits$"
    with pytest.raises(LogError, match=f"a.json: {reason}"):
        log_of(text, "a.json").document()
    with pytest.raises(LogError, match=f"line 2: {reason}"):
        list(log_of(b'{"a": 1}\n' + text).records())
    lenient = log_of(b'{"a": 1}\n' + text + b'\n{"a": 2}\n', lenient=True)
    assert list(lenient.records()) == [(1, {"a": 1}), (3, {"a": 2})]


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
        (b'cut"}\n{"a": 1}\n{"a": 2}\n', "a.json", True),
        (b'{"a": \n{"b": 1}\n}', "a.json", False),
        (b'[{"a": 1},\n{"b": 1},\n{"c": 1}\n]', "a.json", False),
    ],
)
def test_documents_are_told_from_lines(content: bytes, name: str, lines: bool) -> None:
    assert is_lines(log_of(content, name)) is lines
