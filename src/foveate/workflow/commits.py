"""Commits: an approved task becomes a commit of the user's repository, if the user wants it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from foveate.errors import FoveateError
from foveate.knowledge.handoff_text import first_sentence
from foveate.work.models import Task
from foveate.workflow import commands

# What git and the programs that sign for it need beside what every program does: who commits, where the configuration
# is, and how keys are reached and asked for.
_FOR_GIT: Final = frozenset(
    {
        *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "EMAIL"),
        *("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE"),
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
        *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "GNUPGHOME", "GPG_TTY", "GPG_AGENT_INFO"),
        *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
    }
)


class CommitError(FoveateError):
    """A task could not be committed; its changes are in the files."""


def is_repository(folder: Path) -> bool:
    """Whether a folder is in a git repository."""
    return _ran(folder, "rev-parse", "--is-inside-work-tree").stdout.strip() == b"true"


def commit(repo: Path, paths: Sequence[str], task: Task, *, also: Collection[str] = ()) -> None:
    """Commit what a task changed, and nothing else that the user may have in the works.

    Hooks, filters and whatever else git starts see the variables that commands see, with those that `also` names, and
    what git needs: agents can write hooks.
    """
    # A repository inside the repository keeps its own history, and a name that is no text cannot be given to git.
    paths = [path for path in paths if "\N{REPLACEMENT CHARACTER}" not in path and not _in_another(repo, path)]
    if not paths:
        return
    tracked = set(_git(repo, "ls-files", "-z", "--", *paths, also=also).split("\0"))
    # A file that is neither there nor known to git was made and deleted by the task, or committed before a kill.
    paths = [path for path in paths if (repo / path).exists() or path in tracked]
    if not paths:
        return
    _git(repo, "add", "-A", "--", *paths, also=also)
    if not _git(repo, "diff", "--cached", "--name-only", "--", *paths, also=also).strip():
        # It was committed before the run was killed.
        return
    _git(repo, "commit", "--quiet", "-m", _message(task), "--", *paths, also=also)


def _message(task: Task) -> str:
    if task.commit_message and task.commit_message.strip():
        return task.commit_message
    first = first_sentence(task.description) or task.id
    return first if len(first) <= 72 else first[:71] + "…"


def _in_another(repo: Path, path: str) -> bool:
    return any((repo / folder / ".git").exists() for folder in Path(path).parents if folder != Path())


def _git(repo: Path, *arguments: str, also: Collection[str]) -> str:
    made = _ran(repo, "--literal-pathspecs", *arguments, also=also)
    if made.returncode:
        said = (made.stderr or made.stdout).decode(errors="replace").strip() or f"exit code {made.returncode}"
        raise CommitError(
            f"git {arguments[0]} failed in {str(repo)!r}: {said}; commit by hand, or leave out `--commit`; a hook that "
            "lacks a variable gets it with `--env NAME`"
        )
    return made.stdout.decode(errors="replace")


def _ran(folder: Path, *arguments: str, also: Collection[str] = ()) -> subprocess.CompletedProcess[bytes]:
    # With the user's own configuration: name, hooks and signing are theirs.
    return subprocess.run(  # noqa: S603  a list of words, and no shell
        ["git", *arguments],  # noqa: S607  the user's own git
        cwd=folder,
        env=commands.environment(os.environ, also=_FOR_GIT.union(also)),
        capture_output=True,
        check=False,
    )
