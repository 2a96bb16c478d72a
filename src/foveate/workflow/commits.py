"""Commits: an approved task becomes a commit of the user's repository, if the user wants it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from foveate.errors import FoveateError
from foveate.work.models import Task


class CommitError(FoveateError):
    """A task could not be committed; its changes are in the files."""


def is_repository(folder: Path) -> bool:
    """Whether a folder is in a git repository."""
    asked = subprocess.run(["git", "rev-parse", "--is-inside-work-tree"], cwd=folder, capture_output=True, check=False)  # noqa: S607
    return asked.stdout.strip() == b"true"


def commit(repo: Path, paths: Sequence[str], task: Task) -> None:
    """Commit what a task changed, and nothing else that the user may have in the works."""
    # A repository inside the repository keeps its own history, and a name that is no text cannot be given to git.
    paths = [path for path in paths if "\N{REPLACEMENT CHARACTER}" not in path and not _in_another(repo, path)]
    if not paths:
        return
    tracked = set(_git(repo, "ls-files", "-z", "--", *paths).split("\0"))
    # A file that is neither there nor known to git was made and deleted by the task, or committed before a kill.
    paths = [path for path in paths if (repo / path).exists() or path in tracked]
    if not paths:
        return
    _git(repo, "add", "-A", "--", *paths)
    if not _git(repo, "diff", "--cached", "--name-only", "--", *paths).strip():
        # It was committed before the run was killed.
        return
    _git(repo, "commit", "--quiet", "-m", _message(task), "--", *paths)


def _message(task: Task) -> str:
    if task.commit_message and task.commit_message.strip():
        return task.commit_message
    first = next((line for line in task.description.splitlines() if line.strip()), task.id).strip()
    return first if len(first) <= 72 else first[:71] + "…"


def _in_another(repo: Path, path: str) -> bool:
    return any((repo / folder / ".git").exists() for folder in Path(path).parents if folder != Path())


def _git(repo: Path, *arguments: str) -> str:
    # With the user's own configuration: name, hooks and signing are theirs.
    made = subprocess.run(["git", "--literal-pathspecs", *arguments], cwd=repo, capture_output=True, check=False)  # noqa: S603, S607
    if made.returncode:
        said = (made.stderr or made.stdout).decode(errors="replace").strip()
        raise CommitError(
            f"git {arguments[0]} failed in {str(repo)!r}: {said}; commit by hand, or leave out `--commit`"
        )
    return made.stdout.decode(errors="replace")
