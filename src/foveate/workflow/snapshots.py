"""Snapshots: states of a directory as git trees, kept apart from the user's own repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

from foveate.errors import ConfigError, FoveateError
from foveate.git import git, listed
from foveate.hard_links import HardLinks
from foveate.knowledge.models import ChangeType
from foveate.private_files import FOLDER_MODE, make_private_folder
from foveate.workflow.hidden import Hidden

_DESCRIPTION = "States of a directory, taken by Foveate.\n"
# Content is kept as it is: no line ends, encodings or large files of others are converted.
_ATTRIBUTES = "* -text -ident !filter !working-tree-encoding\n"
_TREE = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)
_CHANGES: Final[Mapping[str, ChangeType]] = MappingProxyType({"A": "add", "D": "delete"})
_NOTE = 60
_LEAST = 400


class SnapshotError(FoveateError):
    """The state of a directory could not be taken or read; the directory is as it was."""


class Snapshots:
    """States of `root`, kept in a private repository at `git_dir`.

    The user's repository, index and history are only read: ignored files are left out, and so is `.git`. A repository
    inside `root`, also a submodule, counts as the files it has; empty folders do not count. Left out are files that
    by a hard link are also outside of `root`, and those in `without`.
    """

    def __init__(self, git_dir: Path, root: Path, *, without: Sequence[Path] = ()) -> None:
        self._git_dir = Path(os.path.realpath(git_dir))
        self._root = Path(os.path.realpath(root))
        if not self._root.is_dir():
            raise ConfigError(f"`root` must be a directory, and {str(root)!r} is none; create it or name another")
        if self._root.is_relative_to(self._git_dir):
            raise ConfigError(f"`git_dir` {str(git_dir)!r} would hold `root` {str(root)!r}; put it elsewhere")
        if shutil.which("git") is None:
            raise ConfigError("`git` was not found, and states of a directory are kept with it; install git")
        self._hidden = Hidden(self._root, (self._git_dir, *without))
        _create(self._git_dir)

    def take(self) -> str:
        """The state of the directory now, as the id of a tree; equal content has an equal id."""
        whole = {"GIT_DIR": str(self._git_dir), "GIT_WORK_TREE": str(self._root)}
        # A directory without a repository has its `.gitignore` all the same; the index named here does not exist.
        unknown = whole | {"GIT_INDEX_FILE": str(self._git_dir / "none")}
        belonging = filter(self._belongs, listed(self._root) or listed(self._root, unknown))
        # A diff goes to a model, and what is outside of the directory does not.
        links = HardLinks(self._root)
        files = {name for name in belonging if not links.leads_out(self._root / name)}
        with self._index() as index:
            within = whole | {"GIT_INDEX_FILE": str(index)}
            known = set(self._run("ls-files", "-z", "-c", within=within).split(b"\0")) - {b""}
            present = {os.fsencode(name) for name in files}
            for option, names in (("--force-remove", known - present), ("--add", present)):
                if names:
                    stdin = b"\0".join(sorted(names))
                    self._run(
                        "update-index", "-z", "--remove", "--replace", option, "--stdin", stdin=stdin, within=within
                    )
            return self._run("write-tree", within=within).decode().strip()

    def diff(self, before: str, after: str, *, most: int | None = None) -> str:
        """What changed between two states, as a unified diff; above `most` characters the longest files are cut."""
        if most is not None and most < 1:
            raise ConfigError(f"`most` must be 1 character or more, got {most!r}")
        form = ("-p", "-M", "-l1000", "--abbrev=12", "--no-color", "--no-ext-diff", "--no-textconv")
        text = self._compare(before, after, *form).decode(errors="replace")
        return text if most is None or len(text) <= most else _within(text, most)

    def changed(self, before: str, after: str) -> tuple[str, ...]:
        """The paths of files that are not the same in two states, in order; a moved file with both of its paths."""
        names = self._compare(before, after, "-z", "--name-only", "--no-renames").decode(errors="replace")
        return tuple(sorted(name for name in names.split("\0") if name))

    def changes(self, before: str, after: str) -> dict[str, ChangeType]:
        """The same paths, each with what was done to the file."""
        told = self._compare(before, after, "-z", "--name-status", "--no-renames").decode(errors="replace").split("\0")
        marks = dict(zip(told[1::2], told[::2], strict=False))
        return {path: _CHANGES.get(marks[path], "modify") for path in sorted(marks)}

    def _belongs(self, name: str) -> bool:
        lowered = name.casefold()
        return not (".git" in lowered and ".git" in lowered.split("/")) and name not in self._hidden

    @contextmanager
    def _index(self) -> Generator[Path]:
        """A copy of the index, kept if all goes well: a process that is killed leaves no lock behind."""
        index = self._git_dir / "index"
        try:
            with tempfile.TemporaryDirectory(prefix="index-", dir=self._git_dir) as folder:
                copy = Path(folder) / "index"
                if index.exists():
                    # With its time: git takes a file changed in the same instant for unchanged if the index is newer.
                    shutil.copy2(index, copy)
                yield copy
                if copy.exists():
                    copy.replace(index)
        except OSError as error:
            raise SnapshotError(f"{str(self._git_dir)!r} cannot be written: {error.strerror}") from error

    def _compare(self, before: str, after: str, *form: str) -> bytes:
        for name, tree in (("before", before), ("after", after)):
            if not _TREE.fullmatch(tree):
                raise SnapshotError(f"`{name}` must be an id that `take` returned, got {tree!r}")
        # Without a work tree: the attributes of today's files must not change what a diff of last week shows.
        return self._run("diff-tree", "-r", *form, before, after, within={"GIT_DIR": str(self._git_dir)})

    def _run(self, *arguments: str, within: Mapping[str, str], stdin: bytes = b"") -> bytes:
        cwd = Path(within.get("GIT_WORK_TREE", self._git_dir))
        try:
            ran = git(*arguments, cwd=cwd, stdin=stdin, environment=within)
        except OSError as error:
            raise SnapshotError(f"`git {arguments[0]}` cannot be run in {str(cwd)!r}: {error.strerror}") from error
        remedy = "; make the file readable, or name it in `.gitignore`" if arguments[0] == "update-index" else ""
        _check(ran, f"git {arguments[0]}", self._root, remedy)
        return ran.stdout


def _create(git_dir: Path) -> None:
    if (git_dir / "HEAD").exists():
        description = git_dir / "description"
        if not description.is_file() or description.read_text(encoding="utf-8", errors="replace") != _DESCRIPTION:
            raise ConfigError(
                f"`git_dir` {str(git_dir)!r} is somebody's repository; name a directory that is not there"
            )
        return
    try:
        make_private_folder(git_dir.parent)
        # Made beside its place and moved there: nobody ever finds half a repository.
        with tempfile.TemporaryDirectory(prefix=f"{git_dir.name}-", dir=git_dir.parent) as folder:
            _make(Path(folder) / "made").rename(git_dir)
    except OSError as error:
        # Another process may have been faster.
        if not (git_dir / "HEAD").exists():
            raise ConfigError(
                f"`git_dir` {str(git_dir)!r} cannot be created: {error.strerror}; name a directory that is not there"
            ) from error


def _make(place: Path) -> Path:
    ran = git("init", "-q", "--bare", "--template=", "--object-format=sha1", str(place), cwd=place.parent)
    _check(ran, "git init", place.parent)
    # Nobody could enter until now: the folder around it is temporary, and its owner's.
    place.chmod(FOLDER_MODE)
    (place / "info").mkdir(exist_ok=True)
    (place / "info" / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")
    (place / "description").write_text(_DESCRIPTION, encoding="utf-8")
    return place


def _check(ran: subprocess.CompletedProcess[bytes], what: str, directory: Path, remedy: str = "") -> None:
    if ran.returncode != 0:
        said = ran.stderr.decode(errors="replace").strip()
        raise SnapshotError(f"`{what}` failed for {str(directory)!r} with {ran.returncode}: {said}{remedy}")


def _within(text: str, most: int) -> str:
    """A diff with its longest files cut, so that a lock file does not hide the change beside it."""
    files = _FILE.split(text)[1:]
    room, share = most, most
    for index, length in enumerate(sorted(map(len, files))):
        share = room // (len(files) - index)
        room -= min(length, share)
    if share < _LEAST:
        return _cut(text, most)
    return "".join(file if len(file) <= share else _cut(file, share) for file in files)


def _cut(text: str, most: int) -> str:
    """The first lines of a text, and how many are not there."""
    kept = text[: text.rfind("\n", 0, max(0, most - _NOTE)) + 1]
    note = f"[{text.count(chr(10)) - kept.count(chr(10)):,} more lines of the diff are left out]\n"
    return f"{kept}{note}"[:most]
