"""Reading: a recorded log as lines, records or one document; what is broken is named by line, or skipped."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final, NoReturn

import msgspec

from foveate.errors import LogError
from foveate.log.text import encodable

_HEAD: Final = 262_144
# What names of logs end with; the rest, also behind a dot, tells one from the other.
_ENDINGS: Final = re.compile(r"(\.(json|jsonl|ndjson|traj|md|txt|log|chat|history))+$")
# Files that a program always calls the same: the folder around one tells it from the others.
_SAME_NAMES: Final = re.compile(
    r"\.aider\.chat\.history\.md|output\.jsonl|api_conversation_history\.json|events(\.jsonl?)?|trajectory\.(jsonl?|traj)"
)
# Milliseconds of the year 9999; what is later is no time.
_LAST: Final = 253_402_300_800_000
_decode = msgspec.json.Decoder().decode
_glued = json.JSONDecoder()

Record = dict[str, Any]


@dataclass(slots=True)
class Skipped:
    """A part of a log that was left out, and why."""

    line: int
    reason: str


@dataclass(slots=True)
class Recorded:
    """A recorded log: a file, or what came through a pipe.

    Args:
        name: how messages to people call it.
        file: its bytes, from the beginning; read more than once, so it can seek.
        path: where it is, for formats that spread over a folder.
        lenient: leave out what is broken instead of refusing the file.

    What was left out is in `skipped` once the log was read; `notes` say what else is to be known of the whole of it.

    """

    name: str
    file: IO[bytes]
    path: Path | None = None
    lenient: bool = False
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    read: int = 0
    _document: Any = None
    _has_document: bool = False

    def __post_init__(self) -> None:
        if self.path is not None:
            # Sessions are called after files and folders, however somebody got there: `../log` has a name, too.
            self.path = Path(os.path.abspath(self.path))  # noqa: PTH100  a link keeps the name it goes by

    @property
    def stem(self) -> str:
        """What a session is called if it has no name: the file without ending, or the folder if all are called so."""
        name = self.path.name if self.path is not None else Path(self.name).name
        folder = self.path.absolute().parent.name if self.path is not None and _SAME_NAMES.fullmatch(name) else ""
        # Names of files may have bytes that are no text.
        return encodable(folder or _ENDINGS.sub("", name).lstrip(".") or name)

    def head(self) -> bytes:
        """The first line and some of what follows, to tell the format by."""
        self.file.seek(0)
        return self.file.readline() + self.file.read(_HEAD)

    def skip(self, line: int, reason: str) -> None:
        """Leave out what is at a line; raises unless this is lenient."""
        if not self.lenient:
            self.fail(line, reason)
        self.skipped.append(Skipped(line, reason))

    def fail(self, line: int, reason: str) -> NoReturn:
        """Refuse the whole log."""
        place = f"{self.name}, line {line}" if line else self.name
        raise LogError(f"{place}: {reason}")

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines with their numbers, without their ends."""
        self.file.seek(0)
        self.read = 0
        for number, line in enumerate(self.file, start=1):
            self.read += len(line)
            yield number, line.decode("utf-8", "replace").rstrip("\r\n")

    def records(self) -> Iterator[tuple[int, Record]]:
        """The objects of JSON lines with their line numbers; several on a line come one after the other."""
        self.file.seek(0)
        self.read = 0
        for number, line in enumerate(self.file, start=1):
            self.read += len(line)
            if line.strip():
                yield from self._objects(number, line)

    def document(self) -> Any:
        """The log as one JSON document."""
        if not self._has_document:
            self.file.seek(0)
            data = self.file.read()
            self.read = len(data)
            try:
                self._document = _decode(data)
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                self._document = self._explained(data)
            self._has_document = True
        return self._document

    def _objects(self, number: int, line: bytes) -> Iterator[tuple[int, Record]]:
        try:
            value = _decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            yield from self._unglued(number, line.decode("utf-8", "replace").strip())
            return
        if isinstance(value, dict):
            yield number, value
        else:
            self.skip(number, f"expected a JSON object, got {type(value).__name__}")

    def _unglued(self, number: int, text: str) -> Iterator[tuple[int, Record]]:
        """Objects that were written to one line, and what is broken behind them."""
        at = 0
        while at < len(text):
            try:
                value, end = _glued.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                self.skip(number, f"not JSON: {_reason(error)}")
                return
            if not isinstance(value, dict):
                self.skip(number, f"expected a JSON object, got {type(value).__name__}")
                return
            yield number, value
            at = end
            while at < len(text) and text[at].isspace():
                at += 1

    def _explained(self, data: bytes) -> Any:
        """The document by the slower decoder, which takes half characters and says the line of what is broken."""
        try:
            return json.loads(data.decode("utf-8", "replace"))
        except json.JSONDecodeError as error:
            self.fail(error.lineno, f"not JSON: {_reason(error)}")
        except (ValueError, RecursionError) as error:
            self.fail(0, f"not JSON that can be read: {_reason(error)}")


@contextmanager
def opened(path: Path) -> Generator[IO[bytes], None, None]:
    """A file's bytes; an error names the file."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise LogError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    with file:
        yield file


def moment(stamp: object) -> float | None:
    """The seconds since 1970 of a recorded time: ISO text, seconds or milliseconds; None for anything else."""
    match stamp:
        case bool():
            return None
        case int() | float() if 0 < stamp < _LAST:
            return stamp / 1000 if stamp > 1e11 else float(stamp)
        case str():
            try:
                return datetime.fromisoformat(stamp).timestamp()
            except (ValueError, OverflowError):
                return None
        case _:
            return None


def _reason(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            # Some reasons end with the word themselves.
            return f"{error.msg.removesuffix(' at')} at column {error.colno}"
        case RecursionError():
            return "nested too deeply"
        case _:
            # Numbers of thousands of digits, which Python does not read.
            return str(error)
