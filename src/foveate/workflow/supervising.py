"""Supervising: a program that runs one command and ends whatever that has started, also in sessions of its own.

Linux only. It is run by its path and imports nothing of Foveate. As a subreaper it becomes the parent of every
descendant whose own parent ended, so none can get away by forking twice or by `setsid`; when the command ends, or when
it gets SIGTERM, it kills what is left and waits for it. It gets SIGTERM also when its own parent dies. What the command
starts is marked, so that it is found even if the command kills its supervisor (see `adopting`).
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from typing import Final, NoReturn

_SET_PARENT_DEATH_SIGNAL: Final = 1
_SET_CHILD_SUBREAPER: Final = 36
_GET_CHILD_SUBREAPER: Final = 37
# The variable with the number by which what outlives the supervisor is found.
MARK: Final = "FOVEATE_COMMAND"
# How many files may be locked: Linux hands it on to every child, but has not obeyed it since 2.4.
FILE_LOCKS: Final = 10


def supervise(command: list[str]) -> int | None:
    """Run a command; its status as `os.waitpid` gives it, or None if it was stopped."""
    watched = {signal.SIGTERM, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    child = os.fork()
    if child == 0:
        # A group of its own: `kill 0` in the command is not for the supervisor.
        os.setsid()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _become(command)
    status: int | None = None
    while status is None:
        if signal.sigwait(watched) == signal.SIGTERM:
            break
        status = _reap(child)
    _end_descendants()
    return status


def is_subreaper() -> bool:
    """Whether this process becomes the parent of descendants whose own parent ended."""
    answer = ctypes.c_int(0)
    _control(_GET_CHILD_SUBREAPER, ctypes.byref(answer))
    return bool(answer.value)


def set_subreaper(wanted: bool) -> None:
    """Have this process become the parent of descendants whose own parent ended, where a sandbox allows it."""
    _control(_SET_CHILD_SUBREAPER, int(wanted))


def children() -> list[int]:
    """The children of this process, also those that have ended and were not waited for."""
    own, found = os.getpid(), []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            # It may have ended meanwhile.
            with suppress(OSError), open(f"{entry.path}/stat", "rb") as file:  # noqa: PTH123  pathlib imports much
                # The name of a program, in parentheses, may have anything in it.
                state = file.read().rpartition(b")")[2].split()
                if int(state[1]) == own:
                    found.append(int(entry.name))
    return found


def _control(option: int, value: object) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _become(command: list[str]) -> NoReturn:
    try:
        os.execv(command[0], command)  # noqa: S606  the shell itself
    finally:
        os._exit(127)


def _reap(child: int) -> int | None:
    """Collect children that ended; the status of the command if it is among them."""
    found = None
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found = ended[1] if ended[0] == child else found
    return found


def _end_descendants() -> None:
    """Kill children until there are none; those of a killed child become children themselves."""
    while True:
        for process in children():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _mark_limits(mark: str) -> None:
    """Have the command and all that it starts carry its number in a limit, which none of them can raise again."""
    # A system that does not know the limit still has the mark in the environment.
    with suppress(OSError, ValueError):
        resource.setrlimit(FILE_LOCKS, (int(mark), int(mark)))


def main() -> NoReturn:
    """Supervise the command that the arguments are, and end as it ended."""
    # Where a sandbox does not allow it, whoever started us finds what is left by its mark.
    set_subreaper(True)
    _mark_limits(os.environ.get(MARK, ""))
    _control(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGTERM))
    status = supervise(sys.argv[1:])
    if status is None:
        os._exit(1)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main()
