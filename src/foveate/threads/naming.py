"""The name of the thread that requests belong to, for callers that know it better than their histories tell."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from foveate.errors import ConfigError
from foveate.session.records import session_name

_NAME: Final[ContextVar[str | None]] = ContextVar("foveate_thread", default=None)


@contextmanager
def thread(name: str) -> Generator[None]:
    """Record all requests in this block in the thread `name`, which is also the name of its session in a store.

    Without it, requests of wrapped clients find their thread by the history that they begin with. Tasks started in the
    block belong to the thread; threads of the operating system do so only if they are given its context.
    """
    token = _NAME.set(thread_name(name))
    try:
        yield
    finally:
        _NAME.reset(token)


def current_thread() -> str | None:
    """The name of the thread that the caller is in; None outside of any."""
    return _NAME.get()


def thread_name(name: str) -> str:
    """A name that a thread may have."""
    if not isinstance(name, str) or not name.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"`thread` {name!r:.200} is not a name; give one such as 'task-42'")
    return session_name(name)
