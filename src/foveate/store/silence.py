"""Silence: a server that does not answer keeps nobody waiting for longer than they have time.

A server ends a wait for a lock by itself. One that was stopped, or that a broken network hides, ends nothing: here the
time is measured on this side. A connection on which no answer came in time is cut, so that whoever waits for it goes
on with an error; whether a commit came through is found out by the id of its batch, as after any broken connection.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from concurrent.futures import wait as waited_for
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock, Thread, Timer
from typing import Any, Final

from sqlalchemy import Engine, event
from sqlalchemy.exc import InvalidatePoolError

# What the error says that somebody gets whom a server did not answer.
NO_ANSWER: Final = "the server did not answer"
# In seconds: so soon it answers who asks only whether it is there, if somebody waits for the answer.
_SIGN_OF_LIFE: Final = 1.0
# In seconds: for so long those who cannot wait do not ask a server again that did not answer.
_PAUSE: Final = 2.0
# In seconds: libpq takes less for 2.
_SHORTEST_CONNECT: Final = 2
_WATCH: Final = "foveate_watch"
_FRESH: Final = "foveate_fresh"
_by: Final[ContextVar[float | None]] = ContextVar("foveate_answered_by", default=None)
_each: Final[ContextVar[float | None]] = ContextVar("foveate_answered_each", default=None)


@contextmanager
def answered_within(seconds: float) -> Generator[None, None, None]:
    """Have all that is asked of a server inside be over after so many seconds, with an answer or without."""
    end, outer = time.monotonic() + seconds, _by.get()
    token = _by.set(end if outer is None else min(end, outer))
    try:
        yield
    finally:
        _by.reset(token)


def is_time_up() -> bool:
    """Whether the time is over that `answered_within` gave."""
    by = _by.get()
    return by is not None and time.monotonic() >= by


@contextmanager
def each_answered_within(seconds: float | None) -> Generator[None, None, None]:
    """Have each transaction that begins inside be over after so many seconds; None for as long as it takes."""
    token = _each.set(seconds)
    try:
        yield
    finally:
        _each.reset(token)


def watch(engine: Engine, wait: Callable[[], float]) -> None:
    """See to it that the server of an engine answers in time; `wait` says how long somebody has who begins now."""
    watcher = _Watcher(engine, wait)
    event.listen(engine, "do_connect", watcher.connect)
    event.listen(engine, "checkout", watcher.check_out)
    event.listen(engine, "checkin", _let_go)
    event.listen(engine, "invalidate", _let_go)


class _Watcher:
    """Watches over the connections of one engine."""

    def __init__(self, engine: Engine, wait: Callable[[], float]) -> None:
        self._dialect: Any = engine.dialect
        self._wait = wait
        self._silent_until = 0.0

    def connect(self, dialect: Any, record: Any, given: list[Any], options: dict[str, Any]) -> Any:
        """A new connection, if it comes in time."""
        seconds = self._sign_of_life()
        options = {**options, "connect_timeout": max(_SHORTEST_CONNECT, int(seconds))}
        coming: Future[Any] = Future()

        def bring() -> None:
            try:
                coming.set_result(dialect.connect(*given, **options))
            except BaseException as error:  # noqa: BLE001  it is raised where the connection is waited for
                coming.set_exception(error)

        # On its own: neither looking up a host nor greeting a server can be ended from outside.
        Thread(target=bring, name="connecting", daemon=True).start()
        if not waited_for([coming], seconds).done:
            coming.add_done_callback(_close_late)
            self.note_silence()
            raise self._no_answer(seconds)
        connection = coming.result()
        if record is not None:
            record.info[_FRESH] = True
            # The driver asks for more before anybody has the connection.
            self._watch(record, connection, seconds)
        return connection

    def check_out(self, connection: Any, record: Any, _proxy: object) -> None:
        """Give a connection to somebody, if the server is there, and watch over it from here on."""
        if not record.info.pop(_FRESH, False):
            seconds = self._sign_of_life()
            self._watch(record, connection, seconds)
            try:
                self._dialect.do_ping(connection)
            except self._dialect.loaded_dbapi.Error as error:
                # All that are as old are gone as well; a new one is made, if the server answers.
                raise InvalidatePoolError from error
        self._silent_until = 0.0
        self._watch(record, connection, self._left(_each.get()))

    def note_silence(self) -> None:
        """Have those who cannot wait not ask again for a while."""
        self._silent_until = time.monotonic() + _PAUSE

    def _sign_of_life(self) -> float:
        """How many seconds the server has to say that it is there; an error if there is no use in asking."""
        is_urgent = _by.get() is not None or _each.get() is not None
        seconds = self._left(_SIGN_OF_LIFE if is_urgent else max(_SIGN_OF_LIFE, self._wait()))
        if seconds is None or seconds <= 0 or (is_urgent and time.monotonic() < self._silent_until):
            raise self._no_answer(0.0)
        return seconds

    def _left(self, seconds: float | None) -> float | None:
        by = _by.get()
        if by is None:
            return seconds
        left = max(0.0, by - time.monotonic())
        return left if seconds is None else min(left, seconds)

    def _watch(self, record: Any, connection: Any, seconds: float | None) -> None:
        _let_go(connection, record)
        if seconds is not None:
            record.info[_WATCH] = _Watch(connection.fileno(), seconds, self.note_silence)

    def _no_answer(self, seconds: float) -> Exception:
        waited = f"within {seconds:.1f} s" if seconds else "in time a moment ago"
        error: Exception = self._dialect.loaded_dbapi.OperationalError(f"{NO_ANSWER} {waited}")
        return error


class _Watch:
    """Cuts a connection after some seconds, unless it is let go before."""

    def __init__(self, number: int, seconds: float, tell: Callable[[], None]) -> None:
        # A number of its own for the same socket: that of the connection may be another file's by then.
        self._socket = socket.fromfd(number, socket.AF_INET, socket.SOCK_STREAM)
        self._tell = tell
        self._lock = Lock()
        self._timer = Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def let_go(self) -> None:
        """Watch no longer."""
        self._timer.cancel()
        with self._lock:
            self._socket.close()

    def _cut(self) -> None:
        with self._lock:
            if self._socket.fileno() < 0:
                return
            self._tell()
            # The other side may have cut it at this moment.
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()


def _let_go(_connection: object, record: Any, _error: object = None) -> None:
    found: _Watch | None = record.info.pop(_WATCH, None)
    if found is not None:
        found.let_go()


def _close_late(coming: Future[Any]) -> None:
    """Close a connection that nobody waits for any more."""
    if coming.exception() is None:
        coming.result().close()
