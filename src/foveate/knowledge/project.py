"""A project in a store: who changes what it knows does so alone, and all of it or nothing."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, select, text, update

from foveate.errors import ConfigError
from foveate.knowledge.checked import plain
from foveate.store.engine import insert_ignoring
from foveate.store.schema import knowledge_projects as projects
from foveate.store.store import Store

DEFAULT_PROJECT: Final = "default"
_LONGEST: Final = 200
# The key of no project: keys count from 1.
_NOBODY: Final = 0

_FOUND: Final = select(projects.c.id, projects.c.nodes, projects.c.updated_at).where(
    projects.c.name == bindparam("name")
)
# SQLite has taken its lock with the transaction, and reads no FOR UPDATE; PostgreSQL locks this project alone.
_LOCKED: Final = select(projects).where(projects.c.name == bindparam("name")).with_for_update()


# After that many new rows PostgreSQL reads all of a project for a few of them, until it has counted.
_MANY: Final = 1_000
_ANALYZE: Final = text("ANALYZE knowledge_nodes, knowledge_links, knowledge_postings, knowledge_terms, map_entries")


class Project(NamedTuple):
    """A project as it is read: its key, how many nodes a query may find, and when it was changed last."""

    key: int
    nodes: int
    updated: str


@dataclass(slots=True)
class Change:
    """A transaction that changes a project, and nobody else does at the same time."""

    connection: Connection
    key: int
    nodes: int
    numbers: dict[str, int]
    # Set by who finds that there is nothing to change after all.
    idle: bool = False
    written: int = 0

    def number(self, kind: str) -> int:
        """The next number of a kind; it is given away once."""
        self.numbers[kind] = self.numbers.get(kind, 0) + 1
        return self.numbers[kind]

    def row(self, **values: Any) -> dict[str, Any]:
        """The values of a row of this project."""
        return {"project": self.key, **values}


def root_of(folder: Path) -> Path:
    """The folder of the project that a folder is in: the top of its git repository, else the folder itself."""
    here = folder.resolve()
    return next((one for one in (here, *here.parents) if (one / ".git").exists()), here)


def home_of(folder: Path) -> Path:
    """The project that a folder belongs to: the one we are in if the folder is inside it, else the folder's own."""
    here = root_of(Path())
    return here if folder.resolve().is_relative_to(here) else root_of(folder)


def project_of(folder: Path, given: str | None = None) -> str:
    """The name of the project that is worked on in a folder: the one that is given, else that of the project's root."""
    if given is not None:
        return checked_name(given)
    return plain(root_of(folder).name).strip()[:_LONGEST] or DEFAULT_PROJECT


def checked_name(name: str) -> str:
    """The name of a project, if it can be one."""
    if not name.strip() or len(name) > _LONGEST or plain(name) != name:
        raise ConfigError(
            f"`project` {name[:80]!r} is no name; give 1 to {_LONGEST} letters, as in {DEFAULT_PROJECT!r}"
        )
    return name


def found(connection: Connection, name: str) -> Project:
    """The project of a name; an empty one if nothing was stored for it."""
    row = connection.execute(_FOUND, {"name": name}).first()
    return Project(_NOBODY, 0, "") if row is None else Project(row.id, row.nodes, _written(row.updated_at))


class ListedProject(NamedTuple):
    """A project by its name, and how many nodes it has."""

    name: str
    nodes: int


def list_projects(connection: Connection) -> list[ListedProject]:
    """All projects of a store, the one that was changed last on top."""
    query = select(projects.c.name, projects.c.nodes).order_by(projects.c.updated_at.desc())
    return [ListedProject(row.name, row.nodes) for row in connection.execute(query)]


@contextmanager
def changing(store: Store, name: str) -> Generator[Change, None, None]:
    """Change what a project knows: all of it, or nothing if an error ends it."""
    with store.writing() as connection:
        given = {"name": name}
        row = connection.execute(_LOCKED, given).first()
        if row is None:
            # Another process may begin the project at the same moment.
            new = {"name": name, "nodes": 0, "numbers": "{}", "updated_at": datetime.now(UTC)}
            connection.execute(insert_ignoring(connection, projects), new)
            row = connection.execute(_LOCKED, given).one()
        change = Change(connection, row.id, row.nodes, msgspec.json.decode(row.numbers, type=dict[str, int]))
        yield change
        if change.idle:
            return
        connection.execute(
            update(projects)
            .where(projects.c.id == change.key)
            .values(
                nodes=change.nodes,
                numbers=msgspec.json.encode(change.numbers).decode(),
                updated_at=datetime.now(UTC),
            )
        )
        if change.written >= _MANY and connection.dialect.name == "postgresql":
            connection.execute(_ANALYZE)


def _written(moment: datetime) -> str:
    # SQLite has stored UTC and says nothing of it.
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.isoformat(timespec="seconds")
