"""Migrations: a store is brought to the schema of this version when it is opened; forward only."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, event, inspect, text

from foveate.errors import NoStoreError, StoreError, StoreVersionError
from foveate.store.engine import shown, writing

# The newest revision in `migrations/versions`; a store that has it needs no look at Alembic.
HEAD: Final = "0004"
_KNOWN: Final = ("0001", "0002", "0003", "0004")
_LOCK: Final = 0x464F_5645


def migrated(engine: Engine, *, create: bool) -> None:
    """Bring a store to the schema of this version; refuse one of a newer version, or of another program."""
    with engine.connect() as connection:
        revision = _revision(connection)
        if revision == HEAD and connection.dialect.name == "postgresql":
            # Whether it can be read is found out here, where it is waited for in turns, and not by the first reader.
            connection.execute(text("LOCK TABLE sessions, events IN ACCESS SHARE MODE"))
    if revision == HEAD:
        return
    if revision is None and not create:
        raise NoStoreError(
            f"no store at {shown(engine.url)}; name another with `--store`, or append to a session first"
        )
    # Before anything is locked: it takes longer than what is done with it.
    upgrade = _upgrader()
    with writing(engine).begin() as connection:
        if connection.dialect.name == "postgresql":
            # Two processes that open a new store at the same moment must not both create its tables.
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        if _revision(connection) != HEAD:
            upgrade(connection)


def has_schema(engine: Engine) -> bool:
    """Whether the tables of a store are there, of whichever version."""
    with engine.connect() as connection:
        return _revision(connection) is not None


def shown_as_migrated(engine: Engine, *, refusal: str) -> None:
    """See to it that a store that can only be read looks as if it had the schema of this version."""
    with engine.connect() as connection:
        revision = _revision(connection)
    if revision is None:
        raise NoStoreError(f"no store at {shown(engine.url)}; name another with `--store`")
    if revision == HEAD:
        return
    if revision not in _VIEWS:
        raise StoreError(f"{refusal}. Its schema {revision} must be upgraded before it can be read")

    def add_views(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA temp_store = MEMORY")
        for view in _VIEWS[revision]:
            connection.execute(view)

    event.listen(engine, "connect", add_views)
    # The connection that found out is without the views.
    engine.dispose()


_UNWRITTEN: Final = (
    "CREATE TEMP VIEW context_summaries AS "
    "SELECT *, NULL AS reported_written, NULL AS reported_written_hour FROM main.context_summaries"
)
# For older schemas, views that stand before tables of the same names and have the columns that came since.
_VIEWS: Final = {
    "0002": ("CREATE TEMP VIEW events AS SELECT *, NULL AS checksum FROM main.events", _UNWRITTEN),
    "0003": (_UNWRITTEN,),
}


def _revision(connection: Connection) -> str | None:
    name = shown(connection.engine.url)
    tables = set(inspect(connection).get_table_names())
    if "alembic_version" not in tables:
        if "sessions" in tables or "events" in tables:
            raise StoreError(f"store {name} has tables of another program; name another `store`")
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if found is not None and not (isinstance(found, str) and len(found) == len(HEAD) and found.isdigit()):
        raise StoreError(
            f"store {name} has a damaged version of its schema, {found!r}; restore the store from a copy, "
            "`foveate db check` says what can still be read"
        )
    if found is not None and found not in _KNOWN:
        raise StoreVersionError(
            f"store {name} has schema {found}, this Foveate knows up to {HEAD}; "
            "open it with the newer Foveate that wrote it. It was not touched"
        )
    return found


def _upgrader() -> Callable[[Connection], None]:
    # Most runs find the schema as it should be, and need not wait for this import.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    def upgrade(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")

    return upgrade
