"""Search in SQLite files: an FTS5 table without content, since the text is in the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from sqlalchemy import Connection

from foveate.recall import fts5
from foveate.recall.postings import PART_BITS
from foveate.recall.terms import Term
from foveate.store.search_rows import ADD_TO_TOTALS, ROW_BITS, TOTALS, IndexRow, Scope, indexed

_REMOVED_TOGETHER: Final = 500
# Rowids are compared inside the full-text query, which then seeks instead of reading what other sessions say.
_MATCHING: Final = (
    "SELECT rowid FROM passages_text WHERE passages_text MATCH ? AND rowid >= ? AND rowid < ?{sessions}{newest} LIMIT ?"
)
_INSERT: Final = "INSERT INTO passages_text(rowid, words, hidden) VALUES (?, ?, ?)"
_COUNT: Final = f"INSERT INTO passage_totals(session, passages, words) VALUES (?, ?, ?) {ADD_TO_TOTALS}"  # noqa: S608  a constant
# FTS5 keeps no text to look up what was said: to forget a row it must be told again.
_REMOVE: Final = "INSERT INTO passages_text(passages_text, rowid, words, hidden) VALUES ('delete', ?, ?, ?)"


class SQLiteEngine:
    """The full-text search of SQLite."""

    def create(self, connection: Connection) -> None:
        """Create the tables; an INTEGER has 64 bits here, and as a primary key it is the order of the rows."""
        connection.exec_driver_sql("CREATE TABLE passages (id INTEGER PRIMARY KEY, words INTEGER NOT NULL)")
        connection.exec_driver_sql(TOTALS)
        connection.exec_driver_sql(f"CREATE VIRTUAL TABLE passages_text USING fts5({fts5.OPTIONS})")

    def insert(self, connection: Connection, rows: Sequence[IndexRow]) -> None:
        """Add the passages of messages of one session that have none in the index yet, and count them."""
        known = indexed(connection, {row.id >> PART_BITS for row in rows})
        new = [row for row in rows if row.id >> PART_BITS not in known]
        if not new:
            return
        words = [row.tokens.length for row in new]
        ids = [row.id for row in new]
        connection.exec_driver_sql("INSERT INTO passages(id, words) VALUES (?, ?)", list(zip(ids, words, strict=True)))
        connection.exec_driver_sql(_INSERT, [(row.id, *fts5.columns(row.tokens)) for row in new])
        connection.exec_driver_sql(_COUNT, (ids[0] >> ROW_BITS, len(new), sum(words)))

    def remove(self, connection: Connection, session: int, rows: Iterable[IndexRow]) -> None:
        """Take all passages of a session out of the full-text index, which are these."""
        remaining = iter(rows)
        while some := [(row.id, *fts5.columns(row.tokens)) for row in islice(remaining, _REMOVED_TOGETHER)]:
            connection.exec_driver_sql(_REMOVE, some)

    def counts(self, connection: Connection, scope: Scope, terms: Sequence[Term], most: int) -> list[int]:
        """How many passages have each term, counted up to `most`."""
        query = f"SELECT count(*) FROM ({_matching(scope)})"  # noqa: S608  only numbers of ours are in it
        counted = [
            connection.exec_driver_sql(query, (fts5.match([term]), scope.first, scope.end, most)).scalar()
            for term in terms
        ]
        return [count or 0 for count in counted]

    def rows(
        self, connection: Connection, scope: Scope, wanted: Sequence[Sequence[Term]], end: int, most: int
    ) -> list[dict[int, int]]:
        """For each combination of terms the newest `most` ids below `end` that have them all, with their words."""
        matching = _matching(scope, newest=" ORDER BY rowid DESC")
        query = f"SELECT id, words FROM passages WHERE id IN ({matching})"  # noqa: S608  only numbers of ours are in it
        found = [
            connection.exec_driver_sql(query, (fts5.match(terms), scope.first, min(end, scope.end), most)).all()
            for terms in wanted
        ]
        return [{row[0]: row[1] for row in rows} for rows in found]


def _matching(scope: Scope, newest: str = "") -> str:
    sessions = ""
    if scope.sessions is not None and len(scope.sessions) > 1:
        sessions = f" AND rowid >> {ROW_BITS} IN ({', '.join(map(str, map(int, scope.sessions)))})"
    return _MATCHING.format(sessions=sessions, newest=newest)
