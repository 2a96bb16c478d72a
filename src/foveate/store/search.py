"""Search in a store: the passages of all sessions in one index, found by the engine and ranked by us.

What is indexed follows from the code that cuts messages and makes tokens. If that changes, a migration must build the
index anew: SQLite can only forget what it is told exactly as before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    column,
    delete,
    func,
    literal_column,
    select,
    table,
)

from foveate.errors import ConfigError
from foveate.log.messages import Message
from foveate.recall.passages import Passage, passages_of
from foveate.recall.postings import PART_BITS, Statistics
from foveate.recall.scoring import search
from foveate.recall.terms import Term
from foveate.recall.tokens import tokens_of
from foveate.store.search_postgresql import PostgreSQLEngine
from foveate.store.search_rows import ORDER_BITS, ROW_BITS, Engine, IndexRow, Scope, indexed, passage_id
from foveate.store.search_sqlite import SQLiteEngine

__all__ = [
    "SessionPostings",
    "StoreHit",
    "StorePostings",
    "create_index_tables",
    "index_messages",
    "passage_id",
    "search_store",
    "unindex_session",
]

Connect = Callable[[], AbstractContextManager[Connection]]

# How much of what was cut last is remembered; about 3 MB of text.
_REMEMBERED: Final = 4_096
_ENGINES: Final[Mapping[str, Engine]] = {"sqlite": SQLiteEngine(), "postgresql": PostgreSQLEngine()}
_totals: Final = table(
    "passage_totals", column("session", BigInteger), column("passages", BigInteger), column("words", BigInteger)
)
_passages: Final = table("passages", column("id", BigInteger), column("words", Integer))
_session: Final = literal_column(f"id >> {ROW_BITS}", BigInteger)


class StoreHit(NamedTuple):
    """A passage found in a session, and how well it answers the query."""

    session_key: int
    passage: Passage
    score: float


def create_index_tables(connection: Connection) -> None:
    """Create the tables of the search index."""
    _engine(connection).create(connection)


def index_messages(connection: Connection, session_key: int, messages: Sequence[tuple[int, Message]]) -> None:
    """Make messages of a session findable, each at its position in the log; a position already indexed stays."""
    if not 0 < session_key < 1 << 63 - ROW_BITS:
        raise ConfigError(f"`session_key` must be from 1 to {(1 << 63 - ROW_BITS) - 1}, got {session_key!r}")
    given: dict[int, Message] = {}
    for order, message in messages:
        if not 0 <= order < 1 << ORDER_BITS:
            raise ConfigError(f"`order` must be from 0 to {(1 << ORDER_BITS) - 1}, got {order!r}")
        given.setdefault(order, message)
    rows = list(_rows(session_key, given.items()))
    if rows:
        _engine(connection).insert(connection, rows)


def unindex_session(connection: Connection, session_key: int, messages: Iterable[tuple[int, Message]]) -> None:
    """Take a session out of the index; `messages` are all that were indexed, with their positions in the log."""
    scope = Scope((session_key,))
    inside = (_passages.c.id >= scope.first, _passages.c.id < scope.end)
    known = set(connection.scalars(select(_passages.c.id).where(*inside)))
    _engine(connection).remove(connection, session_key, (r for r in _rows(session_key, messages) if r.id in known))
    connection.execute(delete(_passages).where(*inside))
    connection.execute(delete(_totals).where(_totals.c.session == session_key))


class StorePostings:
    """The passages of some sessions, or of all; their rows are ids, and an order is an id without its part."""

    def __init__(
        self,
        connect: Connect,
        fetch: Callable[[Sequence[tuple[int, int]]], Mapping[tuple[int, int], Message]],
        sessions: Collection[int] | None = None,
    ) -> None:
        self._connect = connect
        self._fetch = fetch
        self._scope = Scope(None if sessions is None else tuple(sorted(set(sessions))))

    @property
    def newest(self) -> int:
        """The newest place that has a passage; -1 if none has."""
        with self._connect() as connection:
            newest = connection.scalar(select(func.max(_passages.c.id)).where(*_inside(self._scope)))
        return -1 if newest is None else newest >> PART_BITS

    def statistics(self, terms: Sequence[Term], most: int) -> Statistics:
        """Counts over all passages; of those that have a term no more than `most` are counted."""
        with self._connect() as connection:
            return _statistics(connection, self._scope, terms, most)

    def rows(self, wanted: Sequence[Sequence[Term]], *, before: int | None, most: int) -> list[dict[int, int]]:
        """For each combination of terms the rows that have them all, with their words: the newest `most` of them."""
        end = self._scope.end if before is None else before << PART_BITS
        with self._connect() as connection:
            return _engine(connection).rows(connection, self._scope, wanted, end, most)

    def passages(self, orders: Iterable[int]) -> dict[int, list[Passage]]:
        """The passages of messages by their places, without those that have none."""
        places = {(place >> ORDER_BITS, place & (1 << ORDER_BITS) - 1): place for place in orders}
        with self._connect() as connection:
            known = indexed(connection, places.values())
        wanted = [place for place, packed in places.items() if packed in known]
        found = self._fetch(wanted) if wanted else {}
        return {places[place]: passages_of(message, place[1]) for place, message in found.items()}


class SessionPostings:
    """The passages of one session."""

    def __init__(
        self, connect: Connect, session_key: int, fetch: Callable[[Sequence[int]], Mapping[int, Message]]
    ) -> None:
        self._base = session_key << ORDER_BITS
        self._store = StorePostings(connect, lambda places: self._fetched(places, fetch), (session_key,))
        self._cut: OrderedDict[int, list[Passage]] = OrderedDict()
        self._remembered = 0

    @property
    def newest(self) -> int:
        """The newest position of the log that has a passage; -1 if none has."""
        newest = self._store.newest
        return newest if newest < 0 else newest - self._base

    def statistics(self, terms: Sequence[Term], most: int) -> Statistics:
        """Counts over all passages; of those that have a term no more than `most` are counted."""
        return self._store.statistics(terms, most)

    def rows(self, wanted: Sequence[Sequence[Term]], *, before: int | None, most: int) -> list[dict[int, int]]:
        """For each combination of terms the rows that have them all, with their words: the newest `most` of them."""
        end = None if before is None else self._base + before
        first = self._base << PART_BITS
        found = self._store.rows(wanted, before=end, most=most)
        return [{id - first: words for id, words in rows.items()} for rows in found]

    def passages(self, orders: Iterable[int]) -> dict[int, list[Passage]]:
        """The passages of the messages at positions of the log, without those that have none."""
        wanted = [order for order in orders if order >= 0]
        missing = [self._base + order for order in wanted if order not in self._cut]
        if missing:
            for place, passages in self._store.passages(missing).items():
                self._cut[place - self._base] = passages
                self._remembered += len(passages)
        found = {order: self._cut[order] for order in wanted if order in self._cut}
        for order in found:
            self._cut.move_to_end(order)
        while self._remembered > _REMEMBERED:
            _, forgotten = self._cut.popitem(last=False)
            self._remembered -= len(forgotten)
        return found

    @staticmethod
    def _fetched(
        places: Sequence[tuple[int, int]], fetch: Callable[[Sequence[int]], Mapping[int, Message]]
    ) -> dict[tuple[int, int], Message]:
        found = fetch([order for _, order in places])
        return {place: found[place[1]] for place in places if place[1] in found}


def search_store(
    connect: Connect,
    query: str,
    *,
    fetch: Callable[[Sequence[tuple[int, int]]], Mapping[tuple[int, int], Message]],
    sessions: Collection[int] | None = None,
    allowed: Callable[[Sequence[int]], set[int]] = set,
    limit: int = 20,
) -> list[StoreHit]:
    """The passages of all sessions, or of some, that answer a query best; rarity is counted over all of them.

    `fetch` gives messages by session and position, `allowed` says which of some ids may be shown (`passage_id`).
    """
    if sessions is not None and not sessions:
        return []
    best = search(StorePostings(connect, fetch, sessions), query, limit=limit, allowed=allowed)
    return [StoreHit(one.row >> ROW_BITS, one.passage, one.score) for one in best]


def _engine(connection: Connection) -> Engine:
    return _ENGINES[connection.dialect.name]


def _rows(session_key: int, messages: Iterable[tuple[int, Message]]) -> Iterator[IndexRow]:
    for order, message in messages:
        for passage in passages_of(message, order):
            yield IndexRow(passage_id(session_key, order, passage.part), tokens_of(passage.text))


def _inside(scope: Scope) -> list[ColumnElement[bool]]:
    if scope.sessions is None:
        return []
    inside = [_passages.c.id >= scope.first, _passages.c.id < scope.end]
    return inside if len(scope.sessions) == 1 else [*inside, _session.in_(scope.sessions)]


def _statistics(connection: Connection, scope: Scope, terms: Sequence[Term], most: int) -> Statistics:
    totals = select(func.coalesce(func.sum(_totals.c.passages), 0), func.coalesce(func.sum(_totals.c.words), 0))
    if scope.sessions is not None:
        totals = totals.where(_totals.c.session.in_(scope.sessions))
    passages, words = connection.execute(totals).one()
    having = _engine(connection).counts(connection, scope, terms, most) if terms and passages else [0] * len(terms)
    return Statistics(int(passages), int(words), having)
