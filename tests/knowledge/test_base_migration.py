"""A store from before there was knowledge gets it, and keeps what it had."""

from __future__ import annotations

from sqlalchemy import select, text

from foveate import Session
from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import Node
from foveate.store import Store, migrate
from foveate.store.schema import metadata
from tests.dialogue import says, user
from tests.store import engines

store_url = engines.store_url
LATER = ("knowledge", "map", "journal", "handoffs")
LATER_COLUMNS = ("checksum", "reported_written", "reported_written_hour")


def as_of_the_first_revision(store: Store) -> None:
    """Take a store back to the schema from before there was knowledge, as an upgrade finds it."""
    with store.writing() as connection:
        for table in reversed(metadata.sorted_tables):
            if table.name.startswith(LATER):
                connection.execute(text(f"DROP TABLE {table.name}"))
        connection.execute(text("ALTER TABLE events DROP COLUMN checksum"))
        connection.execute(text("ALTER TABLE context_summaries DROP COLUMN reported_written"))
        connection.execute(text("ALTER TABLE context_summaries DROP COLUMN reported_written_hour"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))


def rows_of(store: Store) -> dict[str, list[object]]:
    """The rows of the tables that the first revision has, without what later ones add to them."""
    kept = [table for table in metadata.sorted_tables if not table.name.startswith(LATER)]
    with store.reading() as connection:
        return {
            table.name: list(connection.execute(select(*(one for one in table.c if one.name not in LATER_COLUMNS))))
            for table in kept
        }


def test_a_store_of_the_first_revision_is_migrated_with_all_it_has(store_url: str) -> None:
    """What was written before is there afterwards, and what is new works."""
    with Store(store_url) as store:
        with Session.open(store, "a") as session:
            session.extend([user("the zebra question"), says("an answer")])
            session.compile()
        as_of_the_first_revision(store)
        rows = rows_of(store)
    assert rows["events"]

    with Store(store_url) as store:
        assert rows_of(store) == rows
        with store.reading() as connection:
            assert connection.scalar(text("SELECT version_num FROM alembic_version")) == migrate.HEAD
        assert len(store.search("zebra")) == 1
        knowledge = Knowledge(store)
        knowledge.add(Node(id="a", type="insight", summary="it works", tags=("x",)))
        assert [one.node.id for one in knowledge.query_by_tags(["x"])] == ["a"]
    with Session.open(store_url, "a") as session:
        assert [message.text for message in session.messages] == ["the zebra question", "an answer"]
