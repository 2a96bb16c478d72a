"""A store from before there was knowledge gets it, and keeps what it had."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, inspect, text

from foveate import Session
from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import Node
from foveate.store import Store, migrate
from foveate.store.engine import opened, url_of, writing
from foveate.store.schema import metadata
from tests.dialogue import says, user
from tests.store import engines

store_url = engines.store_url


def upgraded(engine: Engine, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    with writing(engine).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def test_a_store_of_the_first_revision_is_migrated_with_all_it_has(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written by what knew no other revision, and read by what does."""
    engine = opened(url_of(store_url), create=True)
    upgraded(engine, "0001")
    assert not [name for name in inspect(engine).get_table_names() if name.startswith("knowledge")]
    engine.dispose()
    with monkeypatch.context() as before:
        before.setattr(migrate, "HEAD", "0001")
        with Session.open(store_url, "a") as session:
            session.extend([user("the zebra question"), says("an answer")])
            session.compile()
    old = [
        table
        for name, table in metadata.tables.items()
        if not name.startswith(("knowledge", "map", "journal", "handoffs"))
    ]
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == "0001"
        rows = {table.name: connection.execute(table.select()).all() for table in old}
    engine.dispose()
    assert rows["events"]

    with Store(store_url) as store:
        with store.reading() as connection:
            assert {table.name: connection.execute(table.select()).all() for table in old} == rows
            assert connection.scalar(text("SELECT version_num FROM alembic_version")) == migrate.HEAD
        assert len(store.search("zebra")) == 1
        knowledge = Knowledge(store)
        knowledge.add(Node(id="a", type="insight", summary="it works", tags=("x",)))
        assert [one.node.id for one in knowledge.query_by_tags(["x"])] == ["a"]
    with Session.open(store_url, "a") as session:
        assert [message.text for message in session.messages] == ["the zebra question", "an answer"]
