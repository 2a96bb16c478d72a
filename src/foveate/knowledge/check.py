"""The check of knowledge: whether what projects know can be read, and whether all that finds it still leads there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, Table, func, select

from foveate.errors import FoveateError
from foveate.knowledge import graph, journal, places
from foveate.knowledge.checked import checked_node
from foveate.knowledge.models import Node
from foveate.store.check import Problem, raise_if_busy
from foveate.store.schema import handoffs, journal_blockers, journal_tasks, map_entries
from foveate.store.schema import knowledge_links as links
from foveate.store.schema import knowledge_nodes as nodes
from foveate.store.schema import knowledge_postings as postings
from foveate.store.schema import knowledge_projects as projects
from foveate.store.schema import knowledge_terms as terms
from foveate.store.search_lists import NUMBER_MASK, Posting
from foveate.store.store import Store

_PAGE: Final = 1_000
_RESTORE: Final = "restore the store from a copy, or import an earlier export of the project"
_ANEW: Final = (
    "`foveate knowledge export` the project and import it under another `--project`, which makes its index anew; "
    "`foveate map build` makes a map anew"
)
_UNUSED: Final = "harmless, but it takes room; delete these rows"
_Found = Counter[tuple[str, str]]


def check_knowledge(store: Store) -> list[Problem]:
    """Everything that is wrong with what the projects of a store know."""
    problems: list[Problem] = []
    try:
        with store.reading() as connection:
            known = {row.id: row for row in connection.execute(select(projects).order_by(projects.c.id))}
            problems += _orphans(connection)
            for row in known.values():
                problems += _project(connection, row)
    except (FoveateError, ValueError, TypeError) as error:
        raise_if_busy(error)
        # A column may hold anything if somebody else wrote it.
        problems.append(Problem(None, "knowledge", f"cannot be read: {error}", _RESTORE))
    return problems


def _orphans(connection: Connection) -> Iterator[Problem]:
    """Rows of projects that are not there."""
    for table in (nodes, links, postings, terms, map_entries, journal_tasks, journal_blockers, handoffs):
        project = table.c.project
        lost = select(project, func.count().label("rows")).where(project.not_in(select(projects.c.id)))
        for row in connection.execute(lost.group_by(project)):
            what = f"has {row.rows} rows of project number {row.project}, which is not there"
            yield Problem(None, table.name, what, _UNUSED)


def _project(connection: Connection, row: Any) -> Iterator[Problem]:
    def problem(place: str, what: str, remedy: str) -> Problem:
        return Problem(None, f"project {row.name!r}, {place}", what, remedy)

    found: _Found = Counter()
    live = 0
    pointing: Counter[str] = Counter()
    for number, read in _nodes(connection, row.id):
        if isinstance(read, Exception):
            yield problem(f"node number {number}", f"cannot be read: {read}", _RESTORE)
            continue
        node, some = read
        live += not node.retired
        pointing[node.id] = len(node.connections)
        found.update((one.term, one.field) for one in some)
    found.update((one.term, one.field) for one in _map_postings(connection, row.id))
    if live != row.nodes:
        yield problem("nodes", f"its row says {row.nodes}, there are {live}", _ANEW)
    yield from (problem("connections", what, _ANEW) for what in _links(connection, row.id, pointing))
    yield from (problem("index", what, _ANEW) for what in _index(connection, row.id, found))
    yield from (problem("journal", what, _RESTORE) for what in _journal(connection, row.id))


def _nodes(connection: Connection, project: int) -> Iterator[tuple[int, tuple[Node, list[Posting]] | Exception]]:
    """The numbers of all nodes, each with what can be read there and where the index should have it."""
    last = 0
    while True:
        where = (nodes.c.project == project, nodes.c.number > last)
        page = connection.execute(select(nodes).where(*where).order_by(nodes.c.number).limit(_PAGE)).all()
        for row in page:
            try:
                stored = graph.stored_of(row)
                yield row.number, (checked_node(stored.node), list(stored.postings))
            except (FoveateError, msgspec.MsgspecError, ValueError, TypeError, AttributeError) as error:
                yield row.number, error
        if len(page) < _PAGE:
            return
        last = page[-1].number


def _map_postings(connection: Connection, project: int) -> Iterator[Posting]:
    rows = connection.execute(
        select(map_entries.c.number, map_entries.c.word_terms).where(map_entries.c.project == project)
    )
    # A word of an entry may be one that its file defines too; the index has it once.
    return (one for row in rows for one in set(places.postings_of(row.number, row.word_terms.split())))


def _links(connection: Connection, project: int, pointing: Counter[str]) -> Iterator[str]:
    """Connections that no node has, or that a node has and nobody would find from the other end."""
    kept = select(links.c.source, func.count().label("links")).where(links.c.project == project)
    stored = Counter({row.source: row.links for row in connection.execute(kept.group_by(links.c.source))})
    for id in sorted(stored.keys() | pointing.keys()):
        if stored[id] != pointing[id]:
            owner = f"node {id!r} has" if id in pointing else f"node {id!r}, which is not there, has"
            yield f"{owner} {pointing[id]}, the index has {stored[id]} of it"


def _index(connection: Connection, project: int, found: _Found) -> Iterator[str]:
    for name, table, amount in (("terms", terms, func.sum(terms.c.postings)), ("postings", postings, func.count())):
        kept = _counted(connection, table, project, amount)
        wrong = sorted(key for key in kept.keys() | found.keys() if kept[key] != found[key])
        if wrong:
            term, field = wrong[0]
            more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            yield f"{name}: {term!r} as {field} stands {kept[term, field]} times and not {found[term, field]}{more}"
    number = postings.c.place.bitwise_and(NUMBER_MASK)
    for kind, table, ours in (
        ("node", nodes, postings.c.field != places.FIELD),
        ("entry", map_entries, postings.c.field == places.FIELD),
    ):
        there = select(table.c.number).where(table.c.project == project)
        lost = select(func.count()).where(postings.c.project == project, ours, number.not_in(there))
        count = connection.scalar(lost)
        if count:
            yield f"{count} postings lead to no {kind}"


def _counted(connection: Connection, table: Table, project: int, amount: ColumnElement[Any]) -> _Found:
    by = (table.c.term, table.c.field)
    rows: Iterable[Any] = connection.execute(
        select(*by, amount.label("found")).where(table.c.project == project).group_by(*by)
    )
    return Counter({(row.term, row.field): int(row.found) for row in rows})


def _journal(connection: Connection, project: int) -> Iterator[str]:
    for what, read in (("tasks", journal.every_task), ("blockers", journal.blocked)):
        try:
            read(connection, project)
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            yield f"{what} cannot be read: {error}"
    tasks = select(journal_tasks.c.task).where(journal_tasks.c.project == project)
    for table in (journal_blockers, handoffs):
        lost = select(func.count()).where(table.c.project == project, table.c.task.not_in(tasks))
        count = connection.scalar(lost.select_from(table))
        if count:
            yield f"{table.name} has {count} rows of tasks that are not there"
