"""Commands: a shell with a time limit, from which nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from foveate.workflow import adopting, supervising

# What programs need to run, to be found, to speak a language and to keep their caches; nothing that may be a secret, as
# `DATABASE_URL` or the address of a proxy may, and nothing that leads git to another repository.
_ALLOWED: Final = frozenset(
    {
        *(
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "TERM",
            "COLORTERM",
            "NO_COLOR",
            "FORCE_COLOR",
            "COLUMNS",
            "LINES",
        ),
        # By name: anything may be called `LC_…`, and anything may be a secret.
        *("LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME", "LC_ADDRESS"),
        *("LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_NAME", "LC_PAPER", "LC_TELEPHONE"),
        *("LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP", "CI"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
        *(
            "LD_LIBRARY_PATH",
            "PKG_CONFIG_PATH",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "REQUESTS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
        ),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"),
        *("PYTHONUNBUFFERED", "PYTHONUTF8", "UV_CACHE_DIR", "UV_PROJECT_ENVIRONMENT", "PIP_CACHE_DIR"),
        *(
            "JAVA_HOME",
            "GOPATH",
            "GOROOT",
            "GOCACHE",
            "GOMODCACHE",
            "CARGO_HOME",
            "RUSTUP_HOME",
            "NODE_PATH",
            "NVM_DIR",
        ),
        *("NODE_EXTRA_CA_CERTS", "GEM_HOME", "GEM_PATH", "DOTNET_ROOT", "SOURCE_DATE_EPOCH"),
    }
)
_CHUNK = 65_536
_HEAD, _TAIL = 8_000, 16_000
_LAST_WORDS = 1.0
_END_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended: its exit code, or none if it was stopped for taking too long."""

    code: int | None
    output: str


async def run(command: str, directory: Path, *, timeout: float, also: Collection[str] = ()) -> Ran:
    """Run a shell command in a directory; what it started ends with it, also when this is cancelled.

    On Linux that is all it started, on other systems what stays in its process group. It sees the variables that
    programs need, and those that `also` names. Raises `OSError` if it cannot be started.
    """
    with adopting.adopting() as mark:
        return await _run(command, directory, timeout, also, mark)


def environment(whole: Mapping[str, str], *, also: Collection[str] = ()) -> dict[str, str]:
    """The variables a command may see: those that programs need to run, and those that somebody named."""
    return {name: value for name, value in whole.items() if name in _ALLOWED or name in also}


async def _run(command: str, directory: Path, timeout: float, also: Collection[str], mark: int) -> Ran:
    pipe, end = os.pipe()
    try:
        try:
            # A pipe of our own: asyncio's keeps `wait` waiting as long as any child holds its end.
            process = await asyncio.create_subprocess_exec(
                *_supervised([shutil.which("bash") or "/bin/sh", "-c", command]),
                cwd=directory,
                env=environment(os.environ, also=also) | {supervising.MARK: str(mark)},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=end,
                stderr=end,
                start_new_session=True,
            )
        finally:
            os.close(end)
        return await _watched(process, pipe, timeout, mark)
    finally:
        os.close(pipe)


def _supervised(command: list[str]) -> list[str]:
    if sys.platform != "linux" or not sys.executable:
        return command
    return [sys.executable, "-I", "-S", "-E", supervising.__file__, *command]


async def _watched(process: asyncio.subprocess.Process, pipe: int, timeout: float, mark: int) -> Ran:
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
            await _end(process, mark)
            # On systems without a supervisor a child in a session of its own may hold the pipe for ever.
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS):
                    await ended.wait()
        finally:
            loop.remove_reader(pipe)
    return Ran(code=code, output=output.text())


async def _end(process: asyncio.subprocess.Process, mark: int) -> None:
    """End a command and all that it started."""
    if process.returncode is None and sys.platform == "linux":
        # The supervisor ends what it has adopted, which nobody else can find.
        process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    if sys.platform == "linux":
        # The supervisor may have been killed by the command, or the system does not let it adopt.
        await asyncio.to_thread(adopting.end_adopted, mark)
        await asyncio.to_thread(_kill_marked, mark)


def _kill_marked(mark: int) -> None:
    """Kill all that carries the mark of a command, until nothing new is found: it may be starting others."""
    killed: set[Path] = set()
    while found := {one for one in Path("/proc").glob("[0-9]*") if one not in killed and _is_marked(one, mark)}:
        for folder in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(folder.name), signal.SIGKILL)
        killed |= found


def _is_marked(folder: Path, mark: int) -> bool:
    """Whether a process has the mark in its limits, which `env -i` does not take away, or in its environment."""
    # It may have ended meanwhile, or be somebody else's.
    with suppress(OSError):
        if str(mark).encode() in adopting.lock_limits(folder):
            return True
    with suppress(OSError):
        return f"{supervising.MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0")
    return False


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
