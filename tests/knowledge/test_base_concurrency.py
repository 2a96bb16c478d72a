"""Several processes ingest at the same time, and nothing is lost or doubled."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from foveate.knowledge.base import Knowledge
from foveate.store import Store
from foveate.store.schema import knowledge_postings, knowledge_terms
from tests.store import engines

store_url = engines.store_url
ROOT = Path(__file__).parents[2]
WRITERS = ("ann", "ben", "cem", "dan")
COUNT = 6


def test_four_processes_ingest_into_one_project(store_url: str) -> None:
    """Each node, entry, task and blocker is there once, ids are nobody else's, and what all say has all their tags."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.knowledge.ingesting", store_url, name, str(COUNT)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for name in WRITERS
    ]  # fmt: skip
    # They begin together, however long each took to start.
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * len(WRITERS)
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    lines: list[list[str]] = []
    for process in processes:
        said, problems = process.communicate(timeout=300)
        assert process.returncode == 0, problems
        lines += [line.split() for line in said.splitlines()]

    added = [id for kind, *some in lines if kind == "added" for id in some]
    reserved = [id for kind, *some in lines if kind == "reserved" for id in some]
    assert len(set(added)) == len(added)
    assert len(set(reserved)) == len(reserved) == len(WRITERS) * COUNT
    assert Counter(kind for kind, *_ in lines if kind in ("first", "repeated")) == {
        "first": COUNT,
        "repeated": COUNT * (len(WRITERS) - 1),
    }

    names = [*WRITERS, "both"]
    with Store(store_url) as store:
        knowledge = Knowledge(store)
        summaries = Counter(node.summary for node in knowledge.nodes())
        for name in names:
            for number in range(COUNT):
                assert summaries[f"{name} says {number}"] == summaries[f"{name} met {number}"] == 1
        assert summaries["everybody says this"] == 1
        (shared,) = (node for node in knowledge.nodes() if node.summary == "everybody says this")
        assert set(shared.tags) == set(names)
        assert set(shared.connections) == {f"{name}-{number}" for name in names for number in range(COUNT)}
        assert len(knowledge.tasks()) == len(knowledge.blockers()) == len(names) * COUNT
        assert Counter(entry.location for entry in knowledge.entries()) == Counter(
            ["src/shared.py", *(f"src/{name}/file{number}.py" for name in names for number in range(COUNT))]
        )
        with store.reading() as connection:
            counted = {(row.term, row.field): row.postings for row in connection.execute(knowledge_terms.select())}
            postings = Counter((row.term, row.field) for row in connection.execute(knowledge_postings.select()))
        assert counted == postings
