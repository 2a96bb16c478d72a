"""Ingestion: what a handoff says goes into the graph, the map and the journal, at once and only once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, exists, select

from foveate.errors import ConfigError
from foveate.knowledge import graph, journal, places
from foveate.knowledge.checked import checked_entry, checked_node, checked_task, day_of, modelled
from foveate.knowledge.mapping import component_of
from foveate.knowledge.merging import united
from foveate.knowledge.models import (
    FileCreated,
    FileForNext,
    FileModified,
    Handoff,
    JournalTask,
    MapEntry,
    Node,
    NodeType,
    Result,
    TaskState,
)
from foveate.knowledge.project import Change
from foveate.knowledge.symbols import language_of
from foveate.store.engine import insert_ignoring
from foveate.store.schema import handoffs

# Half a task is not done, and somebody is to go on with it.
_STATUS: Final[Mapping[Result, TaskState]] = MappingProxyType(
    {"completed": "completed", "partial": "in_progress", "failed": "failed", "blocked": "blocked"}
)
_OPEN: Final = ("pending", "in_progress")
_How = Literal["added", "merged", "retired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What a handoff changed: nothing if it is `repeated`, unless name, summary, tags or dependencies are `corrected`.

    What is `retired` was said again, and stays so.
    """

    task_id: str
    repeated: bool = False
    corrected: bool = False
    added: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    blockers: int = 0


def ingest(change: Change, given: JournalTask, handed: Handoff, *, today: str) -> Ingested:
    """Take in what a task hands over."""
    if not day_of(today, field="`today`"):
        raise ConfigError("`today` is empty; give the date of the handoff, as in 2025-12-31")
    named = checked_task(given)
    handoff = modelled(handed, Handoff, f"handoff of task {named.id!r}")
    before = journal.task(change.connection, change.key, named.id)
    if not _recorded(change, named.id, handoff, today) and before is not None and _settled(before, handoff):
        return _corrected(change, replace(named, handoff=handoff), before, today)
    task = _completed(named, before, handoff)
    journal.put(change, task)
    blockers = () if handoff.outcome == "completed" else handoff.blockers
    journal.block(change, task.id, blockers)
    known = _task_node(change, task, handoff, today)
    learned = [_learned(change, node, task.id, free=free) for node, free in _lessons(task, handoff, today)]
    return Ingested(
        task_id=task.id,
        added=(*(() if known else (task.id,)), *(id for id, how in learned if how == "added")),
        merged=tuple(dict.fromkeys(id for id, how in learned if how == "merged")),
        retired=tuple(dict.fromkeys(id for id, how in learned if how == "retired")),
        entries=_mapped(change, handoff),
        blockers=len(blockers),
    )


def _corrected(change: Change, given: JournalTask, before: JournalTask, today: str) -> Ingested:
    """What is said otherwise of a task whose handoff is known: its name, its summary, more tags or dependencies."""
    task = _completed(given, before, before.handoff) if before.handoff is not None else before
    # Who says something of an older handoff need not know what came of the task since.
    if task == before or given.handoff != before.handoff:
        change.idle = True
        return Ingested(task_id=given.id, repeated=True)
    journal.put(change, task)
    if task.handoff is not None:
        _task_node(change, task, task.handoff, today)
        for node, free in _lessons(task, task.handoff, today):
            _learned(change, node, task.id, free=free)
    return Ingested(task_id=given.id, repeated=True, corrected=True)


def without_retired(connection: Connection, project: int, task: JournalTask) -> JournalTask:
    """A task without those patterns and gotchas of its handoff that somebody retired since."""
    handoff = task.handoff
    if handoff is None:
        return task
    ids = [*(one.id for one in handoff.patterns_discovered), *(one.id for one in handoff.gotchas)]
    # Agents choose ids that others have chosen too: only a node that came from this task is meant by its id.
    known = graph.by_id(connection, project, ids)
    gone = {id for id, one in known.items() if one.node.retired and task.id in one.node.connections}

    def is_live(type: NodeType, id: str, text: str) -> bool:
        same = graph.saying(connection, project, type, text)
        return id not in gone if same is None else not same.node.retired

    patterns = tuple(one for one in handoff.patterns_discovered if is_live("pattern", one.id, one.pattern))
    gotchas = tuple(one for one in handoff.gotchas if is_live("gotcha", one.id, one.issue))
    return replace(task, handoff=replace(handoff, patterns_discovered=patterns, gotchas=gotchas))


def _recorded(change: Change, task_id: str, handoff: Handoff, today: str) -> bool:
    """Keep a handoff for good; whether it is a new one."""
    body = msgspec.json.encode(handoff)
    sha256 = hashlib.sha256(body).hexdigest()
    mine = (handoffs.c.project == change.key) & (handoffs.c.task == task_id) & (handoffs.c.sha256 == sha256)
    if change.connection.scalar(select(exists().where(mine))):
        return False
    row = change.row(task=task_id, sha256=sha256, number=change.number("handoff"), day=today, body=body.decode())
    change.connection.execute(insert_ignoring(change.connection, handoffs), row)
    return True


def _settled(task: JournalTask, handoff: Handoff) -> bool:
    """Whether a handoff that came before needs no more: unless its task was opened again since."""
    return task.status not in _OPEN or (task.handoff == handoff and task.status == _STATUS[handoff.outcome])


def _completed(task: JournalTask, before: JournalTask | None, handoff: Handoff) -> JournalTask:
    """The task with its outcome, and with what the journal knew of it."""
    task = replace(task, handoff=handoff, status=_STATUS[handoff.outcome])
    if before is None:
        return task
    return replace(
        task,
        name=task.name or before.name,
        summary=task.summary or before.summary,
        dependencies=tuple(dict.fromkeys((*before.dependencies, *task.dependencies))),
        tags=tuple(dict.fromkeys((*before.tags, *task.tags))),
    )


def _task_node(change: Change, task: JournalTask, handoff: Handoff, today: str) -> bool:
    """Add the node of a task, or what is new to it; whether it was there."""
    stored = graph.by_id(change.connection, change.key, [task.id]).get(task.id)
    if stored is not None and stored.node.type != "task":
        raise ConfigError(f"task {task.id!r} has the id of a {stored.node.type} in the graph; give the task another id")
    # Whoever looks for a task knows its name; one that is its id says nothing more.
    name = "" if task.name.strip() == task.id else task.name.strip()
    node = checked_node(
        Node(
            id=task.id,
            type="task",
            summary=name or task.summary.strip() or task.id,
            rationale=task.summary if name and task.summary.strip() else None,
            tags=(*task.tags, *(tag for one in handoff.patterns_discovered for tag in one.applies_to)),
            created=today,
            connections=task.dependencies,
        )
    )
    if stored is not None:
        known = stored.node
        node = replace(united(known, node), summary=node.summary, rationale=node.rationale or known.rationale)
    graph.put(change, [node])
    return stored is not None


def _lessons(task: JournalTask, handoff: Handoff, today: str) -> Iterator[tuple[Node, bool]]:
    """What was learned, as nodes, and whether they are free to take any id."""
    for pattern in handoff.patterns_discovered:
        yield (
            Node(
                id=pattern.id or "pattern",
                type="pattern",
                summary=pattern.pattern,
                tags=pattern.applies_to or task.tags,
                file=pattern.location or None,
                created=today,
            ),
            not pattern.id,
        )
    for gotcha in handoff.gotchas:
        yield (
            Node(
                id=gotcha.id or "gotcha",
                type="gotcha",
                summary=gotcha.issue,
                tags=task.tags,
                file=gotcha.discovered_in or None,
                severity=gotcha.severity,
                rationale=gotcha.mitigation or None,
                created=today,
            ),
            not gotcha.id,
        )


def _learned(change: Change, given: Node, task_id: str, *, free: bool) -> tuple[str, _How]:
    """Add a node, or what is new in it to one that says the same; its id, and what was done."""
    node = checked_node(given)
    same = graph.saying(change.connection, change.key, node.type, node.summary)
    if same is not None and same.node.retired:
        return same.node.id, "retired"
    if same is not None:
        id = same.node.id
        graph.put(change, [united(same.node, replace(node, id=id, connections=(task_id,)))])
        return id, "merged"
    # Agents number what they found from 1, each of them.
    if free or graph.by_id(change.connection, change.key, [node.id]):
        node = replace(node, id=graph.free_id(change, node.type))
    graph.put(change, [replace(node, connections=(task_id,))])
    return node.id, "added"


def _mapped(change: Change, handoff: Handoff) -> tuple[str, ...]:
    """Put files that were made or changed on the map, and take those off that were deleted."""
    entries: dict[str, MapEntry] = {}
    files: tuple[FileCreated | FileModified, ...] = (*handoff.files_created, *handoff.files_modified)
    for file in files:
        if _deleted(file):
            places.remove(change, file.path)
            entries = {location: entry for location, entry in entries.items() if not _is_at(location, file.path)}
            continue
        location = file.path if _whole(file) else f"{file.path}:{file.lines}"
        notes = file.purpose if isinstance(file, FileCreated) else file.description
        before = entries[location].notes if location in entries else ""
        entry = MapEntry(component=component_of(file.path), location=location, notes=notes or before)
        entries[location] = checked_entry(entry)
    known = places.learned_at(change.connection, change.key, [*entries, *(one.file for one in _named(handoff))])
    for one in _named(handoff):
        if one.file not in entries and not known.get(one.file):
            notes = one.reason or next((said for said in _said(handoff) if one.file in said), "")
            entry = MapEntry(component=component_of(one.file), location=one.file, notes=notes)
            entries[one.file] = checked_entry(entry)
    # A handoff without a word about a file does not take away what others said of it.
    places.put(change, [replace(one, notes=one.notes or known.get(one.location, "")) for one in entries.values()])
    return tuple(entries)


def _named(handoff: Handoff) -> Iterator[FileForNext]:
    """The files that a salvaged text names: which of them were changed, it does not say."""
    for one in handoff.dependencies_for_next if handoff.salvaged else ():
        name = one.file.rpartition("/")[2]
        # `config.domains` looks like a file too.
        if "." in name and ("/" in one.file or language_of(one.file)):
            yield one


def _said(handoff: Handoff) -> Iterator[str]:
    """What a handoff warns of and advises, which may be about a file."""
    yield from (one.issue for one in handoff.gotchas)
    yield from (one.pattern for one in handoff.patterns_discovered)
    yield from (one.step for one in handoff.suggested_next_steps)
    yield from (one.question for one in handoff.open_questions)


def _deleted(file: FileCreated | FileModified) -> bool:
    return isinstance(file, FileModified) and file.change_type == "delete" and _whole(file)


def _whole(file: FileCreated | FileModified) -> bool:
    return file.lines.strip() in ("", "all")


def _is_at(location: str, path: str) -> bool:
    return location == path or location.startswith(f"{path}:")
