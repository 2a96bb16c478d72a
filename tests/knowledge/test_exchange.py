"""The graph goes out and comes in as others write it, and so do memories of people."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from foveate.errors import ConfigError
from foveate.knowledge.base import Knowledge
from foveate.knowledge.memories import memories_in
from foveate.knowledge.models import Node
from foveate.store import Store
from tests.knowledge import projects

knowledge = projects.knowledge

GRAPH: dict[str, Any] = {
    "version": 1,
    "last_updated": "2025-12-10T12:00:00Z",
    "nodes": [
        {"id": "task-001", "type": "task", "tags": ["auth"], "summary": "Added login", "file": None, "created": "2025-12-10", "connections": []},
        {"id": "gotcha-001", "type": "gotcha", "tags": ["auth", "jwt"], "summary": "Tokens expire", "file": "memories/jwt.md", "created": "2025-12-11", "connections": ["task-001", "task-000"]},
    ],
    "tag_index": {"auth": ["task-001", "gotcha-001"], "jwt": ["gotcha-001"]},
}  # fmt: skip

MEMORY = """---
id: decision-jwt
type: decision
date: 2025-12-10
tags: [auth, JWT]
---
# Sessions or tokens

## Context
We log in.

## Decision
We use JWT with
refresh tokens. Sessions were the other option.

## Rationale
No state on the server.

Scales.

## Related
task-001
"""


def test_a_graph_goes_in_and_out_unchanged(knowledge: Knowledge) -> None:
    assert knowledge.import_graph(GRAPH) == 2

    back = knowledge.export_graph()
    assert {**back, "last_updated": GRAPH["last_updated"]} == GRAPH
    assert back["last_updated"].endswith("+00:00")
    assert json.loads(json.dumps(back)) == back


def test_what_others_do_not_know_goes_out_and_in_too(knowledge: Knowledge) -> None:
    """Severity, rationale, and that a node is retired, which no tag leads to any more."""
    knowledge.add(Node(id="a", type="gotcha", summary="s", tags=("x",), severity="low", rationale="r"))
    knowledge.add(Node(id="b", type="gotcha", summary="t", tags=("x",)))
    knowledge.retire("b")
    out = knowledge.export_graph()

    other = Knowledge(knowledge.store, f"other than {knowledge.project}")
    other.import_graph(out)
    assert out["tag_index"] == {"x": ["a"]}
    assert list(other.nodes(retired=True)) == list(knowledge.nodes(retired=True))
    assert [one.node.id for one in other.query_by_tags(["x"])] == ["a"]


def test_an_import_updates_what_is_there(knowledge: Knowledge) -> None:
    """As often as it is made."""
    knowledge.add(Node(id="task-001", type="task", summary="Another", tags=("old",)))
    for _ in range(2):
        knowledge.import_graph(GRAPH)

    assert knowledge.node("task-001").summary == "Added login"
    assert knowledge.query_by_tags(["old"]) == []
    assert len(list(knowledge.nodes())) == 2
    assert [node.id for node in knowledge.connected("task-001")] == ["gotcha-001"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], r"an object with `nodes`, got list"),
        ({"version": 2, "nodes": []}, r"`version` 2, known is 1"),
        ({"nodes": {}}, r"`nodes` {}; give a list"),
        ({"nodes": ["x"]}, r"nodes\[0\]: it is 'x'; give fields: id, type, summary"),
        ({"nodes": [{"id": "a", "type": "task", "summary": "s", "score": 3}]}, r"nodes\[0\] 'a': `score` is no field; known are id, type, summary, tags"),
        ({"nodes": [{"id": "a", "type": 7, "summary": "s"}]}, r"nodes\[0\] 'a': `type` is 7; "),
        ({"nodes": [{"id": "a", "type": "task"}]}, r"nodes\[0\] 'a': `summary` is missing; give a text"),
        ({"nodes": [{"id": 5, "type": "task", "summary": "s"}]}, r"nodes\[0\] 5: `id` is 5; give a text, in quotes"),
        ({"nodes": [{"id": "a", "type": "task", "summary": "s", "created": "soon"}]}, r"nodes\[0\] 'a': `created` 'soon' is no date"),
        ({"nodes": [{"id": "a", "type": "task", "summary": "s"}] * 2}, r"nodes\[1\] 'a': `id` is that of another node"),
    ],
)  # fmt: skip
def test_a_graph_with_an_error_changes_nothing(knowledge: Knowledge, data: Any, said: str) -> None:
    """And the error names the node and its field."""
    good = [{"id": "good", "type": "task", "summary": "s"}]
    if isinstance(data, dict) and data["nodes"] and "\\[0\\]" in said:
        data = {**data, "nodes": [*data["nodes"], *good]}
    with pytest.raises(ConfigError, match=said):
        knowledge.import_graph(data)
    assert list(knowledge.nodes()) == []


def test_memories_are_read(knowledge: Knowledge, tmp_path: Path) -> None:
    folder = tmp_path / "memories"
    folder.mkdir()
    (folder / "2025-12-10-jwt.md").write_text(MEMORY, encoding="utf-8")
    (folder / "2025-12-11-pool.md").write_bytes(
        "\ufeff---\r\ntype: insight\r\n---\r\n# Pools\r\n## Discovery:\r\n- Pools leak! Really.\r\n".encode()
    )
    (folder / "titled.md").write_text("---\ntype: gotcha\ntags:\n---\n# Only a title #\n", encoding="utf-8")

    assert len(knowledge.read_memories(folder).nodes) == 3
    first, second, third = knowledge.nodes()
    assert first == Node(
        id="decision-jwt", type="decision", summary="We use JWT with refresh tokens.", tags=("auth", "jwt"),
        file=(folder / "2025-12-10-jwt.md").as_posix(), rationale="No state on the server.\n\nScales.", created="2025-12-10",
    )  # fmt: skip
    assert (second.id, second.summary, second.created) == ("2025-12-11-pool", "Pools leak!", "2025-12-11")
    assert (third.id, third.summary, third.created) == ("titled", "Only a title", "")


def test_one_memory_is_read_by_its_name(knowledge: Knowledge, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.md").write_text(f"---\ntype: decision\n---\n# {name}\n", encoding="utf-8")
    assert len(knowledge.read_memories(tmp_path / "two.md").nodes) == 1
    assert [node.id for node in knowledge.nodes()] == ["two"]
    with pytest.raises(ConfigError, match=r"no folder '.*three\.md'; name the one that has the memories"):
        knowledge.read_memories(tmp_path / "three.md")


def test_memories_that_are_read_again_keep_what_was_made_of_them(knowledge: Knowledge, tmp_path: Path) -> None:
    """The text is new, connections are kept, and what was retired stays so."""
    path = tmp_path / "jwt.md"
    path.write_text(MEMORY, encoding="utf-8")
    knowledge.read_memories(tmp_path)
    knowledge.update("decision-jwt", connections=("task-001",), retired=True)
    path.write_text(MEMORY.replace("We use JWT", "We use PASETO"), encoding="utf-8")

    assert len(knowledge.read_memories(tmp_path).nodes) == 1
    node = knowledge.node("decision-jwt")
    assert node.summary.startswith("We use PASETO")
    assert (node.connections, node.retired) == (("task-001",), True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"---\nid: [\n---\n", "bad.md: the front matter is no YAML"),
        (
            b"---\ndate: 2025-02-30\ntype: task\n---\n",
            "bad.md: the front matter is no YAML|`created` '2025-02-30' is no date",
        ),
        (b"---\n- a\n---\n", "bad.md: the front matter is no list of fields"),
        (b"---\ntype: idea\n---\n", "bad.md: `type` is 'idea'; known are decision"),
        (b"---\nid: x\n---\n", "bad.md: `type` is empty; known are decision"),
        (b"---\ntype: task\ntags: 5\n---\n", "bad.md: `tags` is 5; give a list"),
        (b"---\ntype: task\nowner: me\n---\n", "bad.md: `owner` is no field of a memory"),
        (b"---\ntype: task\ndate: soon\n---\n", "bad.md: `created` 'soon' is no date"),
        (b"---\nid: good\ntype: task\n---\n", "`id` 'good' is that of bad.md too"),
        (b"\xff", r"cannot read .*bad\.md.* not UTF-8"),
    ],
)
def test_a_memory_with_an_error_is_named_and_nothing_is_read(tmp_path: Path, text: bytes, said: str) -> None:
    (tmp_path / "bad.md").write_bytes(text)
    (tmp_path / "good.md").write_text("---\nid: good\ntype: task\n---\n# Good\n", encoding="utf-8")
    with Store(tmp_path / "a.db") as store:
        knowledge = Knowledge(store)
        with pytest.raises(ConfigError, match=said):
            knowledge.read_memories(tmp_path)
        assert list(knowledge.nodes()) == []
        with pytest.raises(ConfigError, match="no folder"):
            knowledge.read_memories(tmp_path / "nowhere")


def test_what_a_graph_does_not_say_of_a_node_stays(knowledge: Knowledge) -> None:
    """A graph that others wrote has the fields of its format only: ours are not lost, and what is retired stays so."""
    node = Node(
        id="a", type="gotcha", summary="It leaks", severity="high", rationale="close it", tags=("db",), file="a.py",
        created="2026-01-01", connections=("T1",), retired=True,
    )  # fmt: skip
    knowledge.add(node)
    knowledge.import_graph({"nodes": [{"id": "a", "type": "gotcha", "summary": "It leaks much", "tags": ["pool"]}]})
    assert knowledge.node("a") == replace(node, summary="It leaks much", tags=("pool",))
    knowledge.import_graph(
        {"nodes": [{"id": "a", "type": "gotcha", "summary": "x", "severity": None, "retired": False}]}
    )
    assert (knowledge.node("a").severity, knowledge.node("a").retired) == (None, False)


def test_files_that_are_no_memories_are_left_out_and_folders_below_are_read(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "README.md").write_text("# Our memories\n", encoding="utf-8")
    (tmp_path / "below" / "pool.md").write_text("---\ntype: gotcha\nseverity: high\n---\n# Leaks\n", encoding="utf-8")
    assert knowledge.read_memories(tmp_path).left_out == (tmp_path / "README.md",)
    assert [(node.id, node.severity) for node in knowledge.nodes()] == [("pool", "high")]
    with pytest.raises(ConfigError, match=r"README\.md has no front matter; begin it with ---"):
        knowledge.read_memories(tmp_path / "README.md")


def test_a_folder_without_memories_is_refused(knowledge: Knowledge, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Nothing\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"no memory in '.*': 1 \*\.md file\(s\), none of which begins with ---"):
        knowledge.read_memories(tmp_path)


def test_what_a_memory_is_related_to_is_connected(knowledge: Knowledge, tmp_path: Path) -> None:
    """By an id, however it is written, or by the file of another memory; prose is no id."""
    (tmp_path / "2025-12-10-jwt.md").write_text(MEMORY, encoding="utf-8")
    related = (
        "- pattern-001: why\n- `task-2`\n- [[gotcha-3]] too\n- [the choice](2025-12-10-jwt.md)\n"
        "- insight-4 (old)\n- See the docs\n"
    )
    (tmp_path / "b.md").write_text(f"---\ntype: insight\n---\n# B\n\n## Related\n{related}", encoding="utf-8")
    knowledge.read_memories(tmp_path)
    assert knowledge.node("b").connections == ("pattern-001", "task-2", "gotcha-3", "decision-jwt", "insight-4")
    assert [node.id for node in knowledge.connected("decision-jwt")] == ["b"]


def test_a_folder_of_memories_is_not_left_and_what_is_left_out_is_named(tmp_path: Path) -> None:
    """As with `foveate import`: links that lead out, pipes and devices are not read, and each is named."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "private.md").write_text("---\nid: private\ntype: task\n---\n# Private\n")
    folder = tmp_path / "memories"
    (folder / ".hidden").mkdir(parents=True)
    (folder / ".hidden" / "h.md").write_text("no memory")
    (folder / "good.md").write_text("---\nid: good\ntype: task\n---\n# Good\n")
    (folder / "again.md").symlink_to("good.md")
    (folder / "link.md").symlink_to("../out/private.md")
    (folder / "zero.md").symlink_to("/dev/zero")
    (folder / "inner").symlink_to("../out")
    os.mkfifo(folder / "pipe.md")
    found = memories_in(folder)
    assert [node.id for node in found.nodes] == ["good"]
    assert found.nodes[0].file == (folder / "good.md").as_posix()
    assert {path.name: reason for path, reason in found.not_read} == {
        "link.md": "it is a link that leads out of the folder",
        "zero.md": "it is a link that leads out of the folder",
        "inner": "it is a link that leads out of the folder",
        "pipe.md": "it is a pipe",
    }
    assert found.left_out == ()
