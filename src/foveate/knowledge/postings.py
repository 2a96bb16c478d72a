"""Postings: from a term to the newest things that have it, without reading all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, delete, text

from foveate.knowledge.project import Change
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


class Wanted(NamedTuple):
    """The things that have a term in a field, and how many these are."""

    term: str
    field: str
    size: int


def place_of(day: int, number: int) -> int:
    """The place of what has a number and is of a day; what is newer has the greater one."""
    return day << _NUMBER_BITS | number


def number_at(place: int) -> int:
    """The number of what is at a place."""
    return place & NUMBER_MASK


def day_at(place: int) -> int:
    """The day of what is at a place."""
    return place >> _NUMBER_BITS


def changed(change: Change, gone: Iterable[Posting], new: Iterable[Posting]) -> None:
    """Take postings out and put others in, and count them."""
    were, are = _grouped(gone), _grouped(new)
    removed: list[tuple[Any, ...]] = []
    added: list[tuple[Any, ...]] = []
    more: list[dict[str, Any]] = []
    # In the order of the index, which is how it grows fastest.
    for key in sorted(were.keys() | are.keys()):
        out, into = were.get(key, _NONE) - are.get(key, _NONE), are.get(key, _NONE) - were.get(key, _NONE)
        removed += [(change.key, *key, place) for place in sorted(out)]
        added += [(change.key, *key, place) for place in sorted(into)]
        if len(into) != len(out):
            more.append(change.row(term=key[0], field=key[1], postings=len(into) - len(out)))
    if removed:
        change.connection.execute(_REMOVE, [dict(zip(_OLD, row, strict=True)) for row in removed])
    for start in range(0, len(added), _CHUNK):
        _insert(change, added[start : start + _CHUNK])
    if more:
        _count(change, more)
    fewer = [one for one in more if one["postings"] < 0]
    if fewer:
        change.connection.execute(_UNCOUNT, [{f"old_{name}": value for name, value in one.items()} for one in fewer])


def counts(connection: Connection, project: int, wanted: Collection[str]) -> dict[tuple[str, str], int]:
    """How many things have each of some terms, for each field."""
    if not wanted:
        return {}
    is_server = connection.dialect.name == "postgresql"
    terms = sorted(wanted) if is_server else msgspec.json.encode(sorted(wanted)).decode()
    statement = _COUNTS_POSTGRESQL if is_server else _COUNTS_SQLITE
    found = connection.execute(statement, {"project": project, "terms": terms}).scalar()
    return {(term, field): count for term, field, count in _counted.decode(found or "[]")}


def newest(connection: Connection, project: int, wanted: Sequence[Wanted], most: int) -> list[list[int]]:
    """For each term and field the places of the newest things that have it, at most so many."""
    if not wanted:
        return []
    statement = _NEWEST_POSTGRESQL if connection.dialect.name == "postgresql" else _NEWEST_SQLITE
    asked = msgspec.json.encode([(one.term, one.field) for one in wanted]).decode()
    rows = connection.execute(statement, {"project": project, "most": most, "wanted": asked}).scalars()
    return [_lists.decode(row) if row else [] for row in rows]


def _insert(change: Change, rows: list[tuple[Any, ...]]) -> None:
    if change.connection.dialect.name != "postgresql":
        insert_rows(change.connection, postings, rows)
        return
    _, terms, fields, places = map(list, zip(*rows, strict=True))
    given = {"project": change.key, "terms": terms, "fields": fields, "places": places}
    change.connection.execute(_INSERT_POSTGRESQL, given)


def _count(change: Change, more: list[dict[str, Any]]) -> None:
    if change.connection.dialect.name != "postgresql":
        change.connection.execute(_COUNT_SQLITE, more)
        return
    columns = {name: [one[name] for one in more] for name in ("term", "field", "postings")}
    change.connection.execute(_COUNT_POSTGRESQL, {"project": change.key, **columns})


def _grouped(given: Iterable[Posting]) -> dict[tuple[str, str], set[int]]:
    grouped: dict[tuple[str, str], set[int]] = {}
    for term, field, place in given:
        grouped.setdefault((term, field), set()).add(place)
    return grouped
