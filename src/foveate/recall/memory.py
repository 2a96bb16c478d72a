"""Postings in memory: SQLite's full-text index of a log that is not stored, built when first searched."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from foveate.errors import ConfigError
from foveate.log.messages import Message
from foveate.recall import fts5
from foveate.recall.passages import Passage, passages_of
from foveate.recall.postings import PART_BITS, Statistics
from foveate.recall.terms import Term
from foveate.recall.tokens import tokens_of

_LAST: Final = 2**63 - 1
_COUNT: Final = "SELECT count(*) FROM (SELECT 1 FROM passages WHERE passages MATCH ? LIMIT ?)"
_NEWEST: Final = "SELECT rowid FROM passages WHERE passages MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?"


class MemoryPostings:
    """The passages of messages added one by one."""

    __slots__ = ("_connection", "_known", "_newest", "_passages", "_total", "_waiting", "_words")

    def __init__(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._known: set[int] = set()
        self._newest = -1
        self._passages: dict[int, list[Passage]] = {}
        self._total = 0
        self._waiting: list[tuple[Message, int]] = []
        self._words: dict[int, int] = {}

    def add(self, message: Message, order: int) -> None:
        """Make the message at a position of the log findable; a position already added stays as it is."""
        if order < 0:
            raise ConfigError(f"`order` must be 0 or more, got {order!r}; it is the message's position in the log")
        if order not in self._known:
            self._known.add(order)
            self._waiting.append((message, order))

    @property
    def is_open(self) -> bool:
        """Whether there was a reason yet to open a database."""
        return self._connection is not None

    @property
    def newest(self) -> int:
        """The newest position of the log that has a passage; -1 if none has."""
        self._write()
        return self._newest

    def statistics(self, terms: Sequence[Term], most: int) -> Statistics:
        """Counts over all passages; of those that have a term no more than `most` are counted."""
        self._write()
        if not self._words:
            return Statistics(0, 0, [0] * len(terms))
        execute = self._opened().execute
        having = [execute(_COUNT, (fts5.match([term]), most)).fetchone()[0] for term in terms]
        return Statistics(len(self._words), self._total, having)

    def rows(self, wanted: Sequence[Sequence[Term]], *, before: int | None, most: int) -> list[dict[int, int]]:
        """For each combination of terms the rows that have them all, with their words: the newest `most` of them."""
        self._write()
        execute = self._opened().execute
        end = _LAST if before is None else before << PART_BITS
        found = [execute(_NEWEST, (fts5.match(terms), end, most)).fetchall() for terms in wanted]
        return [{row: self._words[row] for (row,) in rows} for rows in found]

    def passages(self, orders: Iterable[int]) -> Mapping[int, Sequence[Passage]]:
        """The passages of the messages at positions of the log, without those that have none."""
        self._write()
        return {order: self._passages[order] for order in orders if order in self._passages}

    def _write(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            insert = "INSERT INTO passages(rowid, words, hidden) VALUES (?, ?, ?)"
            self._opened().executemany(insert, self._written(waiting))

    def _written(self, waiting: list[tuple[Message, int]]) -> Iterator[tuple[int, str, str]]:
        for message, order in waiting:
            passages = passages_of(message, order)
            if passages:
                self._passages[order] = passages
                self._newest = max(self._newest, order)
            for passage in passages:
                row = order << PART_BITS | passage.part
                tokens = tokens_of(passage.text)
                self._words[row] = tokens.length
                self._total += tokens.length
                yield row, *fts5.columns(tokens)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            # The caller decides which thread a session lives in; SQLite itself is safe in any.
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            try:
                connection.execute(f"CREATE VIRTUAL TABLE passages USING fts5({fts5.OPTIONS})")
            except sqlite3.OperationalError as error:
                raise ConfigError(
                    f"SQLite {sqlite3.sqlite_version} of this Python cannot search text ({error}); "
                    "use a Python whose SQLite has FTS5, or turn recall off"
                ) from error
            self._connection = connection
        return self._connection
