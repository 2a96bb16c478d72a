"""Named files: what a user names, or what a folder has, is read only if it ends, and only up to a size."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final

from foveate.errors import ConfigError

# In bytes; what people write by hand, and what agents hand over, has some thousand.
MOST_TEXT: Final = 10_000_000


def read_named_text(path: Path, *, most: int = MOST_TEXT, standard_input: bool = False) -> str:
    """The UTF-8 text of a file or pipe that a user named, lines ended by a newline; `standard_input` is meant by `-`.

    What is no regular file nor a pipe, has more than `most` bytes or is no text is a `ConfigError` with the remedy.
    """
    try:
        if standard_input and str(path) == "-":
            content = sys.stdin.buffer.read(most + 1)
        else:
            with open_regular(path, pipes=True) as file:
                content = file.read(most + 1)
        if len(content) > most:
            raise ConfigError(
                f"cannot read {str(path)!r}: it has more than {most:,} bytes, the most that is read of such a text; "
                "give a smaller one, or split it"
            )
        # As bytes: what is no text must not come in as signs that nobody wrote.
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise ConfigError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"cannot read {str(path)!r}: it is not UTF-8 text: {error}; store it as UTF-8") from error


def open_regular(path: Path, *, pipes: bool = False) -> BufferedReader:
    """A regular file, or with `pipes` one that a shell made for a command; an `OSError` says what else it is."""
    is_pipe = stat.S_ISFIFO(path.stat().st_mode)
    if is_pipe and pipes:
        return path.open("rb")
    # Whatever it was when it was looked at: a pipe that nobody writes to would be waited for.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, f"{kind_of_file(mode)}; give a regular file", str(path))


def kind_of_file(mode: int) -> str:
    """What a file is that is no regular one."""
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return f"it is {kinds.get(stat.S_IFMT(mode), 'a device')}"


def walk_folder(
    top: Path, endings: tuple[str, ...], leave_out: Callable[[Path, str], None], *, hidden: bool = True
) -> Iterator[tuple[Path, list[Path]]]:
    """The folders below one, with their files that have one of the endings, in the order of their names.

    Links to folders are not followed. Only regular files inside of the folder are given; others are told to `leave_out`
    with the reason. Without `hidden`, what begins with a dot is passed over.
    """
    inside = Path(os.path.realpath(top))

    def note_unreadable(error: OSError) -> None:
        leave_out(Path(str(error.filename)), f"it cannot be read: {error.strerror}")

    for folder, inner, names in os.walk(top, onerror=note_unreadable):
        inner[:] = sorted(name for name in inner if hidden or not name.startswith("."))
        for link in (path for path in (Path(folder, name) for name in inner) if path.is_symlink()):
            # What it leads to inside of the folder is met anyway.
            if not Path(os.path.realpath(link)).is_relative_to(inside):
                leave_out(link, "it is a link that leads out of the folder")
        files: list[Path] = []
        shown = (name for name in sorted(names) if hidden or not name.startswith("."))
        for path in (Path(folder, name) for name in shown if name.lower().endswith(endings)):
            reason = _reason_to_leave_out(path, inside)
            if reason is None:
                files.append(path)
            else:
                leave_out(path, reason)
        yield Path(folder), files


def _reason_to_leave_out(path: Path, inside: Path) -> str | None:
    """Why a file of a folder is not looked at: only regular files inside of it are."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return "it is a link that leads nowhere" if path.is_symlink() else f"it cannot be read: {error.strerror}"
    if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(inside):
        return "it is a link that leads out of the folder"
    # A pipe or a device would be waited for, or never end.
    return None if stat.S_ISREG(mode) else kind_of_file(mode)
