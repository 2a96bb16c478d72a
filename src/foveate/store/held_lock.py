"""The lock of a session's held events, for all processes of a machine; no forked child keeps it."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from foveate.store.forking import OpenFile

try:
    import fcntl
except (
    ImportError
):  # pragma: no cover  Windows has none, as docs/store.md says: held events of two processes are renumbered
    fcntl = None  # type: ignore[assignment]

_POLL: Final = 0.005
HAS_LOCKS: Final = fcntl is not None


@contextmanager
def lock_taken(lock: OpenFile, gate: OpenFile, *, alone: bool, wait: float) -> Generator[bool, None, None]:
    """Hold a lock, shared or alone, behind the gate before it; whether it was had within `wait` seconds.

    Those who wait for the lock hold the gate meanwhile, so that those who share it do not keep coming in.
    """
    deadline = time.monotonic() + wait
    try:
        is_had = _take(gate, alone=True, deadline=deadline) and _take(lock, alone=alone, deadline=deadline)
        _give_back(gate)
        yield is_had
    finally:
        # Said, not left to closing: a child that was forked meanwhile may have the same file open.
        _give_back(lock)
        _give_back(gate)


def _take(file: OpenFile, *, alone: bool, deadline: float) -> bool:
    while fcntl is not None and file.number is not None:
        kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
        try:
            fcntl.flock(file.number, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL)
        else:
            return True
    return False


def _give_back(file: OpenFile) -> None:
    if fcntl is not None and file.number is not None:
        fcntl.flock(file.number, fcntl.LOCK_UN)
