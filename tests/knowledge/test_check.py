"""The check finds what is wrong with what projects know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from foveate.errors import StoreError
from foveate.knowledge.base import Knowledge
from foveate.knowledge.check import check_knowledge
from foveate.knowledge.models import Blocker, FileCreated, Gotcha, Handoff, JournalTask, MapEntry, Node, Pattern
from foveate.store import Store
from tests.store import engines

store_url = engines.store_url


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store in a file: what is wrong is the same on every engine, and a database is made for each test."""
    with Store(engines.fresh_sqlite(tmp_path)) as opened:
        fill(opened)
        yield opened


def fill(store: Store) -> None:
    knowledge = Knowledge(store, "shop")
    knowledge.add(Node(id="p", type="pattern", summary="Amounts are cents", tags=("c++", "api")), now="2026-01-01")
    knowledge.add(Node(id="old", type="gotcha", summary="It rounds", connections=("p", "nobody"), retired=True))
    handoff = Handoff(
        outcome="blocked",
        files_created=(FileCreated(path="src/a.py", purpose="amounts", lines="1-9"),),
        patterns_discovered=(Pattern(pattern="金额用整数"),),
        gotchas=(Gotcha(issue="It rounds"),),
        blockers=(Blocker(blocker="no access", blocking_tasks=("T0",)),),
    )
    knowledge.ingest(JournalTask(id="T1", tags=("money",)), handoff, today="2026-01-02")
    definitions = {"src/b.py": ("parse_amount", "Money")}
    knowledge.put_entries([MapEntry(component="money", location="src/b.py")], definitions=definitions)
    Knowledge(store, "empty").new_id("pattern")


def damaged(store: Store, statement: str) -> str:
    """What the check says after somebody changed a table by hand."""
    with store.writing() as connection:
        connection.execute(text(statement))
    return "\n".join(f"{problem.place}: {problem.what}" for problem in check_knowledge(store))


def test_what_was_written_is_whole_until_somebody_changes_it(store_url: str) -> None:
    with Store(store_url) as store:
        fill(store)
        assert check_knowledge(store) == []
        assert "postings lead to no entry" in damaged(store, "DELETE FROM map_entries")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM knowledge_postings WHERE term = 'cent'", "postings: 'cent' as pattern word stands 0 times"),
        ("DELETE FROM knowledge_terms WHERE term = 'cent'", "terms: 'cent' as pattern word stands 0 times and not 1"),
        ("UPDATE knowledge_terms SET postings = 7 WHERE term = 'cent'", "stands 7 times and not 1"),
        ("UPDATE knowledge_postings SET place = place + 900 WHERE field = 'map'", "postings lead to no entry"),
        ("UPDATE knowledge_postings SET place = 999 WHERE field = 'pattern tag'", "postings lead to no node"),
        ("DELETE FROM knowledge_links WHERE source = 'old'", "node 'old' has 2, the index has 0 of it"),
        (
            "INSERT INTO knowledge_links (project, target, source) SELECT id, 'p', 'ghost' FROM knowledge_projects",
            "node 'ghost', which is not there, has 0, the index has 1",
        ),
        ("UPDATE knowledge_projects SET nodes = 50 WHERE name = 'shop'", "project 'shop', nodes: its row says 50"),
        ("UPDATE knowledge_nodes SET tags = 'not json' WHERE node = 'p'", "node number 1: cannot be read"),
        ("UPDATE knowledge_nodes SET type = 'rumour' WHERE node = 'p'", "node number 1: cannot be read"),
        ("UPDATE knowledge_nodes SET created = 'some day' WHERE node = 'p'", "'some day' is no date"),
        ("UPDATE journal_tasks SET handoff = '{'", "journal: tasks cannot be read"),
        ("UPDATE journal_blockers SET task = 'gone'", "journal_blockers has 1 rows of tasks that are not there"),
        ("UPDATE knowledge_terms SET project = 77", "knowledge_terms: has "),
        ("UPDATE knowledge_links SET project = 77", "of project number 77, which is not there"),
    ],
)
def test_what_does_not_fit_is_named(store: Store, statement: str, said: str) -> None:
    """One broken row does not hide the others, and every problem comes with a remedy."""
    assert said in damaged(store, statement)
    assert all(problem.remedy for problem in check_knowledge(store))


def test_a_table_that_is_gone_is_a_problem_and_no_crash(store: Store) -> None:
    assert "cannot be read" in damaged(store, "DROP TABLE knowledge_links")
    with pytest.raises(StoreError):
        Knowledge(store, "shop").connected("p")
