"""The index: full-text search over the passages of a log."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from foveate.errors import ConfigError
from foveate.log.messages import Message
from foveate.recall.embedding import blended
from foveate.recall.memory import MemoryPostings
from foveate.recall.passages import Passage
from foveate.recall.postings import PART_BITS, Postings
from foveate.recall.scoring import Found, Ranked, find, ranked, search
from foveate.recall.worth import POWER_BY_MEANING, Worthy, worthy

# The newest messages that are compared by meaning: each of them is, whatever words it has.
_COMPARED: Final = 10_000


class Hit(NamedTuple):
    """A passage found, and how well it answers the query."""

    passage: Passage
    score: float


class PassageIndex:
    """Finds passages of messages by the words of a free text: of those added, or of those that an engine holds."""

    __slots__ = ("_memory", "_postings")

    def __init__(self, postings: Postings | None = None) -> None:
        memory = MemoryPostings()
        self._memory = memory if postings is None else None
        self._postings: Postings = memory if postings is None else postings

    def __len__(self) -> int:
        return self._postings.statistics((), 0).passages

    @property
    def fills_itself(self) -> bool:
        """Whether somebody else adds the messages of the log, as a store does when it writes them."""
        return self._memory is None

    @property
    def newest(self) -> int:
        """The newest position of the log that has a passage; -1 if none has."""
        return self._postings.newest

    def add(self, message: Message, order: int) -> None:
        """Make the message at a position of the log findable; a position already added stays as it is."""
        if self._memory is None:
            raise ConfigError("`add` is for an index in memory; to this one a store adds what it writes")
        self._memory.add(message, order)

    def passages(self, orders: Iterable[int]) -> Mapping[int, Sequence[Passage]]:
        """The passages of the messages at positions of the log, without those that have none."""
        return self._postings.passages(orders)

    def passage(self, order: int, part: int) -> Passage | None:
        """The passage at a place, if there is one; a negative `part` counts from the end of the message."""
        passages = self._postings.passages((order,)).get(order, ())
        return passages[part] if -len(passages) <= part < len(passages) else None

    def parts(self, order: int) -> int:
        """How many passages the message at a position has."""
        return len(self._postings.passages((order,)).get(order, ()))

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
        chosen = search(
            self._postings, query, limit=limit, before=before, allowed=_among(among), wanted=_wanted(roles, tools)
        )
        return [Hit(one.passage, one.score) for one in chosen]

    def find(self, query: str, *, before: int | None = None) -> list[Found]:
        """The terms of a query that occur in the log, rarest first, with the rows to choose from."""
        return find(self._postings, query, before=before)

    def worthy(
        self,
        found: Sequence[Found],
        *,
        limit: int,
        may: Callable[[int], bool],
        close: Callable[[Mapping[int, Passage]], Mapping[int, float]] | None = None,
    ) -> list[Worthy]:
        """The messages that are most worth their length by the terms found; `may` says of which orders they may be.

        `close` says how close passages are in meaning to what is asked.
        """
        hits = ranked(self._postings, found, limit=limit, allowed=lambda rows: rows)
        if close is None:
            return worthy(self._postings, hits, allowed=lambda places: filter(may, places))
        orders = [order for order in range(max(0, self.newest + 1 - _COMPARED), self.newest + 1) if may(order)]
        known = {
            order << PART_BITS | one.part: one for order, some in self.passages(orders).items() for one in some
        } | {hit.row: hit.passage for hit in hits}
        meaning = close(known)
        nearest = set(sorted(meaning, key=lambda row: (-meaning[row], row))[:limit]) | {hit.row for hit in hits}
        scores = blended({hit.row: hit.score for hit in hits}, {row: meaning[row] for row in nearest})
        both = [Ranked(row, known[row], score) for row, score in scores.items()]
        return worthy(self._postings, both, allowed=lambda places: filter(may, places), power=POWER_BY_MEANING)


def _among(orders: Container[int] | None) -> Callable[[Sequence[int]], Iterable[int]]:
    """Which of some rows may be shown: those of messages at positions of the log."""
    return lambda rows: rows if orders is None else [row for row in rows if row >> PART_BITS in orders]


def _wanted(roles: Container[str] | None, tools: Container[str] | None) -> Callable[[Passage], bool]:
    """Which passages are wanted, by who said them and by the tool that they are of."""
    return lambda passage: (
        (roles is None or passage.role in roles)
        and (tools is None or (passage.tool is not None and passage.tool in tools))
    )
