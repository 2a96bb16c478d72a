"""Commands: a shell with a time limit, from which nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
# They would lead a git that runs in the directory to another repository.
_ELSEWHERE = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)
_CHUNK = 65_536
_HEAD, _TAIL = 8_000, 16_000
_LAST_WORDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended: its exit code, or none if it was stopped for taking too long."""

    code: int | None
    output: str


async def run(command: str, directory: Path, *, timeout: float) -> Ran:
    """Run a shell command in a directory; what it started ends with it, also when this is cancelled.

    Raises `OSError` if it cannot be started.
    """
    pipe, end = os.pipe()
    try:
        try:
            # A pipe of our own: asyncio's keeps `wait` waiting as long as any child holds its end.
            process = await asyncio.create_subprocess_exec(
                shutil.which("bash") or "/bin/sh",
                "-c",
                command,
                cwd=directory,
                env=environment(os.environ),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=end,
                stderr=end,
                start_new_session=True,
            )
        finally:
            os.close(end)
        return await _watched(process, pipe, timeout)
    finally:
        os.close(pipe)


def environment(whole: Mapping[str, str]) -> dict[str, str]:
    """The variables a command may see: none whose name speaks of a secret, none that leads git elsewhere."""
    return {
        name: value
        for name, value in whole.items()
        if name not in _ELSEWHERE and not any(word in name.upper() for word in _SECRET)
    }


async def _watched(process: asyncio.subprocess.Process, pipe: int, timeout: float) -> Ran:
    loop = asyncio.get_running_loop()
    output, ended = _Output(), asyncio.Event()
    os.set_blocking(pipe, False)

    def read() -> None:
        if chunk := os.read(pipe, _CHUNK):
            output.add(chunk)
        else:
            loop.remove_reader(pipe)
            ended.set()

    loop.add_reader(pipe, read)
    code = None
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                code = await process.wait()
    finally:
        try:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            # A child in a session of its own may hold the pipe for ever.
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS):
                    await ended.wait()
        finally:
            loop.remove_reader(pipe)
    return Ran(code=code, output=output.text())


class _Output:
    """The beginning and the end of an output, and how much was between them."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        room = _HEAD - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > _TAIL + _CHUNK:
            self._drop(len(self._tail) - _TAIL)

    def text(self) -> str:
        if not self._dropped and len(self._tail) <= _TAIL:
            return _decoded(self._head + self._tail)
        self._drop(max(0, len(self._tail) - _TAIL))
        # Whole lines read better; a line that is longer than all of this has to be broken.
        head = self._head[: self._head.rfind(b"\n") + 1] or self._head
        tail = self._tail[self._tail.find(b"\n") + 1 :] or self._tail
        left_out = self._dropped + len(self._head) - len(head) + len(self._tail) - len(tail)
        note = f"[{left_out:,} bytes left out here; write the output to a file, or filter it, to see them]"
        return f"{_decoded(head).rstrip()}\n{note}\n{_decoded(tail)}"

    def _drop(self, count: int) -> None:
        del self._tail[:count]
        self._dropped += count


def _decoded(output: bytearray) -> str:
    # Neither a database nor every provider takes a NUL.
    return output.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
