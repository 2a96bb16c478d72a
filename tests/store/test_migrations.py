"""The schema that migrations make is the one the code works with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from foveate import Session
from foveate.store import Store, migrate
from foveate.store.schema import metadata
from tests.dialogue import user
from tests.store import engines

store_url = engines.store_url
# What search keeps is the engine's own, and not described by the schema.
_OURS = set(metadata.tables)


def test_migrations_make_the_schema(store_url: str) -> None:
    """A table or column that only one of the two has would be found by somebody's error."""
    with Store(store_url) as store, store.reading() as connection:
        context = MigrationContext.configure(
            connection, opts={"include_name": lambda name, kind, _: kind != "table" or name in _OURS}
        )
        assert compare_metadata(context, metadata) == []


def test_the_revisions_are_one_line_and_all_known() -> None:
    """Forward only: each has one predecessor, and the code knows the newest."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    script = ScriptDirectory.from_config(config)
    known = [revision.revision for revision in script.walk_revisions()]

    assert script.get_heads() == [migrate.HEAD]
    assert tuple(reversed(known)) == migrate._KNOWN


def test_an_opened_store_is_not_migrated_again(store_url: str) -> None:
    """And what is in it stays."""
    with Session.open(store_url, "a") as session:
        session.append(user("one"))
    with Session.open(store_url, "a") as session:
        assert [message.text for message in session.messages] == ["one"]


def test_an_up_to_date_store_does_not_wait_for_alembic(tmp_path: Path) -> None:
    """Opening is what every command does first."""
    Store(tmp_path / "a.db").close()
    code = f"import sys; from foveate.store import Store; Store({str(tmp_path / 'a.db')!r}).close(); print('alembic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
