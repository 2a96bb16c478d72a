"""The graph: nodes and their connections in a store, and the index that finds them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple, get_args

import msgspec
from sqlalchemy import ARRAY, BigInteger, Connection, Row, any_, bindparam, delete, func, insert, select, update

from foveate.knowledge.checked import day_of
from foveate.knowledge.models import Node, NodeType
from foveate.knowledge.project import Change
from foveate.knowledge.terms import Terms, node_terms, says, spaced, wording
from foveate.store.engine import insert_ignoring
from foveate.store.schema import knowledge_links as links
from foveate.store.schema import knowledge_nodes as nodes
from foveate.store.search_lists import Posting, place_of, replace_postings

# What an engine takes in one list.
_CHUNK: Final = 500
_CHANGED: Final = tuple(column.name for column in nodes.columns if column.name not in ("project", "number", "node"))
_UPDATE: Final = (
    update(nodes)
    .where(nodes.c.project == bindparam("old_project"), nodes.c.number == bindparam("old_number"))
    .values({name: bindparam(f"new_{name}") for name in _CHANGED})
)
_UNLINK: Final = delete(links).where(
    *(links.c[name] == bindparam(f"old_{name}") for name in ("project", "target", "source"))
)
# Built once: building a statement takes longer than a lookup.
_NAMED: Final = select(nodes).where(
    nodes.c.project == bindparam("project"), nodes.c.node.in_(bindparam("ids", expanding=True))
)
_NUMBERED: Final = select(nodes).where(
    nodes.c.project == bindparam("project"), nodes.c.number.in_(bindparam("numbers", expanding=True))
)
# One value instead of one for each number takes two thirds of the time.
_NUMBERED_POSTGRESQL: Final = select(nodes).where(
    nodes.c.project == bindparam("project"), nodes.c.number == any_(bindparam("numbers", type_=ARRAY(BigInteger)))
)
_LIVE: Final = nodes.c.retired.is_(False)
_TYPES: Final = get_args(NodeType)
_texts: Final = msgspec.json.Decoder(tuple[str, ...])


class Stored(NamedTuple):
    """A node as it is in the store, with its number and what it is found by."""

    number: int
    node: Node
    terms: Terms

    @property
    def postings(self) -> Iterator[Posting]:
        """Where the index has it; a retired node stands nowhere."""
        return iter(()) if self.node.retired else _postings(self.number, self.node, self.terms)


def tag_field(type: NodeType) -> str:
    """Where the index has the tags of nodes of a type."""
    return f"{type} tag"


def word_field(type: NodeType) -> str:
    """Where the index has the words of nodes of a type."""
    return f"{type} word"


def put(change: Change, given: Iterable[Node]) -> None:
    """Add nodes, or put them in the place of those that have their id; they are checked already."""
    wanted = {node.id: node for node in given}
    old = by_id(change.connection, change.key, wanted)
    new: dict[str, Stored] = {}
    for id, node in wanted.items():
        number = old[id].number if id in old else change.number("node")
        new[id] = Stored(number, node, node_terms(node))
        _note_number(change, id)
    replace_postings(
        change.connection,
        change.key,
        (one for stored in old.values() for one in stored.postings),
        (one for stored in new.values() for one in stored.postings),
    )
    _put_rows(change, old, new)
    _put_links(change, old, new)
    change.written += len(new)
    change.nodes += sum(not one.node.retired for one in new.values())
    change.nodes -= sum(not one.node.retired for one in old.values())


def free_id(change: Change, type: NodeType) -> str:
    """An id for a new node, which nobody else is given."""
    while True:
        id = f"{type}-{change.number(type):03}"
        if not by_id(change.connection, change.key, [id]):
            return id


def by_id(connection: Connection, project: int, ids: Collection[str]) -> dict[str, Stored]:
    """The nodes that have one of these ids, retired ones too."""
    wanted = list(ids)
    found: dict[str, Stored] = {}
    for start in range(0, len(wanted), _CHUNK):
        some = connection.execute(_NAMED, {"project": project, "ids": wanted[start : start + _CHUNK]}).all()
        found |= {row.node: stored_of(row) for row in some}
    return found


def rows(connection: Connection, project: int, numbers: Collection[int]) -> Sequence[Row[Any]]:
    """The rows of nodes by their numbers, which need not be made nodes if only some are wanted."""
    if not numbers:
        return ()
    statement = _NUMBERED_POSTGRESQL if connection.dialect.name == "postgresql" else _NUMBERED
    return connection.execute(statement, {"project": project, "numbers": list(numbers)}).all()


def node_of(row: Row[Any]) -> Node:
    """A row as a node."""
    return Node(
        id=row.node,
        type=row.type,
        summary=row.summary,
        tags=_texts.decode(row.tags),
        file=row.file,
        severity=row.severity,
        rationale=row.rationale,
        created=row.created,
        connections=_texts.decode(row.connections),
        retired=row.retired,
    )


def stored_of(row: Row[Any]) -> Stored:
    """A row as a node with what it is found by."""
    return Stored(row.number, node_of(row), Terms(tuple(row.tag_terms.split()), tuple(row.word_terms.split())))


def after(connection: Connection, project: int, number: int, *, retired: bool, most: int | None = None) -> list[Stored]:
    """The next nodes behind a number, in the order they were added."""
    where = [nodes.c.project == project, nodes.c.number > number, *([] if retired else [_LIVE])]
    rows = connection.execute(select(nodes).where(*where).order_by(nodes.c.number).limit(most))
    return [stored_of(row) for row in rows]


def latest_ids(connection: Connection, project: int, most: int) -> list[str]:
    """The ids of the nodes that were added last, newest first."""
    newest = select(nodes.c.node).where(nodes.c.project == project).order_by(nodes.c.number.desc())
    return list(connection.scalars(newest.limit(most)))


def pointing_at(connection: Connection, project: int, ids: Iterable[str]) -> set[str]:
    """The ids of nodes that are connected to one of these."""
    wanted = list(ids)
    found: set[str] = set()
    for start in range(0, len(wanted), _CHUNK):
        where = (links.c.project == project) & links.c.target.in_(wanted[start : start + _CHUNK])
        found |= set(connection.scalars(select(links.c.source).where(where)))
    return found


def around(connection: Connection, project: int, start: Node, depth: int) -> list[Node]:
    """The nodes within so many steps of one, in both directions, nearest first, then by id."""
    seen = {start.id}
    frontier = [start]
    found: list[Node] = []
    for _ in range(depth):
        ids = {id for node in frontier for id in node.connections}
        ids |= pointing_at(connection, project, [node.id for node in frontier])
        reached = by_id(connection, project, sorted(ids - seen))
        frontier = sorted(
            (stored.node for stored in reached.values() if not stored.node.retired), key=lambda node: node.id
        )
        if not frontier:
            break
        seen |= ids
        found += frontier
    return found


def saying(connection: Connection, project: int, type: NodeType, summary: str) -> Stored | None:
    """The oldest node of a type that says the same in the same words, in their order; a retired one if no other does.

    What somebody retired is not new when it is said again.
    """
    where = (nodes.c.project == project) & (nodes.c.type == type) & (nodes.c.says == says(summary))
    # Sorted here: asked for an order, SQLite may walk through all nodes in that order.
    rows = sorted(connection.execute(select(nodes).where(where)).all(), key=lambda row: (row.retired, row.number))
    return next((stored_of(row) for row in rows if wording(row.summary) == wording(summary)), None)


def alike(connection: Connection, project: int) -> list[tuple[str, ...]]:
    """The ids of nodes of one type that have the same words, oldest first."""
    mine = (nodes.c.project == project) & _LIVE
    twice = select(nodes.c.type, nodes.c.says).where(mine).group_by(nodes.c.type, nodes.c.says)
    several = twice.having(func.count() > 1).subquery()
    rows = connection.execute(
        select(nodes.c.type, nodes.c.says, nodes.c.node, nodes.c.number)
        .join(several, (nodes.c.type == several.c.type) & (nodes.c.says == several.c.says))
        .where(mine)
    ).all()
    by_words = sorted(rows, key=lambda row: (row.type, row.says, row.number))
    groups = [list(group) for _, group in groupby(by_words, key=lambda row: (row.type, row.says))]
    return [tuple(row.node for row in group) for group in sorted(groups, key=lambda group: group[0].number)]


def _postings(number: int, node: Node, terms: Terms) -> Iterator[Posting]:
    place = place_of(day_of(node.created, field="`created`"), number)
    for field, some in ((tag_field(node.type), terms.tags), (word_field(node.type), terms.words)):
        for term in some:
            yield Posting(term, field, place)


def _note_number(change: Change, id: str) -> None:
    """Go on counting behind an id that somebody else chose."""
    kind, _, digits = id.rpartition("-")
    if kind in _TYPES and digits.isascii() and digits.isdigit() and len(digits) < 10:
        change.numbers[kind] = max(change.numbers.get(kind, 0), int(digits))


def _put_rows(change: Change, old: Mapping[str, Stored], new: Mapping[str, Stored]) -> None:
    added = [change.row(**_row(stored)) for id, stored in new.items() if id not in old]
    if added:
        change.connection.execute(insert(nodes), added)
    updated = [
        {
            "old_project": change.key,
            "old_number": stored.number,
            **{f"new_{name}": value for name, value in _row(stored).items() if name in _CHANGED},
        }
        for id, stored in new.items()
        if id in old
    ]
    if updated:
        change.connection.execute(_UPDATE, updated)


def _put_links(change: Change, old: Mapping[str, Stored], new: Mapping[str, Stored]) -> None:
    were = {(target, id) for id, stored in old.items() for target in stored.node.connections}
    are = {(target, id) for id, stored in new.items() for target in stored.node.connections}
    gone = [
        {"old_project": change.key, "old_target": target, "old_source": source} for target, source in sorted(were - are)
    ]
    if gone:
        change.connection.execute(_UNLINK, gone)
    added = [change.row(target=target, source=source) for target, source in sorted(are - were)]
    if added:
        change.connection.execute(insert_ignoring(change.connection, links), added)


def _row(stored: Stored) -> dict[str, Any]:
    node = stored.node
    return {
        "number": stored.number,
        "node": node.id,
        "type": node.type,
        "summary": node.summary,
        "tags": _json(node.tags),
        "file": node.file,
        "severity": node.severity,
        "rationale": node.rationale,
        "created": node.created,
        "connections": _json(node.connections),
        "retired": node.retired,
        "tag_terms": spaced(stored.terms.tags),
        "word_terms": spaced(stored.terms.words),
        "says": says(node.summary),
    }


def _json(texts: Sequence[str]) -> str:
    return msgspec.json.encode(texts).decode()
