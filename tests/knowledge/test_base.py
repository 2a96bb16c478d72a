"""What a project knows is kept, found again and never lost, on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from foveate.errors import ConfigError, UnknownReferenceError
from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import JournalTask, MapEntry, Node
from foveate.knowledge.project import checked_name, project_of
from foveate.store import Store
from tests.knowledge import projects

knowledge = projects.knowledge


def node(id: str, summary: str = "something is known", **fields: object) -> Node:
    return Node(**{"id": id, "type": "pattern", "summary": summary, **fields})


def ids(found: list[Node]) -> list[str]:
    return [one.id for one in found]


def found(knowledge: Knowledge, *tags: str, **options: object) -> list[str]:
    return [one.node.id for one in knowledge.query_by_tags(tags, **options)]


def test_a_node_comes_back_as_it_went_in(knowledge: Knowledge) -> None:
    """All fields, in any script; tags in lower case and once, as the format wants them."""
    given = Node(
        id="gotcha-007", type="gotcha", summary="注文番号 is a text 🙂", tags=("API", "api", " Rate-Limit "), file="a/b.py",
        severity="high", rationale="O'Brien; DROP TABLE x; -- %s :name", created="2025-12-10T08:00:00Z",
        connections=("task-1", "task-1", "gotcha-007"),
    )  # fmt: skip
    assert knowledge.add(given) == "gotcha-007"

    back = knowledge.node("gotcha-007")
    assert back.tags == ("api", "rate-limit")
    assert back.connections == ("task-1",)
    assert (back.summary, back.rationale, back.file, back.severity) == (
        given.summary,
        given.rationale,
        "a/b.py",
        "high",
    )
    assert list(knowledge.nodes()) == [back]


def test_what_no_engine_can_hold_is_replaced_and_not_refused(knowledge: Knowledge) -> None:
    """Half a character or a NUL in what an agent wrote does not cost the rest of it."""
    knowledge.add(node("a\0b", "half \ud83d and nul \0", tags=("x\0",)))

    assert knowledge.node("a\0b").summary == "half \N{REPLACEMENT CHARACTER} and nul \N{SYMBOL FOR NULL}"


def test_ids_count_on_behind_those_that_others_chose(knowledge: Knowledge) -> None:
    """No id is given twice, whether it was used or not."""
    knowledge.add(node("pattern-041"))
    knowledge.add(node("pattern-99999999999999999999"))

    assert [knowledge.new_id("pattern"), knowledge.new_id("pattern"), knowledge.new_id("task")] == [
        "pattern-042", "pattern-043", "task-001",
    ]  # fmt: skip


def test_a_node_without_a_date_gets_that_of_the_caller(knowledge: Knowledge) -> None:
    knowledge.add(node("a"), now="2026-01-02")
    knowledge.add(node("b", created="2025-01-01"), now="2026-01-02")
    knowledge.add(node("c"))

    assert [one.created for one in knowledge.nodes()] == ["2026-01-02", "2025-01-01", ""]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (node(""), r"`id` is empty; give a text"),
        (node(" "), r"`id` has ' '"),
        (node("x" * 201), r"`id` has 'xxx"),
        (node("a", " "), r"node 'a': `summary` is blank"),
        (node("a", type="idea"), r"node 'a': `type` is 'idea'; known are decision, gotcha, insight, pattern, task"),
        (node("a", tags=("ok", 3)), r"node 'a': `tags\[1\]` is 3; give a text, in quotes"),
        (node("a", created="2025-02-30"), r"`created` '2025-02-30' is no date; write it as"),
        (node("a", created="yesterday"), r"`created` 'yesterday' is no date"),
        (node("a", connections=("",)), r"node 'a': `connections` has ''"),
    ],
)
def test_a_node_that_cannot_be_is_refused_by_name_of_the_field(knowledge: Knowledge, given: Node, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        knowledge.add(given)
    assert list(knowledge.nodes()) == []


def test_an_id_is_taken_once(knowledge: Knowledge) -> None:
    """Who would overwrite a node is told so, also if it is retired."""
    knowledge.add(node("a", "first"))
    with pytest.raises(ConfigError, match="node 'a' is there already; change it with `foveate knowledge update a`, or"):
        knowledge.add(node("a", "second"))
    knowledge.retire("a")
    with pytest.raises(ConfigError, match="'a' is retired already"):
        knowledge.add(node("a", "second"))
    assert knowledge.node("a").summary == "first"


def test_an_update_changes_what_is_found(knowledge: Knowledge) -> None:
    knowledge.add(node("a", "pools leak", tags=("database",)))
    changed = knowledge.update("a", tags=("network",), summary="sockets leak", type="gotcha")

    assert changed == knowledge.node("a")
    assert found(knowledge, "database", words=["pools"]) == []
    assert found(knowledge, "networks") == ["a"]
    assert found(knowledge, words=["socket"], types=["gotcha"]) == ["a"]
    with pytest.raises(ConfigError, match="`id` cannot be changed; fields of a node are type, summary"):
        knowledge.update("a", id="b")
    with pytest.raises(ConfigError, match="`severity`"):
        knowledge.update("a", severity="grave")


def test_a_retired_node_is_kept_and_not_found(knowledge: Knowledge) -> None:
    """Until somebody puts it back."""
    knowledge.add(node("a", tags=("x",), connections=("b",)))
    knowledge.add(node("b", "another thing"))
    knowledge.retire("a")

    assert knowledge.node("a").retired
    assert found(knowledge, "x") == []
    assert ids(list(knowledge.nodes())) == ["b"]
    assert ids(list(knowledge.nodes(retired=True))) == ["a", "b"]
    assert knowledge.connected("b") == []
    knowledge.update("a", retired=False)
    assert found(knowledge, "x") == ["a"]
    assert ids(knowledge.connected("b")) == ["a"]


def test_an_unknown_id_gets_those_that_are_spelt_alike(knowledge: Knowledge) -> None:
    knowledge.add(node("pattern-012"))
    with pytest.raises(
        UnknownReferenceError, match=r"no node 'patern-012' in project 'project \d+'; did you mean 'pattern-012'"
    ):
        knowledge.node("patern-012")
    for act in (knowledge.retire, knowledge.update, knowledge.connected):
        with pytest.raises(UnknownReferenceError, match="`foveate knowledge query` finds nodes"):
            act("?")


# --- connections and merging --------------------------------------------------------------------------------------


def test_connected_goes_both_ways_and_leaves_the_start_out(knowledge: Knowledge) -> None:
    """Nearest first, then by id; over a circle it does not come back."""
    knowledge.add(node("start", connections=("z", "b", "not there")))
    for id, to in (
        ("z", ("start",)),
        ("b", ()),
        ("a", ("start",)),
        ("far", ("a",)),
        ("gone", ("a",)),
        ("behind", ("gone",)),
    ):
        knowledge.add(node(id, connections=to))
    knowledge.retire("gone")

    assert ids(knowledge.connected("start")) == ["a", "b", "z"]
    assert ids(knowledge.connected("start", depth=2)) == ["a", "b", "z", "far"]
    assert ids(knowledge.connected("start", depth=9)) == ["a", "b", "z", "far"]
    with pytest.raises(ConfigError, match="`depth` must be 1 or more, got 0"):
        knowledge.connected("start", depth=0)


def test_a_merge_loses_nothing(knowledge: Knowledge) -> None:
    """Tags, connections and reasons are united, and what led to the others leads to the one that is kept."""
    knowledge.add(node("a", "pools leak", tags=("x",), rationale="seen once", connections=("t1", "b"), severity="low"))
    knowledge.add(
        node("b", "leaking pools", tags=("x", "y"), rationale="seen twice", connections=("t2", "a"), file="p.py")
    )
    knowledge.add(node("c", "pool leaks", rationale="seen once", severity="high"))
    knowledge.add(node("other", "something else", connections=("c", "a", "b")))

    kept = knowledge.merge("a", "b", "c")

    assert kept == knowledge.node("a")
    assert (kept.tags, kept.connections, kept.severity, kept.file) == (("x", "y"), ("t1", "t2"), "high", "p.py")
    assert kept.rationale == "seen once\n\nseen twice"
    assert knowledge.node("b").retired and knowledge.node("c").retired
    assert knowledge.node("other").connections == ("a",)
    assert found(knowledge, "y") == ["a"]
    assert ids(knowledge.connected("a")) == ["other"]


def test_what_cannot_be_merged_is_left_alone(knowledge: Knowledge) -> None:
    for id, type in (("a", "pattern"), ("b", "gotcha"), ("c", "pattern")):
        knowledge.add(node(id, id, type=type))
    knowledge.retire("c")
    before = list(knowledge.nodes(retired=True))
    for others, said in (
        (("b",), "gotcha 'b' cannot be merged"),
        (("c",), "'c' is retired"),
        (("a",), "nothing to merge"),
    ):
        with pytest.raises(ConfigError, match=said):
            knowledge.merge("a", *others)
    with pytest.raises(UnknownReferenceError):
        knowledge.merge("a", "?")
    assert list(knowledge.nodes(retired=True)) == before


def test_duplicates_have_the_same_words_and_type(knowledge: Knowledge) -> None:
    """Forms of a word are one, order does not matter; who says "not" says something else."""
    for id, summary, type in (
        ("p1", "Close the pools", "pattern"), ("p2", "the pool: CLOSED", "pattern"), ("g", "close the pool", "gotcha"),
        ("p3", "do not close the pool", "pattern"), ("q1", "!?", "pattern"), ("q2", "!!", "pattern"), ("p0", "closing the pool", "pattern"),
    ):  # fmt: skip
        knowledge.add(node(id, summary, type=type))

    assert knowledge.duplicates() == [("p1", "p2", "p0")]
    knowledge.merge("p1", "p2", "p0")
    assert knowledge.duplicates() == []


# --- queries ------------------------------------------------------------------------------------------------------


def test_tags_count_more_than_words_and_rare_words_more_than_common_ones(knowledge: Knowledge) -> None:
    for number in range(20):
        knowledge.add(node(f"n{number:02}", f"the request number {number}", tags=("api",)))
    knowledge.add(node("tagged", "nothing of it", tags=("auth",)))
    knowledge.add(node("said", "auth by a zebra request"))
    knowledge.add(node("common", "auth by request"))

    scored = knowledge.query_by_tags(["auth"], words=["auth", "zebras", "request"], limit=3)

    assert [one.node.id for one in scored] == ["tagged", "said", "common"]
    assert [one.matched for one in scored] == [("auth",), ("auth", "zebras", "request"), ("auth", "request")]
    assert scored[0].score > scored[1].score > scored[2].score > 0


def test_a_tag_is_found_in_whatever_form(knowledge: Knowledge) -> None:
    """And a part of it as a word; C++ is not C."""
    knowledge.add(node("a", tags=("rate-limiting",)))
    knowledge.add(node("b", tags=("c++",)))
    knowledge.add(node("c", tags=("c",)))

    assert found(knowledge, "Rate_Limit") == found(knowledge, "rate limits") == ["a"]
    assert found(knowledge, "rate") == []
    assert found(knowledge, words=["limit"]) == ["a"]
    assert (found(knowledge, "C++"), found(knowledge, "c")) == (["b"], ["c"])


def test_what_is_new_counts_more_and_settles_ties(knowledge: Knowledge) -> None:
    """Score, then newer, then id: the same at every run and on every engine."""
    for id, created in (
        ("b", "2026-01-01"),
        ("a", "2026-01-01"),
        ("undated", ""),
        ("new", "2026-05-30"),
        ("old", "2020-01-01"),
    ):
        knowledge.add(node(id, tags=("x",), created=created))

    assert found(knowledge, "x") == ["new", "a", "b", "old", "undated"]
    fresh = knowledge.query_by_tags(["x"], today="2026-06-01")
    assert [one.node.id for one in fresh] == ["new", "a", "b", "old", "undated"]
    assert fresh[0].score > fresh[1].score == fresh[2].score > fresh[3].score >= fresh[4].score
    halved = knowledge.query_by_tags(["x"], today="2026-04-01")[1].score - fresh[4].score
    assert halved == pytest.approx(0.25)


def test_types_and_limit_hold_also_where_others_are_newer(knowledge: Knowledge) -> None:
    """A gotcha is found among a thousand newer tasks that have the same tag."""
    tasks = [
        {"id": f"t{n}", "type": "task", "summary": f"task {n}", "tags": ["api"], "created": "2026-02-02"}
        for n in range(1_000)
    ]
    gotcha = {"id": "g", "type": "gotcha", "summary": "careful", "tags": ["api"], "created": "2020-01-01"}
    assert knowledge.import_graph({"version": 1, "nodes": [gotcha, *tasks]}) == 1_001

    assert found(knowledge, "api", types=["gotcha", "pattern"]) == ["g"]
    assert len(found(knowledge, "api", limit=7)) == 7
    assert found(knowledge, "api", words=["careful"], limit=1) == ["g"]
    assert len(list(knowledge.nodes())) == 1_001


def test_an_old_node_is_scored_by_all_its_tags(knowledge: Knowledge) -> None:
    """Also by one that hundreds of newer nodes have, of which the index reads only the newest."""
    newer = [
        {"id": f"t{n}", "type": "task", "summary": f"{n}", "tags": ["api"], "created": "2026-02-02"} for n in range(600)
    ]
    old = [
        {"id": id, "type": "task", "summary": id, "tags": tags, "created": "2020-01-01"}
        for id, tags in (("both", ["api", "rare"]), ("one", ["rare"]))
    ]
    knowledge.import_graph({"nodes": [*old, *newer]})

    scored = knowledge.query_by_tags(["api", "rare"], limit=2)
    assert [(one.node.id, one.matched) for one in scored] == [("both", ("api", "rare")), ("one", ("rare",))]


def test_rare_words_do_not_crowd_out_a_common_tag(knowledge: Knowledge) -> None:
    """A tag counts more than a word, however many words are asked for and however short their lists are."""
    types = ("task", "pattern", "gotcha", "decision", "insight")
    said = [
        {"id": f"w{n}", "type": types[n % 5], "summary": f"rare{n // 5}", "created": "2026-02-02"} for n in range(300)
    ]
    tagged = [{"id": f"t{n}", "type": "task", "summary": f"{n}", "tags": ["api"]} for n in range(400)]
    knowledge.import_graph({"nodes": [*said, *tagged]})

    best = knowledge.query_by_tags(["api"], words=[f"rare{n}" for n in range(60)], limit=10)
    assert {one.matched for one in best} == {("api",)}


def test_queries_that_ask_for_nothing_find_nothing(knowledge: Knowledge) -> None:
    assert knowledge.query_by_tags(["x"]) == []
    knowledge.add(node("a", tags=("x",)))
    assert knowledge.query_by_tags([]) == knowledge.query_by_tags(["", "?!"], words=["the", "  "]) == []
    for options, said in (
        ({"limit": 0}, "`limit` must be 1 or more, got 0"),
        ({"types": ["idea"]}, "`types` has 'idea'; known are task, decision"),
        ({"today": "now"}, "`today` 'now' is no date"),
    ):
        with pytest.raises(ConfigError, match=said):
            knowledge.query_by_tags(["x"], **options)


def test_a_pasted_text_is_a_query_too(knowledge: Knowledge) -> None:
    """Thousands of words, and more on a node than an index should have."""
    text = " ".join(f"word{number}" for number in range(40_000))
    knowledge.add(node("a", "short", rationale=text, tags=("x" * 5_000,)))

    assert found(knowledge, "x" * 5_000, *text.split(), words=[text, *text.split()]) == ["a"]
    assert knowledge.map_candidates([*text.split(), "\0\ud800"]) == []


# --- projects -----------------------------------------------------------------------------------------------------


def test_projects_do_not_see_each_other(knowledge: Knowledge) -> None:
    other = Knowledge(knowledge.store, f"other than {knowledge.project}")
    knowledge.add(node("a", "mine", tags=("x",)))
    other.add(node("a", "theirs", tags=("x",)))
    other.put_entry(MapEntry(component="c", location="a.py"))
    other.put_task(JournalTask(id="t"))

    assert knowledge.node("a").summary == "mine"
    assert [one.node.summary for one in other.query_by_tags(["x"])] == ["theirs"]
    assert knowledge.entries() == knowledge.tasks() == knowledge.map_candidates(["a"]) == []
    assert knowledge.new_id("pattern") == other.new_id("pattern") == "pattern-001"


def test_a_project_has_the_name_that_is_given_or_that_of_its_folder(tmp_path: Path) -> None:
    """Whatever a folder may be called; who gives a name that is none is told so."""
    assert project_of(tmp_path / "shop" / ".." / "花园") == "花园"
    assert project_of(tmp_path / "shop", "other") == "other"
    assert project_of(Path("/")) == "default"
    assert project_of(tmp_path / ("x" * 250)) == "x" * 200
    assert checked_name(project_of(tmp_path / "caf\udce9"))
    with pytest.raises(ConfigError, match=r"`project` '' is no name"):
        project_of(tmp_path, "")


@pytest.mark.parametrize("name", ["", " ", "x" * 201, "a\0", "half \ud800"])
def test_a_project_needs_a_name(name: str, tmp_path: object) -> None:
    with Store(f"{tmp_path}/a.db") as store, pytest.raises(ConfigError, match=r"`project` .* is no name"):
        Knowledge(store, name)
