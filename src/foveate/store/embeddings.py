"""Vectors of passages: what makes a store searchable by meaning; all of it can be made from the logs again.

How vectors are compared is the embedder's business: here is nothing that computes fast.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Connection, Row, delete, func, select

from foveate.recall.embedding import DIGITS, Embedder, embedded, nearest
from foveate.recall.passages import passages_of
from foveate.recall.postings import PART_BITS
from foveate.store.backlog import Progress
from foveate.store.engine import insert_ignoring, reading_within
from foveate.store.info import SessionInfo
from foveate.store.reader import Reader
from foveate.store.schema import embeddings, sessions
from foveate.store.search_rows import ROW_BITS, passage_id

if TYPE_CHECKING:
    from foveate.store.store import Store

# So many are embedded and then written: enough to be sorted by length, few enough to lose if the process ends.
_BATCH: Final = 128
# Messages that are read together to find those.
_READ: Final = 64
# Vectors that are in memory at a time: 6 MB of 384 numbers each.
_CHUNK: Final = 4_096


class Near(NamedTuple):
    """A passage and how close it is to what was asked: 1 is the same, 0 has nothing to do with it."""

    passage: int
    similarity: float


def embed_backlog(
    store: Store, info: SessionInfo, embedder: Embedder, most: int | None = None, progress: Progress | None = None
) -> int:
    """Give vectors to the passages of a session that have none, oldest first; returns how many those were.

    Nobody waits meanwhile: vectors are computed between transactions. Each batch is written in one of its own, so
    what is done stays done; two processes that do this at once do some of it twice, and each keeps what the other has.
    """
    done = 0
    while most is None or done < most:
        room = _BATCH if most is None else min(_BATCH, most - done)
        batch = _waiting(store, info, embedder.name, room)
        if batch is None:
            break
        vectors = embedded(embedder, list(batch.texts.values()))
        if not _write(store, info, embedder.name, batch, vectors):
            break
        done += len(vectors)
        if progress is not None:
            progress("passages embedded", done)
    return done


def nearest_passages(
    connection: Connection,
    embedder: Embedder,
    query: str,
    session_keys: Collection[int] | None = None,
    limit: int = 20,
    *,
    allowed: Callable[[Sequence[int]], set[int]] = set,
) -> list[Near]:
    """The passages closest in meaning to a query, of all sessions or of some; equally close ones in order of their id.

    Only what `embed_backlog` has seen, with the same embedder, can be found; `allowed` says which of some ids may be.
    """
    if limit < 1 or not query.strip():
        return []
    (wanted,) = embedded(embedder, [query])
    best: list[Near] = []
    for rows in _chunks(connection, embedder.name, session_keys):
        may = allowed([id for id, _ in rows])
        # A vector of another length was not written here.
        asked = [(id, vector) for id, vector in rows if id in may and len(vector) == len(wanted)]
        found = nearest(embedder, wanted, [vector for _, vector in asked], limit)
        best += [Near(asked[place][0], round(similarity, DIGITS)) for place, similarity in found]
        best = sorted(best, key=lambda near: (-near.similarity, near.passage))[:limit]
    return best


def similarities(connection: Connection, embedder: Embedder, query: str, passages: Sequence[int]) -> dict[int, float]:
    """How close some passages are in meaning to a query; without those that have no vector yet."""
    if not passages or not query.strip():
        return {}
    (wanted,) = embedded(embedder, [query])
    rows: list[tuple[int, bytes]] = []
    for start in range(0, len(passages), _BATCH):
        of_some = (embeddings.c.model == embedder.name, embeddings.c.passage.in_(passages[start : start + _BATCH]))
        found = connection.execute(select(embeddings.c.passage, embeddings.c.vector).where(*of_some)).all()
        rows += [(id, vector) for id, vector in found if len(vector) == len(wanted)]
    near = nearest(embedder, wanted, [vector for _, vector in rows], len(rows))
    return {rows[place][0]: round(similarity, DIGITS) for place, similarity in near}


def forget(connection: Connection, session_key: int) -> None:
    """Delete the vectors of a session, of every model."""
    model = connection.scalar(select(func.min(embeddings.c.model)))
    # An index begins with the model, so that without one all vectors there are would be looked at.
    while model is not None:
        connection.execute(delete(embeddings).where(*_within(model, session_key)))
        model = connection.scalar(select(func.min(embeddings.c.model)).where(embeddings.c.model > model))


# --- what has no vector yet ---------------------------------------------------------------------------------------


class _Batch(NamedTuple):
    """Passages without a vector, and what tells their session from another that gets its key."""

    texts: dict[int, str]
    identity: tuple[Any, ...]


def _waiting(store: Store, info: SessionInfo, model: str, room: int) -> _Batch | None:
    """The next passages to embed: vectors are written in the order of the log, so behind the newest there is none."""
    with store.reading() as connection:
        session = connection.execute(_session(info)).first()
        if session is None:
            return None
        identity, messages = _identity(session), session.messages
        newest = connection.scalar(select(func.max(embeddings.c.passage)).where(*_within(model, info.key)))
        first = 0 if newest is None else newest - passage_id(info.key, 0, 0) >> PART_BITS
        reader = Reader(info.key, info.session_id, lambda: reading_within(connection))
        texts: dict[int, str] = {}
        for start in range(first, messages, _READ):
            for order, message in reader.messages(range(start, min(start + _READ, messages))).items():
                # A large message may be begun by one batch and ended by the next.
                found = [(passage_id(info.key, order, one.part), one.text) for one in passages_of(message, order)]
                texts.update((id, text) for id, text in found if newest is None or id > newest)
                if len(texts) >= room:
                    return _Batch(dict(islice(texts.items(), room)), identity)
    return _Batch(texts, identity) if texts else None


def _write(store: Store, info: SessionInfo, model: str, batch: _Batch, vectors: Sequence[bytes]) -> bool:
    """Write vectors, unless their session was deleted since its passages were read."""
    rows = [
        {"model": model, "passage": passage, "vector": vector}
        for passage, vector in zip(batch.texts, vectors, strict=True)
    ]
    with store.writing() as connection:
        query = _session(info)
        if connection.dialect.name == "postgresql":
            # Keeps the session from being deleted, but not from being appended to.
            query = query.with_for_update(read=True, key_share=True)
        session = connection.execute(query).first()
        if session is None or _identity(session) != batch.identity:
            return False
        connection.execute(insert_ignoring(connection, embeddings), rows)
    return True


def _session(info: SessionInfo) -> Any:
    return select(sessions).where(sessions.c.id == info.key)


def _identity(session: Row[Any]) -> tuple[Any, ...]:
    # A new session may get the key of a deleted one, and even its name.
    return session.session_id, session.created_at


# --- ranges of ids -------------------------------------------------------------------------------------------------


def _chunks(
    connection: Connection, model: str, session_keys: Collection[int] | None
) -> Iterator[list[tuple[int, bytes]]]:
    """The vectors of sessions in the order of their ids, some thousands at a time."""
    query = select(embeddings.c.passage, embeddings.c.vector).order_by(embeddings.c.passage).limit(_CHUNK)
    for first, last in _runs(session_keys):
        at = passage_id(first, 0, 0)
        # One result of all would be held in memory as a whole by some drivers.
        while True:
            found = connection.execute(query.where(*_within(model, first, last), embeddings.c.passage >= at)).all()
            rows = [(id, vector) for id, vector in found]
            if rows:
                yield rows
                at = rows[-1][0] + 1
            if len(rows) < _CHUNK:
                break


def _runs(session_keys: Collection[int] | None) -> list[tuple[int, int]]:
    """Session keys as runs from a first to a last one, both in it: each is one range of ids."""
    if session_keys is None:
        return [(0, (1 << 63 - ROW_BITS) - 1)]
    runs: list[tuple[int, int]] = []
    for key in sorted(set(session_keys)):
        if runs and runs[-1][1] == key - 1:
            runs[-1] = (runs[-1][0], key)
        else:
            runs.append((key, key))
    return runs


def _within(model: str, first: int, last: int | None = None) -> tuple[Any, ...]:
    """What holds for the vectors of a session, or of a run of them."""
    end = passage_id((first if last is None else last) + 1, 0, 0) - 1
    id = embeddings.c.passage
    return embeddings.c.model == model, id >= passage_id(first, 0, 0), id <= end
