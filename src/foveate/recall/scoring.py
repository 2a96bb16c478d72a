"""Scoring: which passages answer a query best, by BM25, the same for every engine.

In two phases. The engine says which passages have a term, and how long they are: enough for a first order. How often a
term is said is counted in the texts of the first few hundred. How rare a term is depends on what is searched and on
nothing else that an engine may hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from foveate.recall.passages import Passage
from foveate.recall.postings import PART_BITS, Postings, Statistics
from foveate.recall.terms import Tally, Term, terms_of

_K1: Final = 0.9
_B: Final = 0.75
# Rare terms decide a ranking; the common ones are looked up only while that costs little.
_MOST_ROWS: Final = 2_000
# If all are common, so many of them are looked up beside the rarest.
_COMPANIONS: Final = 7
# What is in so many passages is common, however many there are.
_MOST_COUNTED: Final = 100_000
_REFINED: Final = 128
# Below this many passages a share says nothing about how common a term is.
_SMALL: Final = 40
_COMMON: Final = 0.5
# How often older places of common words are looked up if filters leave too few.
_STRETCHES: Final = 20


class Found(NamedTuple):
    """A term of a query and where it is; its rarity is 0 if it is all over the log.

    `rows` have what the length of each passage takes from a score; they are not all rows unless `complete`.
    """

    term: Term
    rarity: float
    weight: float
    rows: Mapping[int, float]
    complete: bool


class Ranked(NamedTuple):
    """A passage found at a row, and how well it answers the query."""

    row: int
    passage: Passage
    score: float


def find(postings: Postings, query: str, *, before: int | None = None) -> list[Found]:
    """The terms of a query that occur in what is searched, rarest first, with the rows to choose from."""
    terms = terms_of(query)
    if not terms:
        return []
    statistics = postings.statistics(terms, _MOST_COUNTED)
    counted = sorted((count, place) for place, count in enumerate(statistics.having) if count)
    if not counted:
        return []
    listed, complete = _looked_up([count for count, _ in counted])
    ordered = [terms[place] for _, place in counted]
    wanted = [(term,) if complete or not place else (ordered[0], term) for place, term in enumerate(ordered[:listed])]
    rows = list(postings.rows(wanted, before=before, most=_MOST_ROWS))
    if not complete:
        rows[0] = {row: words for some in rows for row, words in some.items()}
    rows += [{} for _ in ordered[listed:]]
    return [
        _weighed(term, count, some, statistics, complete=complete and place < listed)
        for place, (term, (count, _), some) in enumerate(zip(ordered, counted, rows, strict=True))
    ]


def search(
    postings: Postings,
    query: str,
    *,
    limit: int,
    before: int | None = None,
    allowed: Callable[[Sequence[int]], Iterable[int]] = lambda rows: rows,
    wanted: Callable[[Passage], bool] = lambda _passage: True,
) -> list[Ranked]:
    """The passages that answer a query best, whatever holds them; `allowed` and `wanted` as for `ranked`."""
    chosen: list[Ranked] = []
    for _ in range(_STRETCHES):
        found = find(postings, query, before=before)
        chosen += ranked(postings, found, limit=limit, allowed=allowed, wanted=wanted)
        # Of common words only the newest places are looked up: if filters leave too few of them, older ones follow.
        rows = [row for one in found for row in one.rows]
        if len(chosen) >= limit or not rows or all(one.complete for one in found if one.rows):
            break
        before = min(rows) >> PART_BITS
    return _best(chosen, limit)


def ranked(
    postings: Postings,
    found: Sequence[Found],
    *,
    limit: int,
    allowed: Callable[[Sequence[int]], Iterable[int]],
    wanted: Callable[[Passage], bool] = lambda _passage: True,
) -> list[Ranked]:
    """The best passages by the terms found, equally good ones in the order of the log.

    `allowed` says which of some rows may be shown, before their texts are fetched, `wanted` what is wanted of those.
    """
    scores: dict[int, float] = {}
    lengths: dict[int, float] = {}
    for one in found:
        for row, length in one.rows.items():
            lengths[row] = length
            scores[row] = scores.get(row, 0.0) + one.weight / (1 + length)
    best = sorted(scores, key=lambda row: (-scores[row], row))
    chosen: list[Ranked] = []
    waiting: list[int] = []
    for start in range(0, len(best), _REFINED):
        if len(chosen) >= limit:
            break
        some = best[start : start + _REFINED]
        may = set(allowed(some))
        waiting += [row for row in some if row in may]
        if len(waiting) >= _REFINED or start + _REFINED >= len(best):
            passages = _fetched(postings, waiting, wanted)
            # Those that come later would not come first, however often they say it.
            counted = _counted(found, lengths, passages) if len(chosen) < _REFINED else scores
            chosen += [Ranked(row, passage, counted[row]) for row, passage in passages.items()]
            waiting = []
    return _best(chosen, limit)


def _best(chosen: Iterable[Ranked], limit: int) -> list[Ranked]:
    return sorted(chosen, key=lambda one: (-one.score, one.row))[:limit]


def _looked_up(counts: Sequence[int]) -> tuple[int, bool]:
    """How many of the terms, rarest first, are looked up, and whether all of their rows are."""
    if counts[0] > _MOST_ROWS:
        return min(len(counts), 1 + _COMPANIONS), False
    rows = 0
    for place, count in enumerate(counts):
        rows += count
        if rows > _MOST_ROWS and place:
            return place, True
    return len(counts), True


def _weighed(term: Term, count: int, rows: Mapping[int, int], among: Statistics, *, complete: bool) -> Found:
    rarity = math.log(1 + (among.passages - count + 0.5) / (count + 0.5)) * term.weight
    common = count >= _MOST_COUNTED or (among.passages >= _SMALL and count > among.passages * _COMMON)
    mean = among.words / among.passages or 1.0
    lengths = {row: _K1 * (1 - _B + _B * words / mean) for row, words in rows.items()}
    return Found(term, 0.0 if common else rarity, rarity * (_K1 + 1), lengths, complete)


def _fetched(postings: Postings, rows: Sequence[int], wanted: Callable[[Passage], bool]) -> dict[int, Passage]:
    cut = postings.passages(dict.fromkeys(row >> PART_BITS for row in rows))
    last = (1 << PART_BITS) - 1
    # Messages may have been cut otherwise when they were indexed, so a part may be missing.
    found = {row: cut.get(row >> PART_BITS, ())[row & last : (row & last) + 1] for row in rows}
    return {row: passage for row, passages in found.items() for passage in passages if wanted(passage)}


def _counted(found: Sequence[Found], lengths: Mapping[int, float], passages: Mapping[int, Passage]) -> dict[int, float]:
    """The scores of passages with their terms counted in the text."""
    tally = Tally(one.term for one in found)
    scores: dict[int, float] = {}
    for row, passage in passages.items():
        length = lengths[row]
        known = [row in one.rows for one in found]
        scores[row] = sum(
            one.weight * times / (times + length)
            for one, is_known, times in zip(found, known, tally(passage.text, known), strict=True)
            if is_known or not one.complete
        )
    return scores
