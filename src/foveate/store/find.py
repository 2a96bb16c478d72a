"""Finding: what was ever said, in one session or in all, by words and filters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import ColumnElement, and_, or_, select

from foveate.errors import ConfigError
from foveate.log.messages import Message
from foveate.recall.embedding import Embedder, blended
from foveate.recall.postings import PART_BITS
from foveate.recall.scoring import Ranked
from foveate.recall.worth import ordered
from foveate.store.embeddings import nearest_passages, similarities
from foveate.store.info import SessionInfo, utc
from foveate.store.schema import events
from foveate.store.search import StoreHit, StorePostings, search_store
from foveate.store.search_rows import ORDER_BITS, ROW_BITS, passage_id

if TYPE_CHECKING:
    from foveate.store.store import Store

_TOGETHER: Final = 500
# The end of the year 9999: what is later is no time.
_LAST_SECOND: Final = 253_402_300_800
# How many hits of each kind are ordered with their neighbors.
_POOL: Final = 50
ROLES: Final = ("system", "user", "assistant", "tool")
KINDS: Final = ("user", "assistant", "tool_call", "tool_result", "summary", "system", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A passage that answers a query, and where it was said."""

    session_id: str
    message_id: str
    role: str
    tool: str | None
    time: datetime
    text: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which messages a search may find; None lets all through."""

    roles: Collection[str] | None = None
    tools: Collection[str] | None = None
    kinds: Collection[str] | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        for option, given, known in (("roles", self.roles, ROLES), ("kinds", self.kinds, KINDS)):
            unknown = [one for one in given or () if one not in known]
            if unknown:
                raise ConfigError(f"`{option}` has {unknown[0]!r}; known are {', '.join(known)}")

    def conditions(self) -> list[ColumnElement[bool]]:
        """The filters in SQL."""
        found: list[ColumnElement[bool]] = [
            column.in_(list(given))
            for column, given in (
                (events.c.role, self.roles),
                (events.c.tool, self.tools),
                (events.c.origin, self.kinds),
            )
            if given is not None
        ]
        if self.since is not None:
            found.append(_at(self.since, lambda column, moment: column >= moment))
        if self.until is not None:
            found.append(_at(self.until, lambda column, moment: column < moment))
        return found


def _at(moment: datetime, compared: Any) -> ColumnElement[bool]:
    """Compare with the time that a message was given, or else with the time it was written."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    given = and_(events.c.time.is_not(None), compared(events.c.time, aware.timestamp()))
    return or_(given, and_(events.c.time.is_(None), compared(events.c.recorded_at, aware.astimezone(UTC))))


class Search:
    """One search over some sessions of a store."""

    def __init__(self, store: Store, infos: Mapping[int, SessionInfo], filters: Filters, *, everywhere: bool) -> None:
        """Look in some sessions; `everywhere` says that these are all there are."""
        self._store = store
        self._infos = infos
        self._readers = {key: store.reader(info) for key, info in infos.items()}
        self._conditions = filters.conditions()
        self._sessions = None if everywhere else list(infos)
        self._postings = StorePostings(store.reading, self._fetch, self._sessions)

    def hits(self, query: str, limit: int, embedder: Embedder | None = None) -> list[SearchHit]:
        """The passages that answer a query best; with an embedder by words and by meaning."""
        pool = max(limit, _POOL)
        found = self._by_words(query, pool) if embedder is None else self._by_both(query, pool, embedder)
        hits = self._ordered(found, limit)
        hits = [hit for hit in hits if hit.session_key in self._infos]
        times = _rows(self._store, {(hit.session_key, hit.passage.order) for hit in hits}, [])
        # A message whose row lost its position cannot be shown with its time.
        known = [hit for hit in hits if (hit.session_key, hit.passage.order) in times]
        return [_hit(hit, self._infos[hit.session_key], times) for hit in known]

    def _ordered(self, hits: Sequence[Ranked], limit: int) -> list[StoreHit]:
        """The passages of hits in the order of their worth, to which neighbors add."""

        def allowed(places: Sequence[int]) -> set[int]:
            return {id >> PART_BITS for id in self._allowed([place << PART_BITS for place in places])}

        best = ordered(self._postings, hits, limit=limit, allowed=allowed)
        return [StoreHit(one.row >> ROW_BITS, one.passage, one.score) for one in best]

    def _by_words(self, query: str, limit: int) -> list[Ranked]:
        hits = search_store(
            self._store.reading, query,
            fetch=self._fetch, sessions=self._sessions, allowed=self._allowed, limit=limit,
        )  # fmt: skip
        return [Ranked(passage_id(one.session_key, one.passage.order, one.passage.part), *one[1:]) for one in hits]

    def _by_both(self, query: str, limit: int, embedder: Embedder) -> list[Ranked]:
        known = {hit.row: hit for hit in self._by_words(query, limit)}
        with self._store.reading() as connection:
            near = nearest_passages(connection, embedder, query, self._sessions, limit, allowed=self._allowed)
            close = similarities(connection, embedder, query, list(known)) | dict(near)
        cut = self._postings.passages({id >> PART_BITS for id in close if id not in known})
        for id in close:
            passages, part = cut.get(id >> PART_BITS, []), id & (1 << PART_BITS) - 1
            if id not in known and part < len(passages):
                known[id] = Ranked(id, passages[part], 0.0)
        scores = blended({id: hit.score for id, hit in known.items()}, close)
        return [hit._replace(score=scores[id]) for id, hit in known.items()]

    def _allowed(self, ids: Sequence[int]) -> set[int]:
        if not self._conditions:
            return set(ids)
        places = {id: (id >> ROW_BITS, id >> PART_BITS & (1 << ORDER_BITS) - 1) for id in ids}
        kept = _rows(self._store, set(places.values()), self._conditions)
        return {id for id, place in places.items() if place in kept}

    def _fetch(self, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Message]:
        wanted: defaultdict[int, list[int]] = defaultdict(list)
        for key, position in places:
            wanted[key].append(position)
        return {
            (key, position): message
            for key, positions in wanted.items()
            if key in self._readers
            for position, message in self._readers[key].readable(positions).items()
        }


def _rows(
    store: Store, places: Collection[tuple[int, int]], conditions: list[ColumnElement[bool]]
) -> dict[tuple[int, int], datetime]:
    """Of messages by session and position those that meet conditions, with their time."""
    wanted: defaultdict[int, list[int]] = defaultdict(list)
    for key, position in sorted(places):
        wanted[key].append(position)
    rows: dict[tuple[int, int], datetime] = {}
    with store.reading() as connection:
        for key, positions in wanted.items():
            for start in range(0, len(positions), _TOGETHER):
                query = select(events.c.position, events.c.time, events.c.recorded_at).where(
                    events.c.session == key, events.c.position.in_(positions[start : start + _TOGETHER]), *conditions
                )
                rows.update({(key, row.position): _moment(row) for row in connection.execute(query)})
    return rows


def _moment(row: Any) -> datetime:
    # An imported log may give any number as a time.
    given = isinstance(row.time, int | float) and 0 <= row.time < _LAST_SECOND
    return datetime.fromtimestamp(row.time, UTC) if given else utc(row.recorded_at)


def _hit(hit: StoreHit, info: SessionInfo, times: Mapping[tuple[int, int], datetime]) -> SearchHit:
    passage = hit.passage
    return SearchHit(
        session_id=info.session_id,
        message_id=passage.message_id,
        role=passage.role,
        tool=passage.tool,
        time=times[hit.session_key, passage.order],
        text=passage.text,
        score=hit.score,
    )
