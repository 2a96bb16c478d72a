"""The query: which nodes fit tags and words best, of however many there are.

A tag counts more than any word, a rare one more than a common one, and what is new a little more than what is old. Not
all nodes are looked at: of each term the newest that have it, and older ones if they have most of the rarest terms that
are asked for. What is looked at is scored in full.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest, nsmallest
from itertools import accumulate, islice
from typing import Any, Final, NamedTuple, get_args

from sqlalchemy import Connection, Row

from foveate.errors import ConfigError
from foveate.knowledge import graph
from foveate.knowledge.checked import day_of
from foveate.knowledge.models import Node, NodeType
from foveate.knowledge.project import Project
from foveate.knowledge.terms import tag_term, word_terms
from foveate.store.search_lists import (
    TermList,
    choose_lists,
    count_terms,
    day_at,
    newest_places,
    number_at,
    sum_weights,
)

TYPES: Final[tuple[NodeType, ...]] = get_args(NodeType)
_TAG_FIELDS: Final = frozenset(map(graph.tag_field, TYPES))
TAG: Final = 2.0
RECENT: Final = 0.5
HALF_LIFE: Final = 90
"""Days after which being new counts half."""

_NEWEST: Final = 200
_TAG_ROWS: Final = 600
_WORD_ROWS: Final = 400
# A pasted text has hundreds of words; the rarest of them say what it is about.
_MOST_LISTS: Final = 32
_MOST_TERMS: Final = 500
# So many more than are wanted are scored in full: what the index says of a node may be less than all. And never fewer
# than this, so that who wants few nodes gets the first of those that who wants many gets.
_REFINED: Final = 30
_LEAST: Final = 80
# To find those that have several of the rarest terms, the lists of so many terms are read whole, if they have so many
# rows together, and so many of these nodes are kept.
_TOGETHER: Final = 6
_WHOLE_ROWS: Final = 12_000
_MOST_JOINT: Final = 40


class Scored(NamedTuple):
    """A node, how well it fits, and which of the tags and words asked for it has."""

    node: Node
    score: float
    matched: tuple[str, ...]


class Asked(NamedTuple):
    """What is asked for: stems of tags and of words, each with how it was written."""

    tags: Mapping[str, str]
    words: Mapping[str, str]


class _Weights(NamedTuple):
    tags: Mapping[str, float]
    words: Mapping[str, float]


class _Hit(NamedTuple):
    score: float
    day: int
    row: Row[Any]
    matched: list[str]


def asked(tags: Iterable[str], words: Iterable[str]) -> Asked:
    """What tags and words ask for; of those that are the same the first."""
    by_tag: dict[str, str] = {}
    by_word: dict[str, str] = {}
    for tag in tags:
        by_tag.setdefault(tag_term(tag), tag)
    for word in words:
        for term in word_terms(word):
            by_word.setdefault(term, word)
    by_tag.pop("", None)
    return Asked(dict(islice(by_tag.items(), _MOST_TERMS)), dict(islice(by_word.items(), _MOST_TERMS)))


def best(
    connection: Connection,
    project: Project,
    wanted: Asked,
    *,
    types: Collection[NodeType],
    limit: int,
    today: str | None,
) -> list[Scored]:
    """The nodes that fit best; of equals the newer first, then by id."""
    unknown = sorted(set(types) - set(TYPES))
    if unknown:
        raise ConfigError(f"`types` has {unknown[0]!r}; known are {', '.join(TYPES)}")
    now = day_of(today or "", field="`today`")
    known = count_terms(connection, project.key, wanted.tags.keys() | wanted.words.keys())
    weights = _weights(known, wanted, project.nodes)
    lists = _lists(known, weights, types or TYPES)
    days = _candidates(connection, project, lists, now, max(limit + _REFINED, _LEAST))
    days |= _joint(connection, project, _rarest(known, weights, types or TYPES))
    hits = _refined(graph.rows(connection, project.key, days), days, wanted, weights, now)
    return [Scored(graph.node_of(hit.row), hit.score, tuple(dict.fromkeys(hit.matched))) for hit in hits[:limit]]


def _weights(known: Mapping[tuple[str, str], int], wanted: Asked, total: int) -> _Weights:
    """What each term counts, those left out that no node has, whatever its type."""
    tags: dict[str, int] = dict.fromkeys(wanted.tags, 0)
    words: dict[str, int] = dict.fromkeys(wanted.words, 0)
    for (term, field), count in known.items():
        counts = tags if field in _TAG_FIELDS else words
        if term in counts:
            counts[term] += count
    return _Weights(
        {term: TAG + _rarity(count, total) for term, count in tags.items() if count},
        {term: _rarity(count, total) for term, count in words.items() if count},
    )


def _rarity(count: int, total: int) -> float:
    """From 1, for what one node alone has, towards 0, for what all have."""
    return math.log(1 + max(total, count) / count) / math.log(1 + max(total, count))


def _lists(known: Mapping[tuple[str, str], int], weights: _Weights, types: Collection[NodeType]) -> list[TermList]:
    """The lists of the index to read; those of tags have their own share, so that rare words do not crowd them out."""
    return [
        *_chosen(known, weights.tags, frozenset(map(graph.tag_field, types)), _TAG_ROWS),
        *_chosen(known, weights.words, frozenset(map(graph.word_field, types)), _WORD_ROWS),
    ]


def _chosen(
    known: Mapping[tuple[str, str], int], weights: Mapping[str, float], fields: Collection[str], most: int
) -> Iterator[TermList]:
    lists = (
        TermList(term, field, count, weights[term])
        for (term, field), count in known.items()
        if field in fields and term in weights
    )
    return choose_lists(lists, newest=_NEWEST, most_lists=_MOST_LISTS, most_rows=most)


def _candidates(
    connection: Connection, project: Project, lists: Sequence[TermList], now: int, most: int
) -> dict[int, int]:
    """The numbers of the nodes that are best by what the index says of them, each with its day."""
    scores = sum_weights(connection, project.key, lists, newest=_NEWEST)
    # What is new counts only so much more, so that most need not be looked at any closer.
    least = min(nlargest(most, scores.values()), default=0.0) - RECENT
    near = [
        (round(score + _recency(day_at(place), now), 9), day_at(place), place)
        for place, score in scores.items()
        if score >= least
    ]
    # Those that are equal to the last are kept too: which of them is first by its id the index does not know.
    last = min(nlargest(most, near), default=(0.0, 0, 0))[:2]
    return {number_at(place): day for score, day, place in near if (score, day) >= last}


def _rarest(known: Mapping[tuple[str, str], int], weights: _Weights, types: Collection[NodeType]) -> list[TermList]:
    """The lists of the rarest tags and words of each type, as far as they can be read whole."""
    rarest: list[TermList] = []
    for field_of, counted in ((graph.tag_field, weights.tags), (graph.word_field, weights.words)):
        for field in map(field_of, types):
            lists = (TermList(term, field, known[term, field]) for term in counted if (term, field) in known)
            some = nsmallest(_TOGETHER, lists, key=_size)
            # Short ones are read anyway.
            rarest += some if some and some[-1].size > _NEWEST else ()
    rarest.sort(key=_size)
    rows = accumulate(one.size for one in rarest)
    return [one for one, total in zip(rarest, rows, strict=True) if total <= _WHOLE_ROWS]


def _joint(connection: Connection, project: Project, lists: Sequence[TermList]) -> dict[int, int]:
    """The nodes that have most of the rarest terms, and of equals the newest, each with its day."""
    times: dict[str, Counter[int]] = defaultdict(Counter)
    for one, places in zip(lists, newest_places(connection, project.key, lists, _WHOLE_ROWS), strict=True):
        times[one.field].update(places)
    having = ((count, place) for counted in times.values() for place, count in counted.items() if count > 1)
    return {number_at(place): day_at(place) for _, place in nlargest(_MOST_JOINT, having)}


def _refined(
    rows: Iterable[Row[Any]], days: Mapping[int, int], wanted: Asked, weights: _Weights, now: int
) -> list[_Hit]:
    """The candidates scored in full, best first."""
    tags = [(f" {term} ", weight, wanted.tags[term]) for term, weight in weights.tags.items()]
    words = [(f" {term} ", weight, wanted.words[term]) for term, weight in weights.words.items()]
    hits: list[_Hit] = []
    for row in rows:
        day, has_tags, has_words = days[row.number], row.tag_terms, row.word_terms
        matched = [one for one in tags if one[0] in has_tags] + [one for one in words if one[0] in has_words]
        score = sum([weight for _, weight, _ in matched]) + _recency(day, now)
        hits.append(_Hit(score, day, row, [written for _, _, written in matched]))
    return sorted(hits, key=lambda hit: (-hit.score, -hit.day, hit.row.node))


def _recency(day: int, now: int) -> float:
    return RECENT * 0.5 ** (max(now - day, 0) / HALF_LIFE) if day and now else 0.0


def _size(wanted: TermList) -> tuple[int, str, str]:
    return wanted.size, wanted.term, wanted.field
