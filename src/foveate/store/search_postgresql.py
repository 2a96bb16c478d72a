"""Search in PostgreSQL: text vectors that are made by us, and an index that has the words of a session together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, text

from foveate.recall.postings import PART_BITS
from foveate.recall.terms import Term
from foveate.store.search_rows import ADD_TO_TOTALS, ROW_BITS, TOTALS, IndexRow, Scope

# Hidden words stand so far behind the others that no name runs from one into the other.
_GAP: Final = 2

# One round trip. A message that has a first passage is there; those of two writers at once are the same.
_INSERT: Final = text(
    "WITH given AS (SELECT * FROM unnest("  # noqa: S608  all values are bound
    "CAST(:ids AS bigint[]), CAST(:words AS integer[]), CAST(:vectors AS text[])) AS given (id, words, vector)), "
    "added AS (INSERT INTO passages (id, words) SELECT id, words FROM given WHERE NOT EXISTS ("
    f"SELECT FROM passages AS first WHERE first.id = given.id >> {PART_BITS} << {PART_BITS}"
    ") ON CONFLICT DO NOTHING RETURNING id, words), "
    f"counted AS (INSERT INTO passage_totals (session, passages, words) SELECT id >> {ROW_BITS}, count(*), sum(words) "
    f"FROM added GROUP BY id >> {ROW_BITS} {ADD_TO_TOTALS}) "
    "INSERT INTO passages_text (id, tsv) SELECT id, CAST(vector AS tsvector) FROM given JOIN added USING (id)"
)
_REMOVE: Final = text("DELETE FROM passages_text WHERE id >= :first AND id < :end")
_GIVEN: Final = "FROM unnest(CAST(:queries AS text[])) WITH ORDINALITY AS given (query, place)"
_COUNTS: Final = text(
    "SELECT (SELECT count(*) FROM (SELECT FROM passages_text "  # noqa: S608  all values are bound
    f"WHERE tsv @@ CAST(query AS tsquery) LIMIT :most) AS counted) {_GIVEN} ORDER BY place"
)
# OFFSET 0 has matches found before they are ordered: else it may walk through all ids, newest first, and filter them.
_ROWS: Final = text(
    f"SELECT place, id, words {_GIVEN} CROSS JOIN LATERAL (SELECT id FROM ("  # noqa: S608  all values are bound
    "SELECT id FROM passages_text WHERE tsv @@ CAST(query AS tsquery) AND id < :end OFFSET 0"
    ") AS matching ORDER BY id DESC LIMIT :most) AS newest JOIN passages USING (id)"
)


class PostgreSQLEngine:
    """The full-text search of PostgreSQL."""

    def create(self, connection: Connection) -> None:
        """Create the tables and the index."""
        connection.execute(text("CREATE TABLE passages (id BIGINT PRIMARY KEY, words INTEGER NOT NULL)"))
        connection.execute(text("CREATE TABLE passages_text (id BIGINT PRIMARY KEY, tsv TSVECTOR NOT NULL)"))
        connection.execute(text(TOTALS))
        # What waits to be indexed is read by every search; the default of 4 MB would take it a tenth of a second.
        index = "CREATE INDEX passages_text_tsv ON passages_text USING gin (tsv) WITH (gin_pending_list_limit = 256)"
        connection.execute(text(index))

    def insert(self, connection: Connection, rows: Sequence[IndexRow]) -> None:
        """Add the passages of messages of one session that have none in the index yet, and count them."""
        given: dict[str, Any] = {
            "ids": [row.id for row in rows],
            "words": [row.tokens.length for row in rows],
            "vectors": [vector(row) for row in rows],
        }
        connection.execute(_INSERT, given)

    def remove(self, connection: Connection, session: int, rows: Iterable[IndexRow]) -> None:
        """Take all passages of a session out of the full-text index, which are these."""
        connection.execute(_REMOVE, {"first": session << ROW_BITS, "end": session + 1 << ROW_BITS})

    def counts(self, connection: Connection, scope: Scope, terms: Sequence[Term], most: int) -> list[int]:
        """How many passages have each term, counted up to `most`."""
        queries = [query_of([term], scope) for term in terms]
        return list(connection.execute(_COUNTS, {"queries": queries, "most": most}).scalars())

    def rows(
        self, connection: Connection, scope: Scope, wanted: Sequence[Sequence[Term]], end: int, most: int
    ) -> list[dict[int, int]]:
        """For each combination of terms the newest `most` ids below `end` that have them all, with their words."""
        queries = [query_of(terms, scope) for terms in wanted]
        given: dict[str, Any] = {"queries": queries, "end": end, "most": most}
        found: list[dict[int, int]] = [{} for _ in wanted]
        for place, id, words in connection.execute(_ROWS, given):
            found[place - 1][id] = words
        return found


def vector(row: IndexRow) -> str:
    """A passage as a text vector: tokens with their places, and a mark of its session.

    With the mark one index lookup finds a term in a session, however often it is said in others.
    """
    words, hidden = row.tokens
    # A word that comes again is written again: PostgreSQL collects its places faster than we do.
    written = [f"'{word}':{place}" for place, word in enumerate(words, 1)]
    written += [f"'{word}':{place}" for place, word in enumerate(hidden, len(words) + _GAP)]
    return " ".join([_mark(row.id >> ROW_BITS), *written])


def query_of(terms: Sequence[Term], scope: Scope) -> str:
    """What finds the passages of some sessions that have all terms."""
    asked = [f"({_said(term)})" for term in terms]
    if scope.sessions is not None:
        asked.append(f"({' | '.join(map(_mark, scope.sessions))})")
    return " & ".join(asked)


def _said(term: Term) -> str:
    return " <-> ".join(f"'{token}'{':*' if term.is_prefix else ''}" for token in term.tokens)


def _mark(session: int) -> str:
    # No token has a sign in it.
    return f"'#{session}'"
