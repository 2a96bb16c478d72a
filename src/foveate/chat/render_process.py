"""The render process: forms are filled in by a program of its own, which is ended when that takes too long.

Jinja2 cannot be interrupted from within, and a form of one line can loop for minutes. One program is kept for the next
rendering, more if several threads render at once.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, time
from types import NoneType
from typing import IO, Any, Final, TypeVar, cast

from foveate.chat import sandbox
from foveate.chat.sandbox import FormError, encode_request, names_in, read_reply

_T = TypeVar("_T")

MOST_SECONDS: Final = 5
# What goes to the program at once; a form makes at most a million characters of it.
MOST_BYTES: Final = 50_000_000

_START_SECONDS: Final = 30
_MOST_AT_ONCE: Final = 4
_MOST_IDLE: Final = 2
# Jinja2 may be where only this process looks for it. Nothing of the working directory is imported.
_START: Final = (
    "import sys, runpy; sys.path += [one for one in sys.argv[2:] if one not in sys.path]; "
    "runpy.run_path(sys.argv[1], run_name='__main__')"
)
# What an interpreter needs to start; the rest, such as keys, is not for the program.
_ENVIRONMENT: Final = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
_FAILURES: Final = (TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, MemoryError)


def render_form(form: str, values: Mapping[str, object], *, seconds: float = MOST_SECONDS) -> str:
    """A form with values in the place of its placeholders, made within some seconds or refused."""
    read, _ = names_in(form)
    request = _encode(form, {name: plain_value(name, value) for name, value in values.items() if name in read})
    with _pool.at_once:
        return _render(request, seconds)


def plain_value(name: str, value: object) -> Any:
    """A value as text, numbers, lists and mappings only, so that a template reaches nothing else through it."""
    try:
        return _plain(value)
    except RecursionError as error:
        raise FormError(f"the value of `{name}` cannot be used: it is nested too deeply; write it simpler") from error
    except _FAILURES as error:
        raise FormError(f"the value of `{name}` cannot be used: {error}") from error


def close_renderers() -> None:
    """End the programs that wait for work; the next rendering starts another."""
    _pool.close()


def _plain(value: object) -> Any:
    if type(value) in (str, int, float, bool, NoneType):
        return value
    match value:
        case str():
            # The value of an enumeration, without its methods.
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case date() | time():
            return value.isoformat()
        case dict() | Mapping():
            return {_plain_key(key): _plain(one) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case set() | frozenset():
            # Their order is another one in each process, and a summary must not change by itself.
            return sorted((_plain(one) for one in value), key=lambda one: (str(type(one)), str(one)))
        case _:
            raise TypeError(f"{type(value).__name__} is nothing to fill in; give text, numbers, lists or mappings")


def _plain_key(value: object) -> str | int | float | bool | None:
    key = value if type(value) is str else _plain(value)
    return sandbox.inline(key) if isinstance(key, list | dict) else key


def _encode(form: str, values: Mapping[str, object]) -> bytes:
    try:
        request = encode_request(form, values)
    except ValueError as error:
        raise FormError("the values are nested too deeply; write them simpler") from error
    if len(request) > MOST_BYTES:
        raise FormError(f"the values have {len(request):,} bytes, and {MOST_BYTES:,} may be filled in; give less")
    return request


def _render(request: bytes, seconds: float) -> str:
    renderer, is_fresh = _pool.take()
    try:
        reply = renderer.ask(request, seconds)
        if reply is None and not is_fresh and not renderer.is_late:
            # It was ended from outside while it waited; the form has not been tried yet.
            renderer.close()
            renderer = _Renderer()
            reply = renderer.ask(request, seconds)
    except BaseException:
        # Whatever it answers now would be taken for the answer to the next form.
        renderer.close()
        raise
    if reply is None:
        renderer.close()
        if renderer.is_late:
            raise FormError(f"it takes more than {seconds:g} seconds; loop over less")
        raise FormError("it takes too much memory; loop over less")
    _pool.put_back(renderer)
    if "text" not in reply:
        raise FormError(str(reply["problem"]), int(reply["line"]))
    return str(reply["text"])


class _Renderer:
    """A running program that fills in forms."""

    def __init__(self) -> None:
        paths = [path for path in sys.path if path]
        command = [sys.executable, "-I", "-X", "utf8", "-c", _START, sandbox.__file__, *paths]
        try:
            self._process = subprocess.Popen(  # noqa: S603  our own file
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                # Ctrl-C is for the program in front, which may go on and render again.
                start_new_session=True,
            )
        except (OSError, TypeError) as error:
            # Also where Python is a part of another program, and there is no interpreter to start.
            raise FormError(f"no process can be started to fill it in: {error}") from error
        self.is_late = False
        try:
            is_ready = self._within(_START_SECONDS, lambda: self._replies.readline() == b"ready\n")
        except BaseException:
            self.close()
            raise
        if not is_ready:
            self.close()
            raise FormError(f"no process can be started to fill it in: {sys.executable} ended at once")

    @property
    def is_alive(self) -> bool:
        """Whether the program still runs."""
        return self._process.poll() is None

    def ask(self, request: bytes, seconds: float) -> dict[str, Any] | None:
        """The program's answer; None if it ended before that, because of its time or by itself."""

        def exchange() -> dict[str, Any] | None:
            self._requests.write(request)
            self._requests.flush()
            return read_reply(self._replies)

        return self._within(seconds, exchange)

    def close(self) -> None:
        """End the program, whatever it does."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._replies):
            # A request that it did not read is written to nobody.
            with suppress(BrokenPipeError):
                pipe.close()

    def forget(self) -> None:
        """Leave the program to the process that started it: this one is a copy of that."""
        self._process.returncode = 0
        for pipe in (self._requests, self._replies):
            # Not the buffer around it, which may hold a part of a request that the other process writes.
            cast("Any", pipe).raw.close()

    def _within(self, seconds: float, act: Callable[[], _T]) -> _T | None:
        """What a function gives that waits for the program; None if that ended meanwhile, or had to be ended."""
        timer = threading.Timer(seconds, self._end_late)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError as error:
            # A rendering that nothing would stop is not begun.
            raise FormError(f"no thread can be started to watch it: {error}") from error
        try:
            found = act()
        except OSError:
            found = None
        finally:
            timer.cancel()
        return None if self.is_late else found

    def _end_late(self) -> None:
        self.is_late = True
        self._process.kill()

    @property
    def _requests(self) -> IO[bytes]:
        return cast("IO[bytes]", self._process.stdin)

    @property
    def _replies(self) -> IO[bytes]:
        return cast("IO[bytes]", self._process.stdout)


class _Pool:
    """The programs that wait for work, for all threads of this process."""

    def __init__(self) -> None:
        self._idle: list[_Renderer] = []
        self._lock = threading.Lock()
        self.at_once = threading.BoundedSemaphore(_MOST_AT_ONCE)

    def take(self) -> tuple[_Renderer, bool]:
        """A program, and whether it was started for this."""
        with self._lock:
            renderer = self._idle.pop() if self._idle else None
        if renderer is not None and renderer.is_alive:
            return renderer, False
        if renderer is not None:
            renderer.close()
        return _Renderer(), True

    def put_back(self, renderer: _Renderer) -> None:
        """Keep a program for the next rendering, if not enough of them wait already."""
        with self._lock:
            is_kept = len(self._idle) < _MOST_IDLE
            if is_kept:
                self._idle.append(renderer)
        if not is_kept:
            renderer.close()

    def close(self) -> None:
        """End all that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        for renderer in idle:
            renderer.close()

    def start_over(self) -> None:
        """Begin without programs, in a copy of the process that started them; a thread of that may hold the lock."""
        idle, self._idle = self._idle, []
        self._lock = threading.Lock()
        self.at_once = threading.BoundedSemaphore(_MOST_AT_ONCE)
        for renderer in idle:
            renderer.forget()


_pool: Final = _Pool()
atexit.register(close_renderers)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.start_over)
