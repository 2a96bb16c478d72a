"""Checked: what comes in from others, made fit to be stored on every engine, or refused by name of the field."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, Final, TypeVar

import msgspec

from foveate.errors import ConfigError
from foveate.knowledge.faults import fitted
from foveate.knowledge.models import ContextTask, JournalTask, MapEntry, Node
from foveate.log.text import encodable
from foveate.store.engine import storable

Model = TypeVar("Model", bound=msgspec.Struct)

LONGEST_ID: Final = 200
# PostgreSQL refuses what is too long for an index; where it is refused must not depend on the engine.
LONGEST_LOCATION: Final = 500
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")


def plain(text: str) -> str:
    """A text without what some engine or format cannot hold."""
    return storable(encodable(text))


def modelled(given: object, kind: type[Model], name: str) -> Model:
    """Data as a model, its texts made plain; an error names `name` and each field that is wrong."""
    try:
        made = _plain(msgspec.to_builtins(given))
    except (TypeError, RecursionError) as error:
        raise ConfigError(f"{name}: {error}") from error
    return fitted(made, kind, name)


def checked_node(given: object, *, name: str | None = None) -> Node:
    """A node with everything as it should be: tags in lower case and once, connections once and not to itself."""
    name = f"node {_named(given)}" if name is None else name
    node = modelled(given, Node, name)
    _check_id(name, "id", node.id)
    if not node.summary.strip():
        raise ConfigError(f"{name}: `summary` is blank; say in one sentence what is known")
    connections = tuple(dict.fromkeys(one for one in node.connections if one != node.id))
    for one in connections:
        _check_id(name, "connections", one)
    day_of(node.created, field=f"{name}: `created`")
    tags = dict.fromkeys(filter(None, (tag.strip().lower() for tag in node.tags)))
    return msgspec.structs.replace(node, tags=tuple(tags), connections=connections)


def checked_entry(given: MapEntry) -> MapEntry:
    """An entry of the map as it can be stored."""
    entry = modelled(given, MapEntry, f"map entry {given.location!r}")
    if not entry.location.strip() or len(entry.location) > LONGEST_LOCATION:
        raise ConfigError(
            f"map entry {entry.location[:80]!r}: `location` must have 1 to {LONGEST_LOCATION} characters, "
            f"got {len(entry.location)}; give a path such as src/api.py:10-40"
        )
    return entry


def checked_task(given: JournalTask) -> JournalTask:
    """A task as it can be stored, its tags in lower case and once."""
    name = f"task {_named(given)}"
    task = modelled(given, JournalTask, name)
    _check_id(name, "id", task.id)
    for one in task.dependencies:
        _check_id(name, "dependencies", one)
    tags = dict.fromkeys(filter(None, (tag.strip().lower() for tag in task.tags)))
    return msgspec.structs.replace(task, tags=tuple(tags), dependencies=tuple(dict.fromkeys(task.dependencies)))


def read_task(given: object, *, name: str) -> ContextTask:
    """A task that somebody wrote; a field that is left empty is as if it were not there."""
    filled = {key: value for key, value in given.items() if value is not None} if isinstance(given, dict) else given
    task = fitted(filled, ContextTask, name)
    if not task.objective.strip():
        raise ConfigError(f"{name}: `objective` is blank; say in a sentence or two what the task is")
    return task


def day_of(written: str, *, field: str) -> int:
    """The day of an ISO date or time, as a number; 0 if none is written."""
    if not written:
        return 0
    found = _DATE.match(written)
    try:
        return date.fromisoformat(found[0] if found else "").toordinal()
    except ValueError as error:
        raise ConfigError(f"{field} {written[:80]!r} is no date; write it as 2025-12-31") from error


def _named(given: object) -> str:
    id: Any = given.get("id") if isinstance(given, dict) else getattr(given, "id", None)
    return repr(id[:80] if isinstance(id, str) else id)


def _check_id(name: str, field: str, id: str) -> None:
    if not id.strip() or len(id) > LONGEST_ID:
        raise ConfigError(
            f"{name}: `{field}` has {id[:80]!r}, which is no id; give 1 to {LONGEST_ID} characters, as in pattern-001"
        )


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
