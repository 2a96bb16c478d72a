"""Listing: the files of a project, as they stand in its folder or in one of its commits."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from foveate.errors import ConfigError
from foveate.git import git, listed, walked

_NOT_OURS: Final = frozenset({"node_modules", "__pycache__"})
_REGULAR: Final = ("100644", "100755")
# What git is asked for at once, so that a large repository never stands in memory whole.
_TOGETHER: Final = 16_000_000


class Blob(NamedTuple):
    """A file of a commit."""

    path: str
    id: str
    size: int


class Found(NamedTuple):
    """A file of a folder."""

    path: str
    size: int
    mtime_ns: int


def files_in(folder: Path) -> list[Found]:
    """The regular files of a folder in order: those git does not ignore, else all that are in no hidden folder.

    Links are not followed, neither those to files nor those to folders.
    """
    real = os.path.realpath(folder)
    names = listed(folder) or walked(folder, without=_NOT_OURS)
    return sorted(found for name in names if (found := _found(real, name)) is not None)


def commit_named(repo: Path, name: str) -> str:
    """The full id of a commit, given by its id, a branch or a tag."""
    ran = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", cwd=repo)
    if ran is None or ran.returncode != 0:
        raise ConfigError(f"`commit` is {name!r}, which {str(repo)!r} does not have; give one that `git log` shows")
    return ran.stdout.decode().strip()


def blobs_at(repo: Path, commit: str) -> list[Blob]:
    """The regular files of a commit in order."""
    listed = _demanded("ls-tree", "-r", "-l", "-z", "--full-tree", commit, cwd=repo)
    found: list[Blob] = []
    for line in listed.split(b"\0"):
        about, _, path = line.partition(b"\t")
        mode, _, blob, size = about.decode().split() if about else ("", "", "", "")
        # A link says where it leads, and a submodule which commit it is at; neither is text of the project.
        if mode in _REGULAR:
            found.append(Blob(os.fsdecode(path), blob, int(size)))
    return sorted(found)


def contents(repo: Path, blobs: Iterable[Blob]) -> Iterator[bytes]:
    """What stands in files of a commit, in the order they are given."""
    for part in _parts(blobs):
        rest = memoryview(_demanded("cat-file", "--batch", cwd=repo, stdin="".join(f"{one.id}\n" for one in part)))
        for blob in part:
            head = f"{blob.id} blob {blob.size}\n".encode()
            start = len(head)
            if bytes(rest[:start]) != head:
                raise ConfigError(f"{blob.path!r} cannot be read from {str(repo)!r}; `git fsck` says what is missing")
            yield bytes(rest[start : start + blob.size])
            rest = rest[start + blob.size + 1 :]


def _found(real: str, name: str) -> Found | None:
    path = os.path.join(real, name)  # noqa: PTH118  a Path would drop what the name ends with
    try:
        about = os.lstat(path)
    except OSError:
        # The index still has what is gone from the folder.
        return None
    if not stat.S_ISREG(about.st_mode) or os.path.realpath(path) != path:
        return None
    return Found(name, about.st_size, about.st_mtime_ns)


def _parts(blobs: Iterable[Blob]) -> Iterator[list[Blob]]:
    part: list[Blob] = []
    size = 0
    for blob in blobs:
        if part and size + blob.size > _TOGETHER:
            yield part
            part, size = [], 0
        part.append(blob)
        size += blob.size
    if part:
        yield part


def _demanded(*arguments: str, cwd: Path, stdin: str = "") -> bytes:
    ran = _git(*arguments, cwd=cwd, stdin=stdin)
    if ran is None or ran.returncode != 0:
        said = ran.stderr.decode(errors="replace").strip() if ran is not None else "git is not installed"
        raise ConfigError(f"{str(cwd)!r} cannot be read as a git repository: {said}")
    return ran.stdout


def _git(*arguments: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[bytes] | None:
    """What git says, or nothing where there is no git."""
    try:
        return git(*arguments, cwd=cwd, stdin=stdin.encode())
    except OSError:
        return None
