"""Listing: the files of a project, as they stand in its folder or in one of its commits."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from foveate.errors import ConfigError

# Neither the configuration of the user nor that of the repository may start a program or change what is read.
_SETTINGS: Final = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("core.excludesFile", os.devnull),
    ("core.quotePath", "false"),
    ("safe.directory", "*"),
)
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
    return sorted(found for name in set(_names(folder)) if (found := _found(real, name)) is not None)


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


def _names(folder: Path) -> Iterator[str]:
    ran = _git("ls-files", "-z", "-co", "--exclude-standard", cwd=folder)
    listed = [os.fsdecode(name) for name in ran.stdout.split(b"\0") if name] if ran and ran.returncode == 0 else []
    if not listed:
        yield from _walked(folder)
    for name in listed:
        inner = folder / name
        # Git names a repository inside another, but not its files.
        if not inner.is_symlink() and (inner / ".git").exists():
            yield from (f"{name.rstrip('/')}/{path}" for path in _names(inner))
        else:
            yield name


def _walked(folder: Path) -> Iterator[str]:
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _NOT_OURS]
        for name in names:
            if name != ".git":
                yield Path(here, name).relative_to(folder).as_posix()


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
    program = shutil.which("git")
    if program is None:
        return None
    settings = [word for name, value in _SETTINGS for word in ("-c", f"{name}={value}")]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    clean = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }
    return subprocess.run(  # noqa: S603  a list of words, and no shell
        [program, *settings, *arguments],
        cwd=cwd,
        input=stdin.encode(),
        env=kept | clean,
        capture_output=True,
        check=False,
    )
