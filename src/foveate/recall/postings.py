"""Postings: what an engine of search must know of the passages it holds; how well they answer is not its business."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from foveate.recall.passages import Passage
from foveate.recall.terms import Term

# A row's number is its place in the log, so that `before` is a range of rows and ties fall in order of time.
PART_BITS: Final = 9


class Statistics(NamedTuple):
    """How many passages and words there are, and how many of the passages have each term asked for."""

    passages: int
    words: int
    having: Sequence[int]


class Postings(Protocol):
    """The passages that can be found, by rows; a row is `order << PART_BITS | part`."""

    @property
    def newest(self) -> int:
        """The newest position of the log that has a passage; -1 if none has."""
        ...

    def statistics(self, terms: Sequence[Term], most: int) -> Statistics:
        """Counts over all passages; of those that have a term no more than `most` are counted."""
        ...

    def rows(self, wanted: Sequence[Sequence[Term]], *, before: int | None, most: int) -> Sequence[Mapping[int, int]]:
        """For each combination of terms the rows that have them all, with their words: the newest `most` of them."""
        ...

    def passages(self, orders: Iterable[int]) -> Mapping[int, Sequence[Passage]]:
        """The passages of the messages at positions of the log, without those that have none."""
        ...
