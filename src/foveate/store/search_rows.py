"""Rows of the search index: how a passage is numbered, and what an engine does with it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from sqlalchemy import Connection

from foveate.recall.postings import PART_BITS
from foveate.recall.terms import Term
from foveate.recall.tokens import Tokens

# The passages of a session are one range of ids, in the order of its log.
ROW_BITS: Final = 40
ORDER_BITS: Final = ROW_BITS - PART_BITS
_ASKED_TOGETHER: Final = 1_000
# Kept up with every message: to count a long log at each search would take longer than the search.
TOTALS: Final = (
    "CREATE TABLE passage_totals (session BIGINT PRIMARY KEY, passages BIGINT NOT NULL, words BIGINT NOT NULL)"
)
ADD_TO_TOTALS: Final = (
    "ON CONFLICT (session) DO UPDATE SET "
    "passages = passage_totals.passages + excluded.passages, words = passage_totals.words + excluded.words"
)


class IndexRow(NamedTuple):
    """A passage as it is given to an engine."""

    id: int
    tokens: Tokens


class Scope(NamedTuple):
    """The sessions that are searched; None means all there are."""

    sessions: tuple[int, ...] | None

    @property
    def first(self) -> int:
        """The first id that can be in one of the sessions."""
        return 0 if self.sessions is None else min(self.sessions) << ROW_BITS

    @property
    def end(self) -> int:
        """The first id behind all sessions."""
        return (1 << 63) - 1 if self.sessions is None else (max(self.sessions) + 1) << ROW_BITS


class Engine(Protocol):
    """What is different from database to database."""

    def create(self, connection: Connection) -> None:
        """Create the tables `passages`, `passages_text` and `passage_totals`."""
        ...

    def insert(self, connection: Connection, rows: Sequence[IndexRow]) -> None:
        """Add the passages of messages of one session that have none in the index yet, and count them."""
        ...

    def remove(self, connection: Connection, session: int, rows: Iterable[IndexRow]) -> None:
        """Take all passages of a session out of the full-text index, which are these."""
        ...

    def counts(self, connection: Connection, scope: Scope, terms: Sequence[Term], most: int) -> list[int]:
        """How many passages have each term, counted up to `most`."""
        ...

    def rows(
        self, connection: Connection, scope: Scope, wanted: Sequence[Sequence[Term]], end: int, most: int
    ) -> list[dict[int, int]]:
        """For each combination of terms the newest `most` ids below `end` that have them all, with their words."""
        ...


def passage_id(session_key: int, order: int, part: int) -> int:
    """The id of a passage: its session, the position of its message in the log, and its number in the message."""
    return session_key << ROW_BITS | order << PART_BITS | part


def indexed(connection: Connection, places: Collection[int]) -> set[int]:
    """Which of some places, session and position in one, have passages; all that have any have a first one."""
    known: set[int] = set()
    ids = [place << PART_BITS for place in places]
    for start in range(0, len(ids), _ASKED_TOGETHER):
        # Numbers of ours, written as they are: this is asked for every message, and building a query takes longer.
        some = ", ".join(map(str, ids[start : start + _ASKED_TOGETHER]))
        found = connection.exec_driver_sql(f"SELECT id FROM passages WHERE id IN ({some})")  # noqa: S608
        known.update(id >> PART_BITS for id in found.scalars())
    return known
