"""The knowledge of a project: what was learned, where things are, and which tasks there were, kept in a store."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace
from sqlalchemy import Connection

from foveate.errors import ConfigError, UnknownReferenceError
from foveate.knowledge import graph, journal, places, query
from foveate.knowledge.checked import checked_entry, checked_node, checked_task, plain
from foveate.knowledge.exchange import graph_of, nodes_of
from foveate.knowledge.ingestion import Ingested, ingest, without_retired
from foveate.knowledge.memories import Memories, memories_in
from foveate.knowledge.merging import merge
from foveate.knowledge.models import Blocker, Handoff, JournalTask, MapEntry, Node, NodeType
from foveate.knowledge.places import Nearby
from foveate.knowledge.project import DEFAULT_PROJECT, Change, Project, changing, checked_name, found
from foveate.knowledge.query import Scored
from foveate.store.store import Store

_PAGE: Final = 1_000
_CANDIDATES: Final = 500
_FIELDS: Final = tuple(name for name in Node.__struct_fields__ if name != "id")


class Knowledge:
    """What one project knows; a store has many of them.

    Args:
        store: where it is kept; several processes may use it at the same time.
        project: the name of the project.

    """

    def __init__(self, store: Store, project: str = DEFAULT_PROJECT) -> None:
        self.store = store
        self.project = checked_name(project)

    # --- nodes ----------------------------------------------------------------------------------------------------

    def new_id(self, type: NodeType) -> str:
        """An id for a node, such as pattern-012, that nobody else is given."""
        with self._changing() as change:
            return graph.free_id(change, _known_type(type))

    def add(self, node: Node, *, now: str = "") -> str:
        """Add a node, of today's date `now` if it has none, and give back its id."""
        node = checked_node(node if node.created else replace(node, created=now))
        with self._changing() as change:
            there = graph.by_id(change.connection, change.key, [node.id]).get(node.id)
            if there is not None:
                state = "retired" if there.node.retired else "there"
                raise ConfigError(
                    f"node {node.id!r} is {state} already; change it with `foveate knowledge update {node.id}`, or "
                    "give the new one another id"
                )
            graph.put(change, [node])
        return node.id

    def update(self, node_id: str, **changes: Any) -> Node:
        """Change fields of a node, as in `update("pattern-012", tags=("api",))`."""
        unknown = sorted(set(changes) - set(_FIELDS))
        if unknown:
            raise ConfigError(f"`{unknown[0]}` cannot be changed; fields of a node are {', '.join(_FIELDS)}")
        with self._changing() as change:
            node = checked_node(replace(self._one(change.connection, change.key, node_id), **changes))
            graph.put(change, [node])
        return node

    def retire(self, node_id: str) -> None:
        """Take a node out of everything that is found; it can still be looked at by its id."""
        self.update(node_id, retired=True)

    def restore(self, node_id: str) -> None:
        """Let a retired node be found again."""
        self.update(node_id, retired=False)

    def merge(self, keep: str, *others: str) -> Node:
        """Unite nodes that say the same: one is kept, the others retired, and what led to them leads to it."""
        with self._changing() as change:
            kept, *rest = (self._one(change.connection, change.key, id) for id in dict.fromkeys((keep, *others)))
            return merge(change, kept, rest)

    def node(self, node_id: str) -> Node:
        """The node with an id, also if it is retired; an error names those that are spelt alike."""
        with self._reading() as (connection, project):
            return self._one(connection, project.key, node_id)

    def nodes(self, *, retired: bool = False) -> Iterator[Node]:
        """All nodes in the order they were added, without the retired ones unless asked for."""
        last = 0
        while True:
            with self._reading() as (connection, project):
                page = graph.after(connection, project.key, last, retired=retired, most=_PAGE)
            yield from (stored.node for stored in page)
            if len(page) < _PAGE:
                return
            last = page[-1].number

    def duplicates(self) -> list[tuple[str, ...]]:
        """The ids of nodes of one type that say the same words in whatever order, the oldest first."""
        with self._reading() as (connection, project):
            return graph.alike(connection, project.key)

    def connected(self, node_id: str, depth: int = 1) -> list[Node]:
        """The nodes within `depth` steps of one, in both directions, nearest first, then by id."""
        if depth < 1:
            raise ConfigError(f"`depth` must be 1 or more, got {depth!r}")
        with self._reading() as (connection, project):
            return graph.around(connection, project.key, self._one(connection, project.key, node_id), depth)

    def query_by_tags(
        self,
        tags: Sequence[str],
        *,
        words: Sequence[str] = (),
        types: Collection[NodeType] = (),
        limit: int = 10,
        today: str | None = None,
    ) -> list[Scored]:
        """The nodes that fit best; of equals the newer first, then by id.

        Args:
            tags: looked for among the tags, whatever their form and spelling.
            words: looked for in tags, summary and rationale, rare ones counting more.
            types: only nodes of these types.
            limit: the most nodes; some hundreds are looked at, however many there are.
            today: with it, what is new counts a little more.

        """
        if limit < 1:
            raise ConfigError(f"`limit` must be 1 or more, got {limit!r}")
        wanted = query.asked(tags, words)
        with self._reading() as (connection, project):
            return query.best(connection, project, wanted, types=types, limit=limit, today=today)

    # --- the map --------------------------------------------------------------------------------------------------

    def entries(self) -> list[MapEntry]:
        """All entries of the map, in the order they were added."""
        with self._reading() as (connection, project):
            return places.every(connection, project.key)

    def put_entry(self, entry: MapEntry) -> None:
        """Put an entry on the map, in the place of the one at its location."""
        self.put_entries([entry])

    def put_entries(
        self, entries: Iterable[MapEntry], *, definitions: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Put many entries on the map, all or none.

        `definitions` are names by location that are found too. Notes at these locations are what a file says of itself;
        they and what tasks say of it do not take each other's place.
        """
        checked = [checked_entry(entry) for entry in entries]
        with self._changing() as change:
            places.put(change, checked, definitions or {})

    def refresh_entries(
        self,
        entries: Iterable[MapEntry],
        *,
        definitions: Mapping[str, Sequence[str]],
        gone: Iterable[str] = (),
        ours: Callable[[str], bool] = lambda _location: False,
    ) -> None:
        """Put on the map what a repository has, and take off it what that has no more, at once.

        What is `gone` goes, and so does what a repository put on the map, is `ours` and is not among the entries.
        What only tasks put there stays.
        """
        checked = [checked_entry(entry) for entry in entries]
        now = {entry.location for entry in checked}
        with self._changing() as change:
            stale = {one for one in places.built(change.connection, change.key) if one not in now and ours(one)}
            for location in sorted(stale.union(gone)):
                places.remove(change, location)
            places.put(change, checked, definitions)

    def remove_entries(self, prefix: str) -> int:
        """Take the entries at a path, at lines of it or under it off the map, and say how many there were."""
        with self._changing() as change:
            return places.remove(change, plain(prefix))

    def map_candidates(self, terms: Iterable[str], *, limit: int = _CANDIDATES) -> list[MapEntry]:
        """The entries that share words with the terms, at most so many; those with most and rarest words first."""
        return self.map_near(terms, limit=limit).entries

    def map_near(self, terms: Iterable[str], *, files: Iterable[str] = (), limit: int = _CANDIDATES) -> Nearby:
        """The same with what is known of their files, and how common each term is; those of named `files` first."""
        if limit < 1:
            raise ConfigError(f"`limit` must be 1 or more, got {limit!r}")
        with self._reading() as (connection, project):
            return places.sharing(connection, project.key, terms, files=files, limit=limit)

    # --- the journal ----------------------------------------------------------------------------------------------

    def task(self, task_id: str) -> JournalTask | None:
        """The task with an id, or None."""
        with self._reading() as (connection, project):
            return journal.task(connection, project.key, plain(task_id))

    def inherited_task(self, task_id: str) -> JournalTask | None:
        """The same, without patterns and gotchas of its handoff that were retired since."""
        with self._reading() as (connection, project):
            found = journal.task(connection, project.key, plain(task_id))
            return None if found is None else without_retired(connection, project.key, found)

    def put_task(self, task: JournalTask) -> None:
        """Add a task to the journal, in the place of the one that has its id."""
        checked = checked_task(task)
        with self._changing() as change:
            journal.put(change, checked)

    def tasks(self) -> list[JournalTask]:
        """All tasks of the journal, in the order they came."""
        with self._reading() as (connection, project):
            return journal.every_task(connection, project.key)

    def blockers(self) -> list[tuple[str, Blocker]]:
        """What stands in the way of which task."""
        with self._reading() as (connection, project):
            return journal.blocked(connection, project.key)

    def ingest(self, task: JournalTask, handoff: Handoff, *, today: str) -> Ingested:
        """Take in what a task hands over: nodes, map, journal and blockers at once; a second time changes nothing."""
        with self._changing() as change:
            return ingest(change, task, handoff, today=today)

    # --- exchange -------------------------------------------------------------------------------------------------

    def export_graph(self) -> dict[str, Any]:
        """All nodes as `knowledge_graph.json` has them."""
        with self._reading() as (connection, project):
            stored = graph.after(connection, project.key, 0, retired=True)
            return graph_of((one.node for one in stored), project.updated)

    def import_graph(self, data: dict[str, Any], on_note: Callable[[str], None] = lambda _note: None) -> int:
        """Take in the nodes of a `knowledge_graph.json`, all or none; `on_note` is told what had to be changed.

        Those whose ids are there are updated; what the file does not say of them stays as it is.
        """
        given = nodes_of(data)
        with self._changing() as change:
            known = graph.by_id(change.connection, change.key, [one.node.id for one in given])
            graph.put(change, [one.over(known[one.node.id].node if one.node.id in known else None) for one in given])
        for one in given:
            if one.note:
                on_note(one.note)
        return len(given)

    def read_memories(self, place: Path) -> Memories:
        """Take in the memories of a folder, a Markdown file with front matter each, all or none; or one such file."""
        found = memories_in(place)
        given = {node.id: node for node in found.nodes}
        with self._changing() as change:
            for id, stored in graph.by_id(change.connection, change.key, given).items():
                # A file does not say what others connected to it or did with it since.
                connections = tuple(dict.fromkeys((*given[id].connections, *stored.node.connections)))
                given[id] = replace(given[id], connections=connections, retired=stored.node.retired)
            graph.put(change, given.values())
        return found

    # --- inside ---------------------------------------------------------------------------------------------------

    def _changing(self) -> AbstractContextManager[Change]:
        return changing(self.store, self.project)

    @contextmanager
    def _reading(self) -> Generator[tuple[Connection, Project], None, None]:
        with self.store.reading() as connection:
            yield connection, found(connection, self.project)

    def _one(self, connection: Connection, project: int, node_id: str) -> Node:
        id = plain(node_id)
        stored = graph.by_id(connection, project, [id]).get(id)
        if stored is not None:
            return stored.node
        known = graph.latest_ids(connection, project, _PAGE)
        close = difflib.get_close_matches(id, known, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(map(repr, close))}?" if close else "`foveate knowledge query` finds nodes"
        raise UnknownReferenceError(f"no node {node_id!r} in project {self.project!r}; {hint}")


def _known_type(type: NodeType) -> NodeType:
    if type not in query.TYPES:
        raise ConfigError(f"`type` {type!r} is none of a node; known are {', '.join(query.TYPES)}")
    return type
