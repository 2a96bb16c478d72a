"""Adopting: while commands run, this process becomes the parent of what outlives its supervisor, and ends it.

Linux only. A command can kill the process that supervises it, but what it had started then comes to us, whatever it
has done to its session, its environment or its limits. As this process may have other children, those of commands are
told by a limit: the supervisor lowers it, and nobody without the rights of an administrator can raise it again.
"""

from __future__ import annotations

import os
import resource
import secrets
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from foveate.workflow import supervising

_LARGEST_MARK: Final = 2**48
_END_SECONDS: Final = 10.0
_LOCK: Final = threading.Lock()
_running: set[int] = set()
_was_subreaper = False


@contextmanager
def adopting() -> Generator[int]:
    """Adopt what a command leaves behind while this lasts; gives the number that marks the command."""
    mark = _new_mark()
    _begin(mark)
    try:
        yield mark
    finally:
        _end(mark)


def end_adopted(mark: int) -> None:
    """Kill what a command has left to us, until nothing is left: what those had started then comes to us, too."""
    if sys.platform != "linux":
        return
    until = time.monotonic() + _END_SECONDS
    while (left := _left_behind(mark)) and time.monotonic() < until:
        for process in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
            # By its number: the others are waited for by whoever started them.
            with suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)
        time.sleep(0.002)


def lock_limits(folder: Path) -> list[bytes]:
    """The limits of a process by which commands are told, the one it obeys and the highest it may set."""
    lines = (folder / "limits").read_bytes().splitlines()
    return next((line.split()[3:5] for line in lines if line.startswith(b"Max file locks")), [])


def _new_mark() -> int:
    """A number below the limit that there is, as there is one in a command of another run, and hard to guess."""
    most = _LARGEST_MARK
    if sys.platform == "linux":
        highest = resource.getrlimit(supervising.FILE_LOCKS)[1]
        most = min(most, highest) if highest != resource.RLIM_INFINITY else most
    half = max(most // 2, 1)
    return half + secrets.randbelow(half)


def _begin(mark: int) -> None:
    global _was_subreaper  # noqa: PLW0603  it is one setting of the whole process
    with _LOCK:
        if not _running and sys.platform == "linux":
            _was_subreaper = supervising.is_subreaper()
            supervising.set_subreaper(True)
        _running.add(mark)


def _end(mark: int) -> None:
    with _LOCK:
        _running.discard(mark)
        if not _running and sys.platform == "linux":
            supervising.set_subreaper(_was_subreaper)


def _left_behind(mark: int) -> list[int]:
    """Our children that a command started; not the supervisors of other commands, which have those commands' marks."""
    own = lock_limits(Path("/proc/self"))[1:]
    with _LOCK:
        others = {str(one).encode() for one in _running if one != mark}
    found = []
    for process in supervising.children():
        # It may have ended meanwhile.
        with suppress(OSError):
            highest = lock_limits(Path("/proc", str(process)))[1:]
            if highest and highest != own and highest[0] not in others:
                found.append(process)
    return found
