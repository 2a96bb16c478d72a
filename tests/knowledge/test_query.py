"""The query where there are more nodes than are looked at."""

from __future__ import annotations

from random import Random

import pytest

from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import Node
from tests.knowledge import projects

knowledge = projects.knowledge
WORDS = [
    "cache",
    "queue",
    "token",
    "index",
    "shard",
    "proxy",
    "route",
    "lease",
    "batch",
    "cron",
    "digest",
    "fence",
    "graph",
    "heap",
    "ingress",
    "journal",
]


def imported(knowledge: Knowledge, nodes: list[Node]) -> None:
    fields = ("id", "type", "summary", "tags", "created")
    knowledge.import_graph({"version": 1, "nodes": [{name: getattr(one, name) for name in fields} for one in nodes]})


def crowd(size: int, *, as_tags: bool) -> list[Node]:
    """Newer nodes that have five of the words each, so that every word is a common one."""
    chance = Random("crowd")
    some = [chance.sample(WORDS, 5) for _ in range(size)]
    return [
        Node(
            id=f"new-{number}",
            type="pattern",
            summary="something" if as_tags else " ".join(words),
            tags=tuple(words) if as_tags else (),
            created=f"2025-{1 + number % 12:02}-01",
        )
        for number, words in enumerate(some)
    ]


@pytest.mark.parametrize("as_tags", [True, False])
def test_an_old_node_that_fits_in_every_word_is_found_among_thousands(knowledge: Knowledge, as_tags: bool) -> None:
    """Of each word only the newest nodes were looked at, and it was among none of them."""
    asked = WORDS[:7]
    old = Node(
        id="old",
        type="pattern",
        summary="something" if as_tags else " ".join(asked),
        tags=tuple(asked) if as_tags else (),
        created="2020-01-01",
    )
    imported(knowledge, [old, *crowd(3_000, as_tags=as_tags)])
    tags, words = (asked, ()) if as_tags else ((), asked)
    for types in ((), ("pattern",)):
        (first, *_) = knowledge.query_by_tags(tags, words=words, types=types, limit=3, today="2025-12-31")
        assert first.node.id == "old" and set(first.matched) == set(asked)


def test_who_wants_few_nodes_gets_the_first_of_those_who_wants_many_gets(knowledge: Knowledge) -> None:
    """Of equals the newer first, then by id, however many are wanted; it was the last that were added."""
    order = list(range(150))
    Random("ids").shuffle(order)
    imported(
        knowledge,
        [
            Node(id=f"n{number:03}", type="gotcha", summary=f"thing {number}", tags=("api",), created="2025-01-01")
            for number in order
        ],
    )
    found = {n: [one.node.id for one in knowledge.query_by_tags(["api"], limit=n)] for n in (1, 3, 50, 119, 120, 200)}
    assert found[200] == [f"n{number:03}" for number in range(150)]
    assert all(few == found[200][:n] for n, few in found.items())
