"""Git as it is used here: without the configuration, the environment and the hooks of the user."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

_SETTINGS = {
    # A configured monitor or hook is a program that git would start.
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    # Without these two, git reads files beneath the home directory even if it is told to read no configuration.
    "core.excludesFile": os.devnull,
    "core.attributesFile": os.devnull,
    "core.autocrlf": "false",
    "core.quotePath": "false",
    # A file may be called `git~1` here; nothing is ever checked out on another system.
    "core.protectNTFS": "false",
    "core.protectHFS": "false",
    # A directory that belongs to someone else can still be listed.
    "safe.directory": "*",
}
# What git needs to run; a filter that a repository configures is a program, and need not see more.
_NEEDED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TMP", "TEMP", "XDG_CONFIG_HOME", "LD_LIBRARY_PATH"),
        # On Windows, and by the git of macOS, which asks where its tools are.
        *("SYSTEMROOT", "PATHEXT", "USERPROFILE", "DEVELOPER_DIR"),
    }
)
_NOTHING: Mapping[str, str] = MappingProxyType({})


def git(
    *arguments: str, cwd: Path, stdin: bytes = b"", environment: Mapping[str, str] = _NOTHING
) -> subprocess.CompletedProcess[bytes]:
    """Run git in a directory, with `environment` added to a clean one; an `OSError` if there is no git."""
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    return subprocess.run(  # noqa: S603  a list of words, and no shell
        [shutil.which("git") or "git", *settings, *arguments],
        cwd=cwd,
        input=stdin,
        env=_environment() | dict(environment),
        capture_output=True,
        check=False,
    )


def listed(directory: Path, environment: Mapping[str, str] = _NOTHING) -> list[str]:
    """The files of a directory that git does not ignore, relative to it and in order.

    Files of repositories inside it belong to it. The list is empty where there is no repository, or no git.
    """
    return sorted(set(_files(directory, environment)))


def walked(directory: Path, *, without: Collection[str] = ()) -> Iterator[str]:
    """The files of a directory that are in no hidden folder and in none of these names, relative to it."""
    for here, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in without]
        for name in names:
            path = Path(here, name)
            if name != ".git" and (path.is_symlink() or path.is_file()):
                yield path.relative_to(directory).as_posix()


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in _NEEDED}
    return kept | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        # What a partial clone has not is not fetched: reading asks no network.
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }


def _files(directory: Path, environment: Mapping[str, str]) -> Iterator[str]:
    try:
        ran = git("ls-files", "-z", "-co", "--exclude-standard", cwd=directory, environment=environment)
    except OSError:
        return
    if ran.returncode != 0:
        return
    names = (os.fsdecode(name).rstrip("/") for name in ran.stdout.split(b"\0"))
    for name in _not_behind_links(directory, (name for name in names if name)):
        path = directory / name
        if path.is_symlink() or path.is_file():
            yield name
        elif (path / ".git").exists():
            # Git names a repository inside another, but not its files; one that is broken still has files.
            yield from (f"{name}/{inner}" for inner in set(_files(path, _NOTHING)) or walked(path))


def _not_behind_links(directory: Path, names: Iterable[str]) -> Iterator[str]:
    """The names without those that the index still has in a folder that has become a link."""
    real = os.path.realpath(directory)
    plain: dict[str, bool] = {}
    for name in names:
        folder = name.rpartition("/")[0]
        if folder not in plain:
            plain[folder] = not folder or os.path.realpath(f"{real}/{folder}") == f"{real}/{folder}"
        if plain[folder]:
            yield name
