"""Which program recorded a log is told from the log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foveate.errors import ConfigError, LogError
from foveate.importers.detection import IMPORTERS, head_of, importer_for
from tests.importers.logs import NEEDS_DATA, ROOT, deep, lines, log_of, recorded

FORMATS = {
    "aider": "aider",
    "claude_code": "claude-code",
    "claude_code_subagents": "claude-code",
    "cline": "cline",
    "codex": "codex",
    "gemini_cli": "gemini-cli",
    "litellm_logs": "litellm",
    "mini_swe_agent": "mini-swe-agent",
    "openai_chat": "tau-bench",
    "openhands_v0": "openhands",
    "swe_agent": "swe-agent",
}
NO_LOGS = ("checkpoints_metadata.jsonl", "MANIFEST.json", "NOTICE.md")
FILES = [path for path in recorded("**/*") if path.is_file()]


def expected(path: Path) -> str | None:
    """What a recorded file is, by the folder it is in; None if it is no log."""
    if path.name in NO_LOGS:
        return None
    # Two files beside the LiteLLM logs are the messages of a session and nothing else.
    return "messages" if path.name.endswith("llm-message.json") else FORMATS[path.relative_to(ROOT or "").parts[0]]


@NEEDS_DATA
def test_the_recorded_logs_are_there() -> None:
    """In CI missing logs are a failure, not a skip."""
    assert {path.relative_to(ROOT or "").parts[0] for path in FILES} >= set(FORMATS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[-40:])
def test_every_recorded_log_is_recognised(path: Path) -> None:
    """A log is taken for what it is, and what is no log is refused."""
    with path.open("rb") as file:
        log = log_of(file.read(), str(path))
    format = expected(path)
    if format is None:
        with pytest.raises(LogError, match="no known log format"):
            importer_for(log)
        return
    assert importer_for(log).name == format
    # Only one program can have recorded it; plain messages are what remains when none has.
    head = head_of(log)
    others = [one.name for one in IMPORTERS.values() if one.name not in (format, "messages") and one.recognises(head)]
    assert others == []


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b"null",
        b"42",
        b'"text"',
        b"# A heading\n\nand text\n",
        b"\xff\xfe\x00",
        b'{"messages": 1}',
        b'{"history": []}',
        b'{"checkpoint_id": "a"}\n{"checkpoint_id": "b"}\n',
        b'[{"a": 1}, {"b": 2}]',
    ],
)
def test_what_is_no_log_is_refused(content: bytes) -> None:
    """The error names the file and how to say what it is."""
    with pytest.raises(LogError, match=r"notes\.txt.*--format"):
        importer_for(log_of(content, "notes.txt"))


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_file_is_refused_by_name(content: bytes) -> None:
    with pytest.raises(LogError, match=r"empty\.json: there is nothing in it"):
        importer_for(log_of(content, "empty.json"))


@pytest.mark.parametrize("content", [b"{", b"[1,", deep(100_000).encode(), b"[" + b"1" * 5_000 + b"]"])
def test_broken_json_is_refused_by_name(content: bytes) -> None:
    with pytest.raises(LogError, match=r"broken\.json"):
        importer_for(log_of(content, "broken.json"))


def test_a_format_can_be_named() -> None:
    """A named format is not asked whether it recognises the log; an unknown name is refused with the known ones."""
    assert importer_for(log_of(b""), "aider").name == "aider"
    with pytest.raises(ConfigError, match=r"'nonsense'.*auto.*mini-swe-agent"):
        importer_for(log_of(b""), "nonsense")


def test_a_long_first_line_is_read_whole() -> None:
    """A log is recognised by its first record also if that has megabytes."""
    message = {"role": "user", "content": "x" * 2_000_000}
    assert importer_for(log_of(lines(message, message))).name == "messages"


def test_plain_messages_are_asked_last() -> None:
    """Many logs hold messages; they are plain only if nothing more is known of them."""
    assert list(IMPORTERS)[-1] == "messages"


BROKEN = {
    "cut off at its beginning": b'tent": "go"}}',
    "cut off at its end": b'{"type": "user", "message": {"ro',
    "bytes that are no text": b'{"type": \xff\xfe, "message": {}}',
    "another value": b"null",
    "a list": b"[1, 2]",
}
JSON_LINES = [path for path in FILES if path.suffix == ".jsonl" and path.name not in NO_LOGS]


@pytest.mark.parametrize("first", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("path", JSON_LINES, ids=lambda path: path.name[-40:])
def test_a_first_line_that_cannot_be_read_does_not_hide_the_format(path: Path, first: bytes) -> None:
    """Only the line is refused, or skipped: the log is the program's all the same."""
    content = b"\n".join([first, *path.read_bytes().splitlines()[:60]])
    format = expected(path)
    assert importer_for(log_of(content, str(path))).name == format
    with pytest.raises(LogError, match="line 1"):
        list(IMPORTERS[format or ""].read(log_of(content, str(path))))


def test_one_readable_line_behind_a_broken_one_is_enough() -> None:
    """Also without a name that says what it is."""
    message = {"role": "user", "content": "go"}
    log = log_of(b'{"role": "us\n' + lines(message), None, lenient=True)
    assert importer_for(log).name == "messages"
    assert len(list(IMPORTERS["messages"].read(log))) == 2
    assert [skipped.line for skipped in log.skipped] == [1]


DOCUMENTS = [path for path in FILES if path.suffix in (".json", ".traj") and path.name not in NO_LOGS]


@pytest.mark.parametrize("indent", [0, 1, 4])
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name[-40:])
def test_a_document_over_many_lines_is_no_json_lines(path: Path, indent: int) -> None:
    """However it is indented, an object on a line of it is no record."""
    content = json.dumps(json.loads(path.read_bytes()), indent=indent).encode()
    head = head_of(log_of(content, str(path)))
    assert head.records == ()
    assert importer_for(log_of(content, str(path))).name == expected(path)


@pytest.mark.parametrize(
    "content",
    [
        b'[\n{"role": "user", "content": "a"},\n{"role": "user", "content": "b"}\n]',
        b'[{"role": "user", "content": "a"},\n{"role": "user", "content": "b"}]',
        b'{"messages": [\n{"role": "user", "content": "a"}\n]}',
        b'[\n{"role": "user", "content": "a"}\n,\n{"role": "user", "content": "b"}\n]',
    ],
)
def test_an_object_on_each_line_of_a_document_is_no_record(content: bytes) -> None:
    for name in ("a.json", "a.jsonl", None):
        log = log_of(content, name)
        assert head_of(log).records == ()
        assert importer_for(log).name == "messages"
        assert all("a" in str(entry) for entry in list(IMPORTERS["messages"].read(log))[1:2])


def test_a_document_that_is_cut_off_is_refused_as_one() -> None:
    """Its inner objects are not taken for the log."""
    content = json.dumps([{"role": "user", "content": {}}] * 9, indent=2).encode()[:-8]
    with pytest.raises(LogError, match=r"a\.json, line \d+: not JSON"):
        importer_for(log_of(content, "a.json"))
