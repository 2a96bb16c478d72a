"""Whatever is done to a graph, the store has what a plain dictionary would have, and finds what reading all would find."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import MapEntry, Node
from foveate.knowledge.query import HALF_LIFE, RECENT, TAG
from foveate.knowledge.terms import tag_term, word_terms
from foveate.recall.tokens import tokens_of
from foveate.store import Store
from foveate.store.schema import knowledge_links, knowledge_postings, knowledge_projects, knowledge_terms
from tests.knowledge import projects
from tests.store import engines

knowledge = projects.knowledge
postgresql_url = engines.postgresql_url
IDS = ("a", "b", "c", "d", "pattern-001")
TYPES = ("pattern", "gotcha", "task")
WORDS = ("pool", "pools", "leak", "token", "the", "not", "注文番号", "parseOrder")
TAGS = ("api", "APIs", "rate-limit", "c++", "注文")
DATES = ("", "2025-01-01", "2025-06-01", "2026-01-01T10:00:00Z")
TODAY = "2026-01-31"
_examples = count()

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
fields = st.fixed_dictionaries(
    {
        "type": st.sampled_from(TYPES),
        "summary": texts,
        "tags": st.lists(st.sampled_from(TAGS), max_size=3).map(tuple),
        "rationale": st.none() | texts,
        "created": st.sampled_from(DATES),
        "connections": st.lists(st.sampled_from(IDS), max_size=3).map(tuple),
        "severity": st.sampled_from((None, "low", "high")),
    }
)
steps = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(IDS), fields),
    st.tuples(st.just("update"), st.sampled_from(IDS), fields),
    st.tuples(st.just("retire"), st.sampled_from(IDS), st.none()),
    st.tuples(st.just("merge"), st.sampled_from(IDS), st.lists(st.sampled_from(IDS), min_size=1, max_size=2)),
)


@dataclass
class Plain:
    """The same as a dictionary."""

    nodes: dict[str, Node] = field(default_factory=dict)

    def put(self, node: Node) -> None:
        tags = dict.fromkeys(tag.lower() for tag in node.tags)
        connections = dict.fromkeys(one for one in node.connections if one != node.id)
        self.nodes[node.id] = replace(node, tags=tuple(tags), connections=tuple(connections))

    def merge(self, keep: str, others: Sequence[str]) -> None:
        every = [self.nodes[id] for id in (keep, *others)]
        reasons: list[str] = []
        for node in every:
            if node.rationale and not any(node.rationale in one for one in reasons):
                reasons.append(node.rationale)
        severities = {node.severity for node in every}
        for id, node in self.nodes.items():
            if id not in (keep, *others):
                self.put(replace(node, connections=tuple(keep if one in others else one for one in node.connections)))
        self.put(
            replace(
                every[0],
                tags=tuple(tag for node in every for tag in node.tags),
                connections=tuple(one for node in every for one in node.connections if one not in (keep, *others)),
                rationale="\n\n".join(reasons) or None,
                severity="high" if "high" in severities else "low" if "low" in severities else None,
            )
        )
        for id in others:
            self.nodes[id] = replace(self.nodes[id], retired=True)

    @property
    def live(self) -> list[Node]:
        return [node for node in self.nodes.values() if not node.retired]

    def found(self, tags: Sequence[str], words: Sequence[str]) -> list[tuple[str, float]]:
        has = {
            node.id: (
                {tag_term(tag) for tag in node.tags},
                set(word_terms(" ".join((*node.tags, node.summary, node.rationale or "")))),
            )
            for node in self.live
        }
        scored = []
        for node in self.live:
            score = sum(TAG + self._rarity(term, 0, has) for term in _terms(tags, tag_term) if term in has[node.id][0])
            score += sum(self._rarity(term, 1, has) for term in _terms(words, stem_of) if term in has[node.id][1])
            if score and node.created:
                age = date.fromisoformat(TODAY) - date.fromisoformat(node.created[:10])
                score += RECENT * 0.5 ** (age.days / HALF_LIFE)
            if score:
                scored.append((-round(score, 9), [-ord(one) for one in node.created[:10].ljust(10)], node.id))
        return [(id, -score) for score, _, id in sorted(scored)]

    def _rarity(self, term: str, place: int, has: dict[str, tuple[set[str], set[str]]]) -> float:
        having = sum(term in terms[place] for terms in has.values())
        return math.log(1 + len(has) / having) / math.log(1 + len(has))

    def connected(self, start: str, depth: int) -> list[str]:
        steps = {start: 0}
        for step in range(1, depth + 1):
            for id in [id for id, at in steps.items() if at == step - 1]:
                for node in self.live:
                    if node.id in self.nodes[id].connections or id in node.connections:
                        steps.setdefault(node.id, step)
        return sorted(steps.keys() - {start}, key=lambda one: (steps[one], one))

    def duplicates(self) -> set[frozenset[str]]:
        groups: dict[Any, set[str]] = {}
        for node in self.live:
            tokens = tokens_of(node.summary)
            groups.setdefault((node.type, frozenset((*tokens.words, *tokens.hidden))), set()).add(node.id)
        return {frozenset(group) for group in groups.values() if len(group) > 1}


def stem_of(word: str) -> str:
    (one,) = word_terms(word) or ("",)
    return one


def _terms(texts: Sequence[str], term: Any) -> list[str]:
    return list(dict.fromkeys(filter(None, map(term, texts))))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_store_is_as_good_as_a_dictionary(knowledge: Knowledge, data: st.DataObject) -> None:
    """Nodes, connections, duplicates, queries and every row of the index, after any steps."""
    knowledge = Knowledge(knowledge.store, f"{knowledge.project}, example {next(_examples)}")
    plain = Plain()
    for kind, id, more in data.draw(st.lists(steps, max_size=14)):
        _step(knowledge, plain, kind, id, more)

    assert list(knowledge.nodes(retired=True)) == list(plain.nodes.values())
    assert {frozenset(group) for group in knowledge.duplicates()} == plain.duplicates()
    for id in plain.nodes:
        depth = data.draw(st.integers(1, 3))
        assert [node.id for node in knowledge.connected(id, depth)] == plain.connected(id, depth)
    tags = data.draw(st.lists(st.sampled_from(TAGS), max_size=3))
    words = data.draw(st.lists(st.sampled_from(("pool", "leaks", "tokens", "the", "order", "api")), max_size=3))
    scored = [(one.node.id, round(one.score, 9)) for one in knowledge.query_by_tags(tags, words=words, today=TODAY)]
    assert scored == plain.found(tags, words)
    _check_index(knowledge, plain)


def test_both_engines_find_the_same_where_not_all_is_read(postgresql_url: str, tmp_path: Path) -> None:
    """Of words that most nodes have only the newest are looked at: of the same nodes, in the same order."""
    chance = random.Random(5)
    nodes = [
        {
            "id": f"n{number}",
            "type": chance.choice(TYPES),
            "summary": " ".join(chance.choices(WORDS, k=5)),
            "tags": chance.choices(TAGS, k=2),
            "created": f"202{chance.randrange(6)}-0{chance.randrange(1, 10)}-11",
        }
        for number in range(1_500)
    ]
    asked = [(chance.choices(TAGS, k=3), chance.choices(WORDS, k=3)) for _ in range(15)]
    found = []
    for url in (engines.fresh_sqlite(tmp_path), postgresql_url):
        with Store(url) as store:
            knowledge = Knowledge(store)
            knowledge.import_graph({"nodes": nodes})
            knowledge.put_entries(MapEntry(component=one["summary"], location=f"src/{one['id']}.py") for one in nodes)
            found.append(
                [
                    (knowledge.query_by_tags(tags, words=words, limit=60, today=TODAY), knowledge.map_candidates(words))
                    for tags, words in asked
                ]
            )
    assert found[0] == found[1]
    assert all(len(nodes) == 60 and len(entries) == 500 for nodes, entries in found[0])


def _step(knowledge: Knowledge, plain: Plain, kind: str, id: str, more: Any) -> None:
    there = id in plain.nodes
    if kind == "add" and not there:
        node = Node(id=id, **more)
        knowledge.add(node)
        plain.put(node)
    elif kind == "update" and there:
        knowledge.update(id, **more)
        plain.put(replace(plain.nodes[id], **more))
    elif kind == "retire" and there:
        knowledge.retire(id)
        plain.put(replace(plain.nodes[id], retired=True))
    elif kind == "merge" and there:
        live = {node.id: node for node in plain.live}
        others = [
            one for one in dict.fromkeys(more) if one != id and one in live and live[one].type == plain.nodes[id].type
        ]
        if others and id in live:
            knowledge.merge(id, *others)
            plain.merge(id, others)


def _check_index(knowledge: Knowledge, plain: Plain) -> None:
    """Counts count what is there, and nothing of what is gone is left."""
    with knowledge.store.reading() as connection:
        project = connection.execute(
            knowledge_projects.select().where(knowledge_projects.c.name == knowledge.project)
        ).first()
        key, nodes = (project.id, project.nodes) if project else (0, 0)
        postings = connection.execute(knowledge_postings.select().where(knowledge_postings.c.project == key)).all()
        terms = connection.execute(knowledge_terms.select().where(knowledge_terms.c.project == key)).all()
        links = connection.execute(knowledge_links.select().where(knowledge_links.c.project == key)).all()
    assert nodes == len(plain.live)
    having: dict[tuple[str, str], int] = {}
    for node in plain.live:
        tags = {tag_term(tag) for tag in node.tags}
        words = word_terms(" ".join((*node.tags, node.summary, node.rationale or "")))
        for one in (*((term, f"{node.type} tag") for term in tags), *((term, f"{node.type} word") for term in words)):
            having[one] = having.get(one, 0) + 1
    assert {(row.term, row.field): row.postings for row in terms} == having
    assert len(postings) == sum(having.values())
    assert {(row.source, row.target) for row in links} == {
        (node.id, one) for node in plain.nodes.values() for one in node.connections
    }
