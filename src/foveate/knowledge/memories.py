"""Memories: what people wrote by hand, a Markdown file with front matter each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from msgspec.structs import replace

from foveate.errors import ConfigError
from foveate.knowledge.checked import checked_node
from foveate.knowledge.models import Node
from foveate.named_files import read_named_text, walk_folder

_FIELDS: Final = ("id", "type", "date", "tags", "severity")
_ENDINGS: Final = (".md", ".markdown")
_MOST_BYTES: Final = 1_000_000
_FRONT: Final = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADING: Final = re.compile(r"^(#++)[ \t]++(.*[^ \t#\n])[ \t#]*+$", re.MULTILINE)
_FIRST_SENTENCE: Final = re.compile(r"(.+?[.!?])(?=\s|\Z)", re.DOTALL)
_LIST_MARK: Final = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
# A link to the file of another memory, or an id: in brackets, in backticks, or bare with at most a reason behind it.
_RELATED: Final = re.compile(
    r"\[[^\[\]]*\]\((?:[^()\s]*/)?(?P<file>[^()\s/]+?)(?:\.md)?\)"
    r"|\[\[(?P<linked>[^\[\]|]+)|`(?P<quoted>[^`\s]+)`|(?P<bare>[^\s`\[\](),:;]+)(?=\s*(?:$|[(:;,–—]|-\s))"
)
_DATED: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


class Memories(NamedTuple):
    """The memories of a folder, the files in it that are none, and links and special files, which are not read."""

    nodes: tuple[Node, ...]
    left_out: tuple[Path, ...] = ()
    not_read: tuple[tuple[Path, str], ...] = ()


def memories_in(place: Path) -> Memories:
    """The memories in a folder and those below it, or the one in a file; an error names the file and its field.

    A file without front matter, as a README is, is no memory; one that is named by itself must be one.
    """
    if not place.is_dir():
        if not place.is_file():
            raise ConfigError(f"no folder {str(place)!r}; name the one that has the memories, *.md files, or one file")
        return Memories((_memory(place, read_named_text(place, most=_MOST_BYTES)),))
    found: dict[str, Path] = {}
    memories: list[Node] = []
    left_out: list[Path] = []
    not_read: list[tuple[Path, str]] = []
    walked = walk_folder(place, _ENDINGS, lambda path, reason: not_read.append((path, reason)), hidden=False)
    # Links first, so that the file itself takes the place of those that lead to it.
    files = sorted((path for _, listed in walked for path in listed), key=Path.is_symlink, reverse=True)
    for path in sorted({path.resolve(): path for path in files}.values()):
        text = read_named_text(path, most=_MOST_BYTES)
        if _FRONT.match(text) is None:
            left_out.append(path)
            continue
        node = _memory(path, text)
        if node.id in found:
            raise ConfigError(f"{path}: `id` {node.id!r} is that of {found[node.id].name} too; give each its own")
        found[node.id] = path
        memories.append(node)
    if not memories:
        raise ConfigError(
            f"no memory in {str(place)!r}: {len(left_out)} *.md file(s), none of which begins with ---, id, type, "
            f"date, tags, ---{_listed(not_read)}; name the folder that has them"
        )
    # Who names the file of another memory means what is in it.
    ids = {path.stem: id for id, path in found.items()}
    named = (replace(one, connections=tuple(ids.get(id, id) for id in one.connections)) for one in memories)
    return Memories(tuple(named), tuple(left_out), tuple(not_read))


def _listed(not_read: Sequence[tuple[Path, str]]) -> str:
    return "".join(f"; {path.name} is left out, as {reason}" for path, reason in not_read[:3])


def _memory(path: Path, text: str) -> Node:
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
        "severity": fields.get("severity"),
        "rationale": sections.get("rationale"),
        "connections": _related(sections.get("related") or sections.get("related memories") or ""),
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
        raise ConfigError(f"{path}: `{unknown[0]}` is no field of a memory; known are {', '.join(_FIELDS)}")
    return fields


def _sections(body: str) -> dict[str, str]:
    """The text below each heading, by the heading in lower case; of two of a name the first."""
    found: dict[str, str] = {}
    headings = list(_HEADING.finditer(body))
    for place, heading in enumerate(headings):
        end = headings[place + 1].start() if place + 1 < len(headings) else len(body)
        found.setdefault(heading[2].lower().rstrip(":"), body[heading.end() : end].strip())
    return {name: text for name, text in found.items() if text}


def _related(text: str) -> list[str]:
    """The ids that a section names, one in each item of its list: `- [[pattern-001]]: why`, `- pattern-001 (why)`."""
    items = (_LIST_MARK.sub("", line.strip()) for line in text.splitlines() if _LIST_MARK.match(line.strip()))
    found = (_RELATED.match(item) for item in items)
    return list(dict.fromkeys(one[one.lastgroup or 0].strip().removesuffix(".md") for one in found if one is not None))


def _title(body: str) -> str:
    heading = _HEADING.search(body)
    return heading[2].strip() if heading is not None and heading[1] == "#" else ""


def _sentence(text: str) -> str:
    """The first sentence of a text, on one line."""
    paragraph = _LIST_MARK.sub("", re.split(r"\n\s*\n", text, maxsplit=1)[0].strip())
    found = _FIRST_SENTENCE.match(paragraph)
    return " ".join((found[1] if found is not None else paragraph).split())


def _day(written: Any) -> Any:
    """A date as text; YAML has made one of it already."""
    return written.isoformat() if isinstance(written, date | datetime) else written


def _day_in(name: str) -> str:
    found = _DATED.match(name)
    return found[0] if found is not None else ""
