"""Reading: a recorded log as lines, records or one document; what is broken is named by line, or skipped."""

from __future__ import annotations

import json
import os
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final, NoReturn

import msgspec

from foveate.errors import LogError
from foveate.importers.density import has_more_values
from foveate.log.text import encodable
from foveate.named_files import open_regular

_HEAD: Final = 262_144
_CHUNK: Final = 1_048_576
# In bytes; the largest recorded logs are some hundred megabytes.
MOST_BYTES: Final = 2_000_000_000
_LEAST_PIECE: Final = 10_000_000
_LOOKED_AT: Final = 100
# What names of logs end with; the rest, also behind a dot, tells one from the other.
_ENDINGS: Final = re.compile(r"(?:\.(?:json|jsonl|ndjson|traj|md|txt|log|chat|history)){1,9}$")
# Files that a program always calls the same: the folder around one tells it from the others.
_SAME_NAMES: Final = re.compile(
    r"\.aider\.chat\.history\.md|output\.jsonl|api_conversation_history\.json|events(\.jsonl?)?|trajectory\.(jsonl?|traj)"
)
# Milliseconds of the year 9999; what is later is no time.
_LAST: Final = 253_402_300_800_000
_decode = msgspec.json.Decoder().decode
_glued = json.JSONDecoder()

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeLimits:
    """How much is read of one log: `size` bytes in all, and a twentieth of that at once.

    A line or a JSON document is in memory as a whole. Its text takes up to eight times its bytes there, each value in
    it up to 300 bytes more, however short it is: so both are bounded, by `piece` and by `values`. With the default of
    2 GB that is 100 MB and 4 million values, and less than 2 GB of memory. `remedy` says what can be done about a log
    that is larger, in words of the place where it was given.
    """

    size: int = MOST_BYTES
    remedy: str = "bring it into a store with `foveate import --max-size`"

    @property
    def piece(self) -> int:
        """The most bytes of a line, or of a log that is one document."""
        return min(self.size, max(self.size // 20, _LEAST_PIECE))

    @property
    def values(self) -> int:
        """The most values of a line, or of a log that is one document: objects, lists, and what is in them."""
        return self.piece // 25

    def refusal(self, size: int | None = None) -> str:
        """Why a log that has more than `size` bytes is not read; None if nobody knows how many it has."""
        has = "more" if size is None else f"{size:,} bytes"
        return f"it has {has}, and at most {self.size:,} bytes of a log are read; {self.remedy}"


DEFAULT_LIMITS: Final = SizeLimits()


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
        file_name: what its file is called where it comes from, if it was one; that of `path` if there is one.
        lenient: leave out what is broken instead of refusing the file.
        limits: how much of it is read; what is larger is refused.

    What was left out is in `skipped` once the log was read; `notes` say what else is to be known of the whole of it.

    """

    name: str
    file: IO[bytes]
    path: Path | None = None
    file_name: str = ""
    lenient: bool = False
    limits: SizeLimits = DEFAULT_LIMITS
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    read: int = 0
    _document: Any = None
    _has_document: bool = False

    def __post_init__(self) -> None:
        if self.path is not None:
            # Sessions are called after files and folders, however somebody got there: `../log` has a name, too.
            self.path = Path(os.path.abspath(self.path))  # noqa: PTH100  a link keeps the name it goes by
            self.file_name = self.path.name

    @property
    def stem(self) -> str:
        """What a session is called if it has no name: the file without ending, or the folder if all are called so."""
        name = self.file_name or Path(self.name).name
        folder = self.path.absolute().parent.name if self.path is not None and _SAME_NAMES.fullmatch(name) else ""
        # Names of files may have bytes that are no text.
        return encodable(folder or _ENDINGS.sub("", name).lstrip(".") or name)

    def head(self) -> bytes:
        """The first line and some of what follows, to tell the format by."""
        self._rewind()
        line = self.file.readline(self.limits.piece)
        if reason := self._density(line):
            self.skip(1, reason)
            line = b""
        return line + self.file.read(_HEAD)

    def skip(self, line: int, reason: str) -> None:
        """Leave out what is at a line; raises unless this is lenient."""
        if not self.lenient:
            self.fail(line, reason)
        skipped = Skipped(line, reason)
        # A log is looked at before it is read, and its first lines are met twice.
        if skipped not in self.skipped[:_LOOKED_AT]:
            self.skipped.append(skipped)

    def fail(self, line: int, reason: str) -> NoReturn:
        """Refuse the whole log."""
        place = f"{self.name}, line {line}" if line else self.name
        raise LogError(f"{place}: {reason}")

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines with their numbers, without their ends."""
        for number, line in self.raw_lines():
            yield number, line.decode("utf-8", "replace").rstrip("\r\n")

    def records(self) -> Iterator[tuple[int, Record]]:
        """The objects of JSON lines with their line numbers; several on a line come one after the other."""
        for number, line in self.raw_lines():
            if line.strip():
                yield from self._objects(number, line)

    def raw_lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines as they are, with their numbers; one that is too large is left out or refused."""
        self._rewind()
        number, most = 0, self.limits.piece
        while line := self.file.readline(most + 1):
            number += 1
            self._count(len(line))
            if len(line) <= most or line.endswith(b"\n"):
                if reason := self._density(line):
                    self.skip(number, reason)
                else:
                    yield number, line
                continue
            self.skip(number, f"the line has more than {most:,} bytes, the most of a line; {self.limits.remedy}")
            while (rest := self.file.readline(_CHUNK)) and not rest.endswith(b"\n"):
                self._count(len(rest))
            self._count(len(rest))

    def document(self) -> Any:
        """The log as one JSON document."""
        if not self._has_document:
            self._rewind()
            most = self.limits.piece
            data = self.file.read(most + 1)
            if len(data) > most:
                self.fail(0, f"it is one JSON document of more than {most:,} bytes, the most; {self.limits.remedy}")
            self.read = len(data)
            if reason := self._density(data):
                self.fail(0, reason)
            try:
                self._document = _decode(data)
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                self._document = self._explained(data)
            self._has_document = True
        return self._document

    def _rewind(self) -> None:
        """Go to the beginning of a log that is not too large."""
        self.file.seek(0, os.SEEK_END)
        if (size := self.file.tell()) > self.limits.size:
            self.fail(0, self.limits.refusal(size))
        self.file.seek(0)
        # Some programs begin a file with the sign of its encoding, which is no JSON.
        if self.file.read(len(BOM_UTF8)) != BOM_UTF8:
            self.file.seek(0)
        self.read = 0

    def _density(self, data: bytes) -> str:
        """Why a line or a document has too many values to be read; "" if it has not."""
        most = self.limits.values
        if not has_more_values(data, most):
            return ""
        return f"it has more than {most:,} JSON values, the most to be read at once; {self.limits.remedy}"

    def _count(self, size: int) -> None:
        self.read += size
        # It may grow while it is read.
        if self.read > self.limits.size:
            self.fail(0, self.limits.refusal())

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
            except json.JSONDecodeError as error:
                self.skip(number, f"not JSON: {_reason(error)}")
                return
            except (ValueError, RecursionError) as error:
                self.skip(number, f"not JSON that can be read: {_reason(error)}")
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
def opened(path: Path, *, pipes: bool = False) -> Generator[IO[bytes], None, None]:
    """The bytes of a regular file, or with `pipes` of one that a shell made for a command; an error names the file."""
    try:
        file = open_regular(path, pipes=pipes)
    except OSError as error:
        raise LogError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    with file:
        yield file


def copy_log(source: IO[bytes], spool: IO[bytes], name: str, limits: SizeLimits) -> None:
    """Keep aside what comes through a pipe, unless it is too much."""
    size = 0
    while chunk := source.read(_CHUNK):
        size += len(chunk)
        if size > limits.size:
            raise LogError(f"{name}: {limits.refusal()}")
        spool.write(chunk)


def nothing_said(log: Recorded) -> LogError:
    """The refusal of a log without a message."""
    return LogError(f"{log.name}: there is no message in it; give one in which something was said")


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
            # What Python says of such a number is advice to a programmer.
            return f"it has a number too long to be read, of more than {sys.get_int_max_str_digits():,} digits"
