"""Exchange: the graph as `knowledge_graph.json`, and memories that people wrote by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

import yaml

from foveate.errors import ConfigError
from foveate.knowledge.checked import checked_node
from foveate.knowledge.models import Node

VERSION: Final = 1
_FIELDS: Final = frozenset({"id", "type", "date", "tags"})
_FRONT: Final = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADING: Final = re.compile(r"^(#+)[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_SENTENCE: Final = re.compile(r"(.+?[.!?])(?=\s|\Z)", re.DOTALL)
_LIST_MARK: Final = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
_DATED: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


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


def nodes_of(graph: object) -> list[Node]:
    """The nodes of a graph that others wrote; an error names the node and its field."""
    if not isinstance(graph, Mapping):
        raise ConfigError(f"a knowledge graph is an object with `nodes`, got {type(graph).__name__}")
    version = graph.get("version", VERSION)
    if version != VERSION:
        raise ConfigError(f"knowledge graph has `version` {version!r}, known is {VERSION}; export it again as that one")
    listed = graph.get("nodes")
    if not isinstance(listed, list):
        raise ConfigError(f"knowledge graph has `nodes` {listed!r:.80}; give a list of nodes")
    found: dict[str, Node] = {}
    for place, given in enumerate(listed):
        id = given.get("id") if isinstance(given, Mapping) else None
        name = f"nodes[{place}]" if id is None else f"nodes[{place}] {id!r:.80}"
        node = checked_node(given, name=name)
        if node.id in found:
            raise ConfigError(f"{name}: `id` is that of another node before it; give each its own")
        found[node.id] = node
    return list(found.values())


def memories_in(place: Path) -> list[Node]:
    """The memories in a folder, a Markdown file each, or the one in a file; an error names the file and its field."""
    if not place.is_dir():
        if not place.is_file():
            raise ConfigError(f"no folder {str(place)!r}; name the one that has the memories, *.md files, or one file")
        return [_memory(place)]
    found: dict[str, Path] = {}
    memories: list[Node] = []
    for path in sorted(place.glob("*.md")):
        node = _memory(path)
        if node.id in found:
            raise ConfigError(f"{path}: `id` {node.id!r} is that of {found[node.id].name} too; give each its own")
        found[node.id] = path
        memories.append(node)
    return memories


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


def _memory(path: Path) -> Node:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}; store it as UTF-8, or move it elsewhere") from error
    front = _FRONT.match(text)
    if front is None:
        raise ConfigError(
            f"{path} has no front matter; begin it with ---, id, type, date, tags, ---, or move it elsewhere"
        )
    fields = _front_matter(path, front[1])
    body = text[front.end() :]
    sections = _sections(body)
    decided = _sentence(sections.get("decision") or sections.get("discovery") or "")
    given: dict[str, Any] = {
        "id": fields.get("id", path.stem),
        "type": fields.get("type"),
        "summary": decided or _title(body) or path.stem,
        "tags": fields.get("tags") or [],
        "file": path.as_posix(),
        "rationale": sections.get("rationale"),
        "created": _day(fields.get("date")) or _day_in(path.name),
    }
    return checked_node(given, name=str(path))


def _front_matter(path: Path, written: str) -> Mapping[str, Any]:
    try:
        fields: Any = yaml.safe_load(written) or {}
    except (yaml.YAMLError, ValueError) as error:
        line = " ".join(str(error).split())
        raise ConfigError(f"{path}: the front matter is no YAML: {line}") from error
    if not isinstance(fields, Mapping):
        raise ConfigError(
            f"{path}: the front matter is no list of fields; write `id: …`, `type: …`, `date: …`, `tags: […]`"
        )
    unknown = sorted(str(field) for field in fields if field not in _FIELDS)
    if unknown:
        raise ConfigError(f"{path}: `{unknown[0]}` is no field of a memory; known are id, type, date and tags")
    return fields


def _sections(body: str) -> dict[str, str]:
    """The text below each heading, by the heading in lower case; of two of a name the first."""
    found: dict[str, str] = {}
    headings = list(_HEADING.finditer(body))
    for place, heading in enumerate(headings):
        end = headings[place + 1].start() if place + 1 < len(headings) else len(body)
        found.setdefault(heading[2].lower().rstrip(":"), body[heading.end() : end].strip())
    return {name: text for name, text in found.items() if text}


def _title(body: str) -> str:
    heading = _HEADING.search(body)
    return heading[2].strip() if heading is not None and heading[1] == "#" else ""


def _sentence(text: str) -> str:
    """The first sentence of a text, on one line."""
    paragraph = _LIST_MARK.sub("", re.split(r"\n\s*\n", text, maxsplit=1)[0].strip())
    found = _SENTENCE.match(paragraph)
    return " ".join((found[1] if found is not None else paragraph).split())


def _day(written: Any) -> Any:
    """A date as text; YAML has made one of it already."""
    return written.isoformat() if isinstance(written, date | datetime) else written


def _day_in(name: str) -> str:
    found = _DATED.match(name)
    return found[0] if found is not None else ""
