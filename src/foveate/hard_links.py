"""Hard links: whether a file of a directory is also a file elsewhere, where nobody allowed to look."""

from __future__ import annotations

import os
import stat
from collections import Counter
from functools import cached_property
from pathlib import Path


class HardLinks:
    """The files of a directory that have names outside of it; made anew for each look, as names change."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def leads_out(self, path: Path) -> bool:
        """Whether a regular file has more names than the directory holds; each name is the file itself."""
        try:
            found = path.lstat()
        except OSError:
            # What is not there is nowhere else either.
            return False
        is_shared = stat.S_ISREG(found.st_mode) and found.st_nlink > 1
        return is_shared and self._names_inside[found.st_ino] < found.st_nlink

    @cached_property
    def _names_inside(self) -> Counter[int]:
        """How many names each file has in the directory, by its number; looked up once, if any is shared."""
        counts: Counter[int] = Counter()
        ahead = [str(self._root)]
        while ahead:
            try:
                entries = list(os.scandir(ahead.pop()))
            except OSError:
                # A folder that cannot be read is one whose names cannot be used.
                continue
            # The number comes with the entry and costs nothing.
            counts.update(entry.inode() for entry in entries if not entry.is_dir(follow_symlinks=False))
            ahead += (entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
        return counts
