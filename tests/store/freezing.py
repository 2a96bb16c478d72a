"""A PostgreSQL server that answers nothing, as one whose machine was stopped or that the network hides."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import create_engine, make_url, text


@contextmanager
def frozen(url: str) -> Generator[None, None, None]:
    """Stop all processes of a server for as long as this lasts."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    with engine.connect() as connection:
        folder = str(connection.scalar(text("SHOW data_directory")))
    engine.dispose()
    main = int(Path(folder, "postmaster.pid").read_text().split()[0])
    stopped = [main]
    try:
        # Its main process first, so that it makes no other.
        _stop(main)
        stopped += _children(main)
        for process in stopped[1:]:
            _stop(process)
        yield
    finally:
        for process in reversed(stopped):
            os.kill(process, signal.SIGCONT)


def _stop(process: int) -> None:
    os.kill(process, signal.SIGSTOP)
    deadline = time.monotonic() + 10
    # Stopped, or ended and waiting for its main process to notice.
    while _state(process) not in "TZ" and time.monotonic() < deadline:
        time.sleep(0.01)


def _state(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def _children(process: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
