"""Search in lists of terms: from a term in a field to the newest things that have it, without reading all of them.

It stands beside the full-text engines, for short things with fields that must be found in milliseconds among any
number of them. Stems and stop words are the same. How well a thing fits is decided by its owner; here it is the sum of
what its terms count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, delete, text

from foveate.store.engine import insert_rows
from foveate.store.schema import knowledge_postings as postings
from foveate.store.schema import knowledge_terms as terms

_CHUNK: Final = 20_000
_NUMBER_BITS: Final = 40
NUMBER_MASK: Final = (1 << _NUMBER_BITS) - 1
"""The bits of a place that are the number of what is there."""
_NONE: Final[frozenset[int]] = frozenset()
_OLD: Final = tuple(f"old_{column.name}" for column in postings.columns)
_REMOVE: Final = delete(postings).where(
    *(column == bindparam(name) for name, column in zip(_OLD, postings.columns, strict=True))
)
# In one statement: of many rows this takes a tenth of the time.
_INSERT_POSTGRESQL: Final = text(
    "INSERT INTO knowledge_postings (project, term, field, place) SELECT :project, * FROM unnest("
    "CAST(:terms AS text[]), CAST(:fields AS text[]), CAST(:places AS bigint[]))"
)
_ADDED: Final = (
    "ON CONFLICT (project, term, field) DO UPDATE SET postings = knowledge_terms.postings + excluded.postings"
)
_COUNT_SQLITE: Final = text(
    "INSERT INTO knowledge_terms (project, term, field, postings) "  # noqa: S608  all values are bound
    f"VALUES (:project, :term, :field, :postings) {_ADDED}"
)
_COUNT_POSTGRESQL: Final = text(
    "INSERT INTO knowledge_terms (project, term, field, postings) SELECT :project, * FROM unnest("  # noqa: S608  as above
    f"CAST(:term AS text[]), CAST(:field AS text[]), CAST(:postings AS bigint[])) {_ADDED}"
)
_UNCOUNT: Final = delete(terms).where(
    *(terms.c[name] == bindparam(f"old_{name}") for name in ("project", "term", "field")), terms.c.postings <= 0
)
# All in one statement, and all of an answer in one value: what is slow here is to ask, and to take rows one by one.
_COUNTS_SQLITE: Final = text(
    "SELECT json_group_array(json_array(term, field, postings)) FROM knowledge_terms "
    "WHERE project = :project AND term IN (SELECT value FROM json_each(:terms))"
)
_COUNTS_POSTGRESQL: Final = text(
    "SELECT CAST(json_agg(json_build_array(term, field, postings)) AS text) FROM knowledge_terms "
    "WHERE project = :project AND term = ANY(CAST(:terms AS text[]))"
)
_NEWEST: Final = (
    "SELECT place FROM knowledge_postings WHERE project = :project AND term = {term} AND field = {field} "
    "ORDER BY place DESC LIMIT :most"
)
_NEWEST_SQLITE: Final = text(
    "SELECT (SELECT json_group_array(place) FROM ("  # noqa: S608  all values are bound
    + _NEWEST.format(term="json_extract(given.value, '$[0]')", field="json_extract(given.value, '$[1]')")
    + ")) FROM json_each(:wanted) AS given ORDER BY given.key"
)
_NEWEST_POSTGRESQL: Final = text(
    "SELECT (SELECT CAST(json_agg(place) AS text) FROM ("  # noqa: S608  all values are bound
    + _NEWEST.format(term="given.value ->> 0", field="given.value ->> 1")
    + ") AS newest) FROM json_array_elements(CAST(:wanted AS json)) WITH ORDINALITY AS given (value, place) "
    "ORDER BY place"
)
_lists: Final = msgspec.json.Decoder(list[int])
_counted: Final = msgspec.json.Decoder(list[tuple[str, str, int]])


class Posting(NamedTuple):
    """That what is at a place has a term in a field."""

    term: str
    field: str
    place: int


class TermList(NamedTuple):
    """The things that have a term in a field: how many these are, and what having it counts."""

    term: str
    field: str
    size: int
    weight: float = 0.0


def place_of(day: int, number: int) -> int:
    """The place of what has a number and is of a day; what is newer has the greater one."""
    return day << _NUMBER_BITS | number


def number_at(place: int) -> int:
    """The number of what is at a place."""
    return place & NUMBER_MASK


def day_at(place: int) -> int:
    """The day of what is at a place."""
    return place >> _NUMBER_BITS


def replace_postings(connection: Connection, owner: int, gone: Iterable[Posting], new: Iterable[Posting]) -> None:
    """Take postings of an owner out, put others in, and count them."""
    were, are = _grouped(gone), _grouped(new)
    removed: list[tuple[Any, ...]] = []
    added: list[tuple[Any, ...]] = []
    more: list[dict[str, Any]] = []
    # In the order of the index, which is how it grows fastest.
    for key in sorted(were.keys() | are.keys()):
        out, into = were.get(key, _NONE) - are.get(key, _NONE), are.get(key, _NONE) - were.get(key, _NONE)
        removed += [(owner, *key, place) for place in sorted(out)]
        added += [(owner, *key, place) for place in sorted(into)]
        if len(into) != len(out):
            more.append({"project": owner, "term": key[0], "field": key[1], "postings": len(into) - len(out)})
    if removed:
        connection.execute(_REMOVE, [dict(zip(_OLD, row, strict=True)) for row in removed])
    for start in range(0, len(added), _CHUNK):
        _insert(connection, owner, added[start : start + _CHUNK])
    if more:
        _count(connection, owner, more)
    fewer = [one for one in more if one["postings"] < 0]
    if fewer:
        connection.execute(_UNCOUNT, [{f"old_{name}": value for name, value in one.items()} for one in fewer])


def count_terms(connection: Connection, owner: int, wanted: Collection[str]) -> dict[tuple[str, str], int]:
    """How many things have each of some terms, for each field."""
    if not wanted:
        return {}
    is_server = connection.dialect.name == "postgresql"
    terms = sorted(wanted) if is_server else msgspec.json.encode(sorted(wanted)).decode()
    statement = _COUNTS_POSTGRESQL if is_server else _COUNTS_SQLITE
    found = connection.execute(statement, {"project": owner, "terms": terms}).scalar()
    return {(term, field): count for term, field, count in _counted.decode(found or "[]")}


def choose_lists(lists: Iterable[TermList], *, newest: int, most_lists: int, most_rows: int) -> Iterator[TermList]:
    """Short lists first, then those that count most: as many as have so many rows together, `newest` of each."""
    rows = 0
    order = sorted(lists, key=lambda one: (min(one.size, newest), -one.weight, one.term, one.field))
    for one in order[:most_lists]:
        rows += min(one.size, newest)
        if rows > most_rows:
            return
        yield one


def sum_weights(connection: Connection, owner: int, lists: Sequence[TermList], *, newest: int) -> dict[int, float]:
    """What the newest places of some lists count together, list by list."""
    scores: dict[int, float] = {}
    for one, places in zip(lists, newest_places(connection, owner, lists, newest), strict=True):
        for place in places:
            scores[place] = scores.get(place, 0.0) + one.weight
    return scores


def newest_places(connection: Connection, owner: int, wanted: Sequence[TermList], most: int) -> list[list[int]]:
    """For each list the places of the newest things in it, at most so many."""
    if not wanted:
        return []
    statement = _NEWEST_POSTGRESQL if connection.dialect.name == "postgresql" else _NEWEST_SQLITE
    asked = msgspec.json.encode([(one.term, one.field) for one in wanted]).decode()
    rows = connection.execute(statement, {"project": owner, "most": most, "wanted": asked}).scalars()
    return [_lists.decode(row) if row else [] for row in rows]


def _insert(connection: Connection, owner: int, rows: list[tuple[Any, ...]]) -> None:
    if connection.dialect.name != "postgresql":
        insert_rows(connection, postings, rows)
        return
    _, terms, fields, places = map(list, zip(*rows, strict=True))
    given = {"project": owner, "terms": terms, "fields": fields, "places": places}
    connection.execute(_INSERT_POSTGRESQL, given)


def _count(connection: Connection, owner: int, more: list[dict[str, Any]]) -> None:
    if connection.dialect.name != "postgresql":
        connection.execute(_COUNT_SQLITE, more)
        return
    columns = {name: [one[name] for one in more] for name in ("term", "field", "postings")}
    connection.execute(_COUNT_POSTGRESQL, {"project": owner, **columns})


def _grouped(given: Iterable[Posting]) -> dict[tuple[str, str], set[int]]:
    grouped: dict[tuple[str, str], set[int]] = {}
    for term, field, place in given:
        grouped.setdefault((term, field), set()).add(place)
    return grouped
