"""Files of one directory, by the paths that a model gives; nothing outside is read or written."""

from __future__ import annotations

import fnmatch
import os
import re
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path, PurePath

from foveate.git import listed, walked
from foveate.hard_links import HardLinks
from foveate.log.messages import Outcome
from foveate.workflow.hidden import Hidden
from foveate.workflow.matching import LONGEST_FILE

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_NO_NAME = re.compile(r"[\0\ud800-\udfff]")
_MOST_TEXT = 30_000
_MOST_FILES = 400


class RefusedError(Exception):
    """A call was not carried out; the message is for the model."""

    def __init__(self, message: str, *, outcome: Outcome = "error") -> None:
        super().__init__(message)
        self.outcome: Outcome = outcome


class Files:
    """The files under `root`; every method takes and gives paths relative to it."""

    def __init__(self, root: Path, without: Sequence[Path] = ()) -> None:
        self.root = Path(os.path.realpath(root))
        self._hidden = Hidden(self.root, without)
        # Whoever started the work may have told the model a path with a link in it.
        self._named = Path(os.path.abspath(root))  # noqa: PTH100  a link keeps the name it goes by

    def listing(self, pattern: str) -> str:
        """The paths that match a pattern; without one, all."""
        names = [name for name in self.under(self.root) if _matches(name, pattern)]
        if not names:
            return f"No file matches {shortened(pattern)}." if pattern else "There are no files yet."
        if len(names) <= _MOST_FILES:
            return "\n".join(names)
        more = f"[{len(names) - _MOST_FILES:,} more files are left out; give a `pattern` to see them]"
        return "\n".join([*names[:_MOST_FILES], more])

    def read(self, path: str, first: int = 1, last: int | None = None) -> str:
        """The text of a file, or some of its lines; what is too long is cut, and says how to go on."""
        text = self._text(path)
        lines = _LINES.findall(text)
        if not lines:
            return "[the file is empty]"
        if first > len(lines) or (last is not None and last < first):
            given = f"`first_line` {first} and `last_line` {last}" if last is not None else f"`first_line` {first}"
            raise RefusedError(f"{shortened(path)} has {len(lines)} lines, and {given} name none of them")
        end = len(lines) if last is None else min(last, len(lines))
        shown, size = 0, 0
        for line in lines[first - 1 : end]:
            size += len(line)
            if size > _MOST_TEXT:
                break
            shown += 1
        if shown == 0:
            line = lines[first - 1]
            more = f"; go on with `first_line` {first + 1}" if first < end else ""
            note = f"line {first} is cut: {_MOST_TEXT:,} of its {len(line):,} characters are shown{more}"
            return f"{line[:_MOST_TEXT]}\n[{note}]"
        part = "".join(lines[first - 1 : first - 1 + shown])
        if shown == len(lines):
            return part
        until = first - 1 + shown
        more = f"; go on with `first_line` {until + 1}" if until < end else ""
        return f"{part.removesuffix(chr(10))}\n[lines {first}-{until} of {len(lines)}{more}]"

    def write(self, path: str, content: str) -> str:
        """Create a file with all folders it needs, or replace its content."""
        place = self.place(path)
        existed = place.exists()
        if existed and not place.is_file():
            raise RefusedError(f"{shortened(path)} is a directory or no regular file; name a file")
        size = self._replace(place, path, content)
        return f"{'Replaced' if existed else 'Created'} {self._name(place)}: {_lines_in(content)}, {size:,} bytes."

    def edit(self, path: str, old: str, new: str) -> str:
        """Replace a text that is there exactly once."""
        if not old:
            raise RefusedError("`old` is empty; give the text to replace, or use `write_file` for a whole file")
        if old == new:
            raise RefusedError("`old` and `new` are the same; nothing would change")
        text = self._text(path)
        if old not in text and "\r\n" in text and "\n" not in text.replace("\r\n", ""):
            # A model writes plain line ends; in a file that has none it means those of the file.
            old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
        start = text.find(old)
        if start < 0:
            raise RefusedError(f"`old` is not in {shortened(path)}{_nearly(old, text)}; nothing was changed")
        if text.find(old, start + 1) >= 0:
            times = max(2, text.count(old))
            raise RefusedError(
                f"`old` occurs {times} times in {shortened(path)}; nothing was changed. "
                "Give more of the lines around the place that is meant"
            )
        place = self.place(path)
        self._replace(place, path, text[:start] + new + text[start + len(old) :])
        return f"Edited {self._name(place)} at line {text.count(chr(10), 0, start) + 1}."

    def place(self, path: str) -> Path:
        """Where a path leads; refused if that is not inside the directory, or in `.git`."""
        if not path or _NO_NAME.search(path):
            raise RefusedError(f"{shortened(path)} is no path; give one relative to the directory, like 'src/main.py'")
        pure = PurePath(path)
        if pure.is_absolute():
            inside = next((root for root in (self.root, self._named) if pure.is_relative_to(root)), None)
            if inside is None:
                raise _denied(path, "it is outside of the directory; use paths relative to the directory")
            pure = pure.relative_to(inside)
        if ".." in pure.parts:
            raise _denied(path, "`..` is not followed; use paths relative to the directory")
        real = Path(os.path.realpath(self.root / pure))
        if not real.is_relative_to(self.root):
            raise _denied(path, "a symbolic link in it leads outside of the directory")
        if any(part.casefold() == ".git" for part in (*pure.parts, *real.relative_to(self.root).parts)):
            raise _denied(path, "what is in `.git` belongs to git; use its commands")
        if self._name(real) in self._hidden:
            raise _denied(path, "it belongs to the run itself")
        return real

    def check_links(self, place: Path, path: str) -> None:
        """Refuse a file that is also one outside of the directory."""
        if HardLinks(self.root).leads_out(place):
            raise _denied(path, "by a hard link it is also a file outside of the directory; copy it with a command")

    def under(self, folder: Path) -> list[str]:
        """The files in a folder and below: what git does not ignore, else what is in no hidden folder."""
        names = listed(folder) or sorted(walked(folder))
        inner = folder.relative_to(self.root)
        paths = [(inner / name).as_posix() for name in names if ".git" not in name.casefold().split("/")]
        return [path for path in paths if path not in self._hidden]

    def _text(self, path: str) -> str:
        place = self.place(path)
        if place.is_dir():
            raise RefusedError(f"{shortened(path)} is a directory; `list_files` shows what is in it")
        if not place.exists():
            raise RefusedError(f"{shortened(path)} does not exist; `list_files` shows what there is")
        # A pipe or a device would be read for ever.
        if not place.is_file():
            raise RefusedError(f"{shortened(path)} is no regular file")
        self.check_links(place, path)
        if (size := place.stat().st_size) > LONGEST_FILE:
            raise RefusedError(
                f"{shortened(path)} has {size:,} bytes, and more than {LONGEST_FILE:,} are not read; "
                "take a part of it with a command"
            )
        content = place.read_bytes()
        if b"\0" in content:
            raise RefusedError(f"{shortened(path)} is a binary file of {size:,} bytes, no text")
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            byte = content[error.start]
            raise RefusedError(
                f"{shortened(path)} is not UTF-8: byte {byte:#04x} at position {error.start}; convert it with a command"
            ) from error

    def _replace(self, place: Path, path: str, content: str) -> int:
        try:
            encoded = content.encode()
        except UnicodeEncodeError as error:
            raise RefusedError(
                f"the text for {shortened(path)} has half a character ({content[error.start]!a}) "
                f"at position {error.start}; nothing was written"
            ) from error
        mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else None
        if mode is not None and not os.access(place, os.W_OK):
            raise RefusedError(f"{shortened(path)} is read-only; nothing was written")
        place.parent.mkdir(parents=True, exist_ok=True)
        _put(place, encoded, mode)
        return len(encoded)

    def _name(self, place: Path) -> str:
        return place.relative_to(self.root).as_posix()


def shortened(text: str) -> str:
    """Something a model said, as it can stand in an answer."""
    return repr(text) if len(text) <= 200 else f"{text[:200]!r}…"


def _denied(path: str, rule: str) -> RefusedError:
    return RefusedError(f"{shortened(path)}: {rule}", outcome="denied")


def _matches(name: str, pattern: str) -> bool:
    """Whether a file is meant: by its name, its path, or a folder it is in."""
    wanted = pattern.removeprefix("./").rstrip("/")
    if wanted in ("", ".", "**"):
        return True
    if "/" not in wanted and fnmatch.fnmatchcase(name.rpartition("/")[2], wanted):
        return True
    return name.startswith(f"{wanted}/") or fnmatch.fnmatchcase(name, wanted.replace("**/", "*"))


def _lines_in(content: str) -> str:
    count = len(_LINES.findall(content))
    return f"{count} line" if count == 1 else f"{count} lines"


def _nearly(old: str, text: str) -> str:
    if " ".join(old.split()) in " ".join(text.split()):
        return ", but its words are: white space or line breaks differ"
    return "; read the file again and copy the text exactly"


def _put(place: Path, content: bytes, mode: int | None) -> None:
    """Write a file beside its place and move it there, so that it is never there in part."""
    beside = place.with_name(f".foveate-{secrets.token_hex(8)}")
    try:
        with beside.open("xb") as file:
            file.write(content)
        if mode is not None:
            beside.chmod(mode)
        beside.replace(place)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
