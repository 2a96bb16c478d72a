"""Hidden: what lies in the directory of a run and is nobody's work."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from foveate.store.held import HELD_ENDING

# A database has files beside it that are named after it.
_BESIDE: Final = ("", "-wal", "-shm", "-journal")


class Hidden:
    """Files and folders under a root that agents neither see nor change: the store, states, what a run began with."""

    def __init__(self, root: Path, paths: Iterable[Path] = ()) -> None:
        top = Path(os.path.realpath(root))
        real = (Path(os.path.realpath(path)) for path in paths)
        names = [path.relative_to(top).as_posix() for path in real if path != top and path.is_relative_to(top)]
        self._names = frozenset(f"{name}{ending}" for name in names for ending in _BESIDE)
        # Beside a database also a folder: what it could not take is held there.
        self._folders = tuple(f"{name}{ending}/" for name in names for ending in ("", HELD_ENDING))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._names or name.startswith(self._folders))
