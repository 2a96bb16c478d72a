"""Places: the entries of a project's map, by location, and those that a task may be about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, or_, select, update

from foveate.knowledge import postings
from foveate.knowledge.checked import plain
from foveate.knowledge.models import MapEntry
from foveate.knowledge.postings import Posting, Wanted
from foveate.knowledge.project import Change
from foveate.knowledge.terms import spaced, word_terms
from foveate.store.schema import map_entries

_FIELD: Final = "map"
_CHUNK: Final = 500
# So many entries that have a common word are looked at, and so many for all words.
_NEWEST: Final = 1_000
_MOST_ROWS: Final = 3_000
_MOST_LISTS: Final = 64
_MOST_TERMS: Final = 500
_UPDATE: Final = (
    update(map_entries)
    .where(map_entries.c.project == bindparam("old_project"), map_entries.c.number == bindparam("old_number"))
    .values({name: bindparam(f"new_{name}") for name in ("component", "notes", "word_terms")})
)


def put(change: Change, given: Iterable[MapEntry]) -> None:
    """Add entries, or put them in the place of those that have their location; they are checked already."""
    wanted = {entry.location: entry for entry in given}
    old = {row.location: row for row in _at(change.connection, change.key, list(wanted))}
    gone: list[Posting] = []
    new: list[Posting] = []
    added: list[dict[str, Any]] = []
    updated: list[dict[str, Any]] = []
    for location, entry in wanted.items():
        terms = word_terms(f"{entry.component} {location} {entry.notes}")
        values = {"component": entry.component, "notes": entry.notes, "word_terms": spaced(terms)}
        row = old.get(location)
        number = change.number("entry") if row is None else row.number
        new += _postings(number, terms)
        if row is None:
            added.append(change.row(number=number, location=location, **values))
        else:
            gone += _postings(number, row.word_terms.split())
            changes = {f"new_{name}": value for name, value in values.items()}
            updated.append({"old_project": change.key, "old_number": number, **changes})
    postings.changed(change, gone, new)
    change.written += len(wanted)
    if added:
        change.connection.execute(insert(map_entries), added)
    if updated:
        change.connection.execute(_UPDATE, updated)


def remove(change: Change, prefix: str) -> int:
    """Take away the entries at a path, at lines of it, or under it; all of them for an empty one."""
    location = map_entries.c.location
    # Not LIKE, which is blind to case on one engine.
    under = or_(
        location == prefix,
        *(func.substr(location, 1, len(start)) == start for start in _starts(prefix)),
    )
    where = (map_entries.c.project == change.key) & under
    rows = change.connection.execute(select(map_entries.c.number, map_entries.c.word_terms).where(where)).all()
    postings.changed(change, (one for row in rows for one in _postings(row.number, row.word_terms.split())), ())
    change.connection.execute(delete(map_entries).where(where))
    return len(rows)


def every(connection: Connection, project: int) -> list[MapEntry]:
    """All entries, in the order they were added."""
    rows = connection.execute(
        select(map_entries).where(map_entries.c.project == project).order_by(map_entries.c.number)
    )
    return [_entry(row) for row in rows]


def at(connection: Connection, project: int, locations: Sequence[str]) -> dict[str, MapEntry]:
    """The entries at some locations."""
    return {row.location: _entry(row) for row in _at(connection, project, locations)}


def sharing(connection: Connection, project: int, terms: Iterable[str], *, limit: int) -> list[MapEntry]:
    """The entries that have most of the terms, rare ones counting more; of a common one only the newest."""
    # Who gives stems already must not have them shortened again.
    stems = dict.fromkeys(stem for term in terms for stem in (plain(term).lower(), *word_terms(term)))
    found = postings.counts(connection, project, list(stems)[:_MOST_TERMS])
    lists = sorted((Wanted(term, field, count) for (term, field), count in found.items() if field == _FIELD), key=_cost)
    rows = 0
    chosen: list[Wanted] = []
    for one in lists[:_MOST_LISTS]:
        rows += min(one.size, _NEWEST)
        if rows > _MOST_ROWS:
            break
        chosen.append(one)
    scores: dict[int, float] = {}
    for one, some in zip(chosen, postings.newest(connection, project, chosen, _NEWEST), strict=True):
        for number in some:
            scores[number] = scores.get(number, 0.0) + 1 / math.log2(2 + one.size)
    best = sorted(scores, key=lambda number: (-scores[number], number))[:limit]
    entries = _numbered(connection, project, best)
    return [entries[number] for number in best]


def _starts(prefix: str) -> tuple[str, ...]:
    if not prefix or prefix.endswith(("/", ":")):
        return (prefix,)
    return f"{prefix}/", f"{prefix}:"


def _postings(number: int, terms: Iterable[str]) -> Iterator[Posting]:
    return (Posting(term, _FIELD, number) for term in terms)


def _cost(wanted: Wanted) -> tuple[int, str]:
    return wanted.size, wanted.term


def _at(connection: Connection, project: int, locations: Sequence[str]) -> Iterator[Row[Any]]:
    for start in range(0, len(locations), _CHUNK):
        within = map_entries.c.location.in_(locations[start : start + _CHUNK])
        yield from connection.execute(select(map_entries).where(map_entries.c.project == project, within))


def _numbered(connection: Connection, project: int, numbers: Sequence[int]) -> dict[int, MapEntry]:
    found: dict[int, MapEntry] = {}
    for start in range(0, len(numbers), _CHUNK):
        within = map_entries.c.number.in_(numbers[start : start + _CHUNK])
        rows = connection.execute(select(map_entries).where(map_entries.c.project == project, within))
        found |= {row.number: _entry(row) for row in rows}
    return found


def _entry(row: Row[Any]) -> MapEntry:
    return MapEntry(component=row.component, location=row.location, notes=row.notes)
