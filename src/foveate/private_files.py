"""Private files: what holds the content of sessions is created for its owner alone, whatever the umask says.

Files and folders that are there already keep their permissions: who opened them to others did so on purpose.
"""

from __future__ import annotations

import os
import stat
from io import BufferedRandom
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700


def make_private_folder(folder: Path) -> None:
    """Make a folder and its missing parents, each for the owner alone."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        # Another process may make it at the same moment; a file in its place is an error.
        one.mkdir(mode=FOLDER_MODE, exist_ok=True)
    if not missing:
        folder.mkdir(exist_ok=True)


def create_private_file(path: Path) -> BufferedRandom:
    """Create a file that is not there yet, for the owner alone, and open it to write and read."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), FILE_MODE)
    return os.fdopen(descriptor, "w+b")


def keep_mode(unfinished: Path, target: Path) -> None:
    """Give a file that will take the place of another the permissions of that one, if there is one."""
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return
    unfinished.chmod(mode)


def is_open_to_others(path: Path) -> bool:
    """Whether users other than the owner may read or write a file."""
    return os.name == "posix" and bool(path.stat().st_mode & 0o077)
