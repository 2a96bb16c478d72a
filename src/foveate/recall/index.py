"""The index: full-text search over the passages of a log, in memory."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Container, Iterable, Iterator
from typing import Final, NamedTuple

from foveate.errors import ConfigError
from foveate.log.messages import Message
from foveate.recall.passages import Passage, passages_of
from foveate.recall.terms import Term, hidden_words, terms_of

# A row's number is its place in the log, so that `before` is a range of rows and ties fall in order of time.
_PARTS: Final = 4_096
_LAST: Final = 2**63 - 1
# Rare terms decide a ranking; the common ones are looked up only while that costs little.
_MOST_ROWS: Final = 5_000
_RANKED: Final = "SELECT rowid, rank FROM passages WHERE passages MATCH ? AND rowid < ? LIMIT ?"
# To rank a term SQLite walks all its rows; of one that is everywhere the newest places will do, unranked.
_NEWEST: Final = "SELECT rowid, -1.0 FROM passages WHERE passages MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?"
# Below this many passages a share says nothing about how common a term is.
_SMALL: Final = 40
_COMMON: Final = 0.5


class Hit(NamedTuple):
    """A passage found, and how well it answers the query."""

    passage: Passage
    score: float


class Found(NamedTuple):
    """A term of a query and what finding it says: its rarity by BM25; 0 if it is all over the log."""

    term: Term
    rarity: float
    rows: dict[int, float]


class PassageIndex:
    """Finds passages of messages by the words of a free text; built when first searched."""

    __slots__ = ("_connection", "_parts", "_passages", "_waiting", "newest")

    def __init__(self) -> None:
        self.newest = -1
        self._connection: sqlite3.Connection | None = None
        self._passages: dict[int, Passage] = {}
        self._parts: dict[int, int] = {}
        self._waiting: list[tuple[Message, int]] = []

    def __len__(self) -> int:
        self._write()
        return len(self._passages)

    def add(self, message: Message, order: int) -> None:
        """Make the message at a position of the log findable; a position already added stays as it is."""
        if order < 0:
            raise ConfigError(f"`order` must be 0 or more, got {order!r}; it is the message's position in the log")
        if order not in self._parts:
            self._parts[order] = 0
            self._waiting.append((message, order))
            self.newest = max(self.newest, order)

    def passage(self, order: int, part: int) -> Passage | None:
        """The passage at a place, if there is one; a negative `part` counts from the end of the message."""
        parts = self.parts(order)
        return self._passages[order * _PARTS + part % parts] if -parts <= part < parts else None

    def parts(self, order: int) -> int:
        """How many passages the message at a position has."""
        self._write()
        return self._parts.get(order, 0)

    def search(
        self,
        query: str,
        *,
        limit: int = 20,
        before: int | None = None,
        among: Container[int] | None = None,
        roles: Container[str] | None = None,
        tools: Container[str] | None = None,
    ) -> list[Hit]:
        """The passages that answer a query best, by BM25; equally good ones in the order of the log."""
        found = self.find(query, before=before)
        return self.hits(found, limit=limit, among=among, roles=roles, tools=tools)

    def find(self, query: str, *, before: int | None = None) -> list[Found]:
        """The terms of a query that occur in the log, rarest first, with the rows they add a score to."""
        terms = terms_of(query)
        if not terms:
            return []
        self._write()
        if not self._passages:
            return []
        counted = sorted((self._count(term, _MOST_ROWS + 1), place, term) for place, term in enumerate(terms))
        found: list[Found] = []
        rows = 0
        for count, _, term in counted:
            rows += count
            if rows > _MOST_ROWS and found:
                break
            if count:
                found.append(self._scored(term, count, before))
        return found

    def hits(
        self,
        found: Iterable[Found],
        *,
        limit: int,
        among: Container[int] | None = None,
        roles: Container[str] | None = None,
        tools: Container[str] | None = None,
    ) -> list[Hit]:
        """The best passages by the terms found, of those that a caller wants to see."""
        scores: dict[int, float] = {}
        for one in found:
            for row, score in one.rows.items():
                scores[row] = scores.get(row, 0.0) + score
        hits: list[Hit] = []
        for row in sorted(scores, key=lambda row: (-scores[row], row)):
            if len(hits) >= limit:
                break
            passage = self._passages[row]
            if (
                (among is None or passage.order in among)
                and (roles is None or passage.role in roles)
                and (tools is None or (passage.tool is not None and passage.tool in tools))
            ):
                hits.append(Hit(passage, scores[row]))
        return hits

    def _count(self, term: Term, most: int) -> int:
        found = self._opened().execute(
            "SELECT count(*) FROM (SELECT 1 FROM passages WHERE passages MATCH ? LIMIT ?)", (term.expression, most)
        )
        count: int = found.fetchone()[0]
        return count

    def _scored(self, term: Term, count: int, before: int | None) -> Found:
        ranked = count <= _MOST_ROWS
        end = _LAST if before is None else before * _PARTS
        rows: list[tuple[int, float]] = (
            self._opened().execute(_RANKED if ranked else _NEWEST, (term.expression, end, _MOST_ROWS)).fetchall()
        )
        if not ranked:
            count = self._count(term, _LAST)
        total = len(self._passages)
        odds = (total - count + 0.5) / (count + 0.5)
        # SQLite's rarity is next to nothing for a term in half of the rows, which in a short log is every term.
        theirs = max(math.log(odds), 1e-6) if ranked else 1.0
        ours = math.log(1 + odds) * term.weight
        common = total >= _SMALL and count > total * _COMMON
        return Found(term, 0.0 if common else ours, {row: -rank / theirs * ours for row, rank in rows})

    def _write(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            insert = "INSERT INTO passages(rowid, words, hidden) VALUES (?, ?, ?)"
            self._opened().executemany(insert, self._rows(waiting))

    def _rows(self, waiting: list[tuple[Message, int]]) -> Iterator[tuple[int, str, str]]:
        for message, order in waiting:
            passages = passages_of(message, order)
            self._parts[order] = len(passages)
            for passage in passages:
                row = order * _PARTS + passage.part
                self._passages[row] = passage
                yield row, _storable(passage.text), _storable(hidden_words(passage.text))

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            # The caller decides which thread a session lives in; SQLite itself is safe in any.
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            try:
                connection.execute(
                    "CREATE VIRTUAL TABLE passages USING fts5(words, hidden, content='', "
                    "tokenize = 'porter unicode61 remove_diacritics 2')"
                )
            except sqlite3.OperationalError as error:
                raise ConfigError(
                    f"SQLite {sqlite3.sqlite_version} of this Python cannot search text ({error}); "
                    "use a Python whose SQLite has FTS5, or turn recall off"
                ) from error
            self._connection = connection
        return self._connection


def _storable(text: str) -> str:
    """The text without what UTF-8 cannot hold: half a surrogate pair, as JSON escapes may leave one."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")
