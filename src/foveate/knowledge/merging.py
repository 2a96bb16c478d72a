"""Merging: several nodes that say the same become one, and nothing that any of them knew is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from foveate.errors import ConfigError
from foveate.knowledge import graph
from foveate.knowledge.models import Node, Priority
from foveate.knowledge.project import Change

_GRAVEST_FIRST: Final[tuple[Priority, ...]] = ("high", "medium", "low")


def united(keep: Node, *others: Node) -> Node:
    """The node to keep with what others say beside it: tags, connections, rationale; the gravest severity of all."""
    every = (keep, *others)
    ids = {node.id for node in every}
    connections = dict.fromkeys(id for node in every for id in node.connections if id not in ids)
    severities = {node.severity for node in every}
    return replace(
        keep,
        tags=tuple(dict.fromkeys(tag for node in every for tag in node.tags)),
        connections=tuple(connections),
        rationale=_together([node.rationale for node in every if node.rationale]),
        file=next((node.file for node in every if node.file), None),
        severity=next((one for one in _GRAVEST_FIRST if one in severities), None),
    )


def merge(change: Change, keep: Node, others: Sequence[Node]) -> Node:
    """Keep one node, retire others, and connect to the one whatever was connected to them."""
    _check(keep, others)
    merged = united(keep, *others)
    gone = {node.id for node in others}
    sources = graph.pointing_at(change.connection, change.key, gone) - gone - {keep.id}
    pointing = graph.by_id(change.connection, change.key, sorted(sources))
    redirected = [_redirected(stored.node, gone, keep.id) for stored in pointing.values()]
    graph.put(change, [merged, *(replace(node, retired=True) for node in others), *redirected])
    return merged


def _check(keep: Node, others: Sequence[Node]) -> None:
    if not others:
        raise ConfigError(f"nothing to merge into {keep.id!r}; name the nodes that say the same")
    for node in (keep, *others):
        if node.retired:
            raise ConfigError(
                f"node {node.id!r} is retired and cannot be merged; `foveate knowledge retire {node.id} --undo` "
                "puts it back"
            )
    for node in others:
        if node.type != keep.type:
            raise ConfigError(
                f"{keep.type} {keep.id!r} and {node.type} {node.id!r} cannot be merged; nodes must be of one type"
            )


def _redirected(node: Node, gone: set[str], keep: str) -> Node:
    connections = dict.fromkeys(keep if id in gone else id for id in node.connections)
    return replace(node, connections=tuple(connections))


def _together(texts: Sequence[str]) -> str | None:
    """All texts, without those that another one before them contains."""
    kept: list[str] = []
    for text in texts:
        if not any(text.strip() in one for one in kept):
            kept.append(text.strip())
    return "\n\n".join(kept) or None
