"""Exchange: the graph as `knowledge_graph.json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, get_args

from msgspec.structs import replace

from foveate.errors import ConfigError
from foveate.knowledge.checked import checked_node
from foveate.knowledge.models import Node, NodeType

VERSION: Final = 1


# What a node is taken for whose type is not one of ours: something that somebody understood.
GENERIC: Final[NodeType] = "insight"
_UNSAID: Final = object()


class Given(NamedTuple):
    """A node that others wrote, which of its fields they wrote, and what had to be changed about it."""

    node: Node
    fields: frozenset[str]
    note: str = ""

    def over(self, stored: Node | None) -> Node:
        """The node with what is known of the fields that they did not write."""
        if stored is None:
            return self.node
        kept = {name: getattr(stored, name) for name in Node.__struct_fields__ if name not in self.fields}
        return replace(self.node, **kept)


def graph_of(nodes: Iterable[Node], updated: str) -> dict[str, Any]:
    """Nodes as the graph that others read, with the tags of those that are not retired."""
    written: list[dict[str, Any]] = []
    tags: dict[str, list[str]] = {}
    for node in nodes:
        written.append(_written(node))
        for tag in () if node.retired else node.tags:
            tags.setdefault(tag, []).append(node.id)
    return {
        "version": VERSION,
        "last_updated": updated,
        "nodes": written,
        "tag_index": {tag: tags[tag] for tag in sorted(tags)},
    }


def nodes_of(graph: object) -> list[Given]:
    """The nodes of a graph that others wrote; an error names the node and its field."""
    if not isinstance(graph, Mapping):
        raise ConfigError(f"a knowledge graph is an object with `nodes`, got {type(graph).__name__}")
    version = graph.get("version", VERSION)
    if version != VERSION:
        raise ConfigError(f"knowledge graph has `version` {version!r}, known is {VERSION}; export it again as that one")
    listed = graph.get("nodes")
    if not isinstance(listed, list):
        raise ConfigError(f"knowledge graph has `nodes` {listed!r:.80}; give a list of nodes")
    found: dict[str, Given] = {}
    for place, given in enumerate(listed):
        id = given.get("id") if isinstance(given, Mapping) else None
        name = f"nodes[{place}]" if id is None else f"nodes[{place}] {id!r:.80}"
        fitting, note = _with_known_type(given, name)
        node = checked_node(fitting, name=name)
        if node.id in found:
            raise ConfigError(f"{name}: `id` is that of another node before it; give each its own")
        found[node.id] = Given(node, frozenset(map(str, given)), note)
    return list(found.values())


def _with_known_type(given: Any, name: str) -> tuple[Any, str]:
    """A node as it can be stored: one of an unknown type is generic, has the type as a tag, and a note says so."""
    type = given.get("type", _UNSAID) if isinstance(given, Mapping) else _UNSAID
    if type is None or (isinstance(type, str) and not type.strip()):
        return {**given, "type": GENERIC}, f"{name}: `type` is empty; taken in as {GENERIC!r}"
    if not isinstance(type, str):
        return given, ""
    tag = "-".join(type.lower().split())
    if tag in get_args(NodeType):
        return {**given, "type": tag}, ""
    tags = given.get("tags")
    tagged = [*tags, tag] if isinstance(tags, list) else tags if tags is not None else [tag]
    known = ", ".join(get_args(NodeType))
    note = f"{name}: `type` {type!r:.80} is not one of {known}; taken in as {GENERIC!r} with the tag {tag!r:.80}"
    return {**given, "type": GENERIC, "tags": tagged}, note


def _written(node: Node) -> dict[str, Any]:
    """A node with all fields that the format asks for, and of ours those that say something."""
    written: dict[str, Any] = {
        "id": node.id,
        "type": node.type,
        "tags": list(node.tags),
        "summary": node.summary,
        "file": node.file,
        "created": node.created,
        "connections": list(node.connections),
    }
    ours = {"severity": node.severity, "rationale": node.rationale, "retired": node.retired or None}
    return written | {name: value for name, value in ours.items() if value is not None}
