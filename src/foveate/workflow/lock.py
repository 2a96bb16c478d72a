"""Locks: one process at a time works on a run."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from foveate.errors import ConfigError
from foveate.private_files import make_private_folder


@contextmanager
def held(path: Path, run: str) -> Generator[None, None, None]:
    """Hold the lock of a run; the system lets go of it when the process ends, however it ends."""
    make_private_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                f"another process works on the run {run!r}; wait for it, or end it and `foveate work resume` the run"
            ) from None
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether a process works on a run now."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)
