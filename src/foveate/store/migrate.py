"""Migrations: a store is brought to the schema of this version when it is opened; forward only."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, inspect, text

from foveate.errors import NoStoreError, StoreError, StoreVersionError
from foveate.store.engine import shown, writing

# The newest revision in `migrations/versions`; a store that has it needs no look at Alembic.
HEAD: Final = "0002"
_KNOWN: Final = ("0001", "0002")
_LOCK: Final = 0x464F_5645


def migrated(engine: Engine, *, create: bool) -> None:
    """Bring a store to the schema of this version; refuse one of a newer version, or of another program."""
    with engine.connect() as connection:
        revision = _revision(connection)
    if revision == HEAD:
        return
    if revision is None and not create:
        raise NoStoreError(
            f"no store at {shown(engine.url)}; name another with `--store`, or append to a session first"
        )
    with writing(engine).begin() as connection:
        if connection.dialect.name == "postgresql":
            # Two processes that open a new store at the same moment must not both create its tables.
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        if _revision(connection) != HEAD:
            _upgrade(connection)


def _revision(connection: Connection) -> str | None:
    name = shown(connection.engine.url)
    tables = set(inspect(connection).get_table_names())
    if "alembic_version" not in tables:
        if "sessions" in tables or "events" in tables:
            raise StoreError(f"store {name} has tables of another program; name another `store`")
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if found is not None and found not in _KNOWN:
        raise StoreVersionError(
            f"store {name} has schema {found}, this Foveate knows up to {HEAD}; "
            "open it with the newer Foveate that wrote it. It was not touched"
        )
    return found


def _upgrade(connection: Connection) -> None:
    # Most runs find the schema as it should be, and need not wait for this import.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
