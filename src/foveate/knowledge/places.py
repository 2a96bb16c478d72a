"""Places: the entries of a project's map, by location, and those that a task may be about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, and_, bindparam, delete, func, insert, or_, select, update

from foveate.knowledge.checked import plain
from foveate.knowledge.mapping import parts_of
from foveate.knowledge.models import MapEntry
from foveate.knowledge.project import Change
from foveate.knowledge.terms import spaced, word_terms
from foveate.store.schema import map_entries
from foveate.store.search_lists import (
    Posting,
    TermList,
    choose_lists,
    count_terms,
    replace_postings,
    sum_weights,
)

FIELD: Final = "map"
_CHUNK: Final = 500
# So many entries that have a common word are looked at, and so many for all words.
_NEWEST: Final = 1_000
_MOST_ROWS: Final = 3_000
_MOST_LISTS: Final = 64
_MOST_TERMS: Final = 500
# A pasted log names hundreds of files. So many are looked up, and so many entries are taken for each; what is no path
# from the top of the project has to be looked for at the end of all of them, which takes longer.
_MOST_FILES: Final = 64
_MOST_SOUGHT: Final = 8
_MOST_NAMED: Final = 50
_UPDATE: Final = (
    update(map_entries)
    .where(map_entries.c.project == bindparam("old_project"), map_entries.c.number == bindparam("old_number"))
    .values({name: bindparam(f"new_{name}") for name in ("component", "notes", "word_terms")})
)
# Among the stored terms of an entry, behind those of its own words stand those of what its file defines.
_DEFINES: Final = "|"
# A term that every entry has: its count says how many there are, which would else take longer the more there are.
_EVERY: Final = ""
_NONE: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})


class Defining(NamedTuple):
    """What a file of the map defines, as stems; how many files refer to it is not kept, as it only settles ties."""

    path: str
    symbols: frozenset[str]
    references: float = 0.0


class Nearby(NamedTuple):
    """The entries that share words with a task, what their files define, and how common each word is on the map."""

    entries: list[MapEntry]
    files: list[Defining]
    counts: Mapping[str, int]
    total: int


class _Notes(NamedTuple):
    """What a file says of itself, and what tasks said of it."""

    built: str = ""
    learned: str = ""

    @property
    def stored(self) -> str:
        """As one text: what the file says has one line, and all that follows was learned."""
        built = " ".join(self.built.split())
        return f"{built}\n{self.learned}" if self.learned else built

    @property
    def said(self) -> str:
        """As it is shown, what was learned first: where there is no room, the code can still be read."""
        if not self.built or not self.learned:
            return self.learned or self.built
        return f"{self.learned}{'' if self.learned[-1] in '.!?…:。！？' else '.'} {self.built}"


def put(change: Change, given: Iterable[MapEntry], definitions: Mapping[str, Sequence[str]] = _NONE) -> None:
    """Add entries, or put them in the place of those that have their location; they are checked already.

    Notes at a location that `definitions` has are what its file says of itself, all others what tasks say of it; both
    are kept, and so is what is defined at a location that `definitions` does not have.
    """
    wanted = {entry.location: entry for entry in given}
    old = {row.location: row for row in _at(change.connection, change.key, list(wanted))}
    gone: list[Posting] = []
    new: list[Posting] = []
    added: list[dict[str, Any]] = []
    updated: list[dict[str, Any]] = []
    for location, entry in wanted.items():
        row = old.get(location)
        notes = _noted(row)._replace(**{"built" if location in definitions else "learned": entry.notes})
        terms = (*word_terms(f"{entry.component} {location} {notes.said}"), *_defined(definitions, location, row))
        values = {"component": entry.component, "notes": notes.stored, "word_terms": spaced(terms)}
        number = change.number("entry") if row is None else row.number
        new += postings_of(number, terms)
        if row is None:
            added.append(change.row(number=number, location=location, **values))
        else:
            gone += postings_of(number, row.word_terms.split())
            changes = {f"new_{name}": value for name, value in values.items()}
            updated.append({"old_project": change.key, "old_number": number, **changes})
    replace_postings(change.connection, change.key, gone, new)
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
    gone = (one for row in rows for one in postings_of(row.number, row.word_terms.split()))
    replace_postings(change.connection, change.key, gone, ())
    change.connection.execute(delete(map_entries).where(where))
    return len(rows)


def every(connection: Connection, project: int) -> list[MapEntry]:
    """All entries, in the order they were added."""
    rows = connection.execute(
        select(map_entries).where(map_entries.c.project == project).order_by(map_entries.c.number)
    )
    return [_entry(row) for row in rows]


def learned_at(connection: Connection, project: int, locations: Sequence[str]) -> dict[str, str]:
    """What tasks said of some locations."""
    return {row.location: _noted(row).learned for row in _at(connection, project, locations)}


def built(connection: Connection, project: int) -> list[str]:
    """The locations that a repository put on the map: those whose file says or defines something by itself."""
    rows = connection.execute(select(map_entries).where(map_entries.c.project == project))
    return [row.location for row in rows if _noted(row).built or _defining(row).symbols]


def sharing(
    connection: Connection, project: int, terms: Iterable[str], *, files: Iterable[str] = (), limit: int
) -> Nearby:
    """The entries of files that are named, then those that have most of the terms, rare ones counting more.

    Of a common term only the newest entries are looked at.
    """
    files = [plain(file) for file in islice(dict.fromkeys(files), _MOST_FILES)]
    stems = dict.fromkeys(stem for file in files for stem in word_terms(file))
    # Who gives stems already must not have them shortened again.
    stems |= dict.fromkeys(stem for term in terms for stem in (plain(term).lower(), *word_terms(term)))
    found = count_terms(connection, project, [_EVERY, *list(stems)[:_MOST_TERMS]])
    counts = {term: count for (term, field), count in found.items() if field == FIELD}
    total = counts.pop(_EVERY, 0)
    known = (TermList(term, FIELD, count, 1 / math.log2(2 + count)) for term, count in counts.items())
    lists = list(choose_lists(known, newest=_NEWEST, most_lists=_MOST_LISTS, most_rows=_MOST_ROWS))
    scores = sum_weights(connection, project, lists, newest=_NEWEST)
    named = _named(connection, project, files, counts)
    best = list(dict.fromkeys((*named, *sorted(scores, key=lambda number: (-scores[number], number)))))[:limit]
    rows = _numbered(connection, project, best)
    return Nearby(
        entries=[_entry(rows[number]) for number in best],
        files=[_defining(rows[number]) for number in best],
        counts=counts,
        total=total,
    )


def postings_of(number: int, terms: Iterable[str]) -> Iterator[Posting]:
    """Where the index has an entry with these terms, as they are stored."""
    return (Posting(term, FIELD, number) for term in (_EVERY, *terms) if term != _DEFINES)


def _named(connection: Connection, project: int, files: Sequence[str], counts: Mapping[str, int]) -> Iterator[int]:
    """The numbers of the entries that files and folders mean: by the whole path, else by how a path ends."""
    sought: list[str] = []
    for file in files:
        parts = parts_of(file)
        # What leads to the project from outside is a path of it from some folder on.
        from_outside = file.startswith(("/", "~"))
        paths = ["/".join(parts[start:]) for start in range(len(parts) if from_outside else 1)]
        some = [number for path in paths if path for number in _of_path(connection, project, path)]
        yield from some
        # What has a word that no entry has is nowhere, and need not be looked for.
        if not some and parts and not from_outside and all(counts.get(term) for term in word_terms(file)):
            sought.append("/".join(parts))
    yield from _ending(connection, project, sought[:_MOST_SOUGHT]) if sought else ()


def _of_path(connection: Connection, project: int, path: str) -> Iterator[int]:
    """The entries at a path, at lines of it and under it; by the index, as both ends of what begins alike are known."""
    location = map_entries.c.location
    # Where a server sorts by the rules of a language, what begins alike does not stand together.
    ordered = location.collate("C") if connection.dialect.name == "postgresql" else location
    bounds = [(f"{path}{sign}", f"{path}{chr(ord(sign) + 1)}") for sign in ":/"]
    # One by one: of all at once an engine reads the whole index.
    for within in (location == path, *(and_(ordered >= low, ordered < high) for low, high in bounds)):
        statement = select(map_entries.c.number).where(map_entries.c.project == project, within).order_by(ordered)
        yield from connection.execute(statement.limit(_MOST_NAMED)).scalars()


def _ending(connection: Connection, project: int, paths: Sequence[str]) -> Iterable[int]:
    """The entries whose path ends with one of these, or has it as a folder; all locations are looked at."""
    find = func.strpos if connection.dialect.name == "postgresql" else func.instr
    ended = map_entries.c.location.concat(":")
    wanted = [f"/{path}{sign}" for path in paths for sign in (":" if "." in path.rpartition("/")[2] else ":/")]
    # The shortest first, as of those that fit alike; then those that were put there first.
    order = func.length(map_entries.c.location), map_entries.c.number
    within = or_(*(find(ended, one) > 0 for one in wanted))
    statement = select(map_entries.c.number).where(map_entries.c.project == project, within).order_by(*order)
    return connection.execute(statement.limit(_MOST_NAMED * len(paths))).scalars().all()


def _starts(prefix: str) -> tuple[str, ...]:
    if not prefix or prefix.endswith(("/", ":")):
        return (prefix,)
    return f"{prefix}/", f"{prefix}:"


def _defined(definitions: Mapping[str, Sequence[str]], location: str, row: Row[Any] | None) -> tuple[str, ...]:
    """The stems of what is defined at a location, behind their mark."""
    if location in definitions:
        symbols: Iterable[str] = word_terms(plain(" ".join(definitions[location])))
    else:
        symbols = _defining(row).symbols if row is not None else ()
    return (_DEFINES, *sorted(symbols)) if symbols else ()


def _defining(row: Row[Any]) -> Defining:
    return Defining(row.location, frozenset(row.word_terms.partition(f" {_DEFINES} ")[2].split()))


def _at(connection: Connection, project: int, locations: Sequence[str]) -> Iterator[Row[Any]]:
    for start in range(0, len(locations), _CHUNK):
        within = map_entries.c.location.in_(locations[start : start + _CHUNK])
        yield from connection.execute(select(map_entries).where(map_entries.c.project == project, within))


def _numbered(connection: Connection, project: int, numbers: Sequence[int]) -> dict[int, Row[Any]]:
    found: dict[int, Row[Any]] = {}
    for start in range(0, len(numbers), _CHUNK):
        within = map_entries.c.number.in_(numbers[start : start + _CHUNK])
        rows = connection.execute(select(map_entries).where(map_entries.c.project == project, within))
        found |= {row.number: row for row in rows}
    return found


def _entry(row: Row[Any]) -> MapEntry:
    return MapEntry(component=row.component, location=row.location, notes=_noted(row).said)


def _noted(row: Row[Any] | None) -> _Notes:
    return _Notes() if row is None else _Notes(*row.notes.split("\n", 1))
