"""Messages of a log, some at a time: by place, by role, tool or fate, and by what they answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, select

from foveate.inspect.event_rows import TOGETHER, event_time
from foveate.log.messages import Message
from foveate.store import SearchHit, SessionInfo, Store
from foveate.store.find import Filters
from foveate.store.schema import context_summaries, events

MOST_FOUND = 200
"""Passages that one search within a session finds."""


class MessageRow(NamedTuple):
    """A message with its place and its time; `message` is None if its row is damaged."""

    position: int
    seq: int
    time: datetime
    message: Message | None


class MessagePage(NamedTuple):
    """Some of the messages that match, and how many match."""

    total: int
    rows: list[MessageRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSelection:
    """The positions of the messages that match, in the order to show them, and for a search the passage of each."""

    positions: tuple[int, ...] = ()
    passages: Mapping[int, str] = field(default_factory=dict)


def list_messages(store: Store, info: SessionInfo, filters: Filters, *, offset: int, limit: int) -> MessagePage:
    """Messages that match, in the order of the log, from number `offset` of them on."""
    mine = _messages_of(info)
    conditions = filters.conditions()
    query = select(events.c.position).where(*mine, *conditions).order_by(events.c.position)
    with store.reading() as connection:
        if not conditions:
            # Every message has its place, so nothing must be counted or skipped.
            total = info.messages
            query = query.where(events.c.position >= offset)
        else:
            total = connection.scalar(select(func.count()).select_from(events).where(*mine, *conditions)) or 0
            query = query.offset(offset)
        positions = list(connection.scalars(query.limit(limit)))
    return MessagePage(total, messages_at(store, info, positions))


def messages_at(store: Store, info: SessionInfo, positions: Sequence[int]) -> list[MessageRow]:
    """The messages at positions of the log, in the order asked for."""
    columns = (events.c.position, events.c.seq, events.c.time, events.c.recorded_at)
    query = select(*columns).where(events.c.session == info.key, events.c.position.in_(list(positions)))
    with store.reading() as connection:
        found = {row.position: row for row in connection.execute(query)}
    said = store.reader(info).readable([position for position in positions if position in found])
    rows = [found[position] for position in positions if position in found]
    return [MessageRow(row.position, row.seq, event_time(row), said.get(row.position)) for row in rows]


def messages_named(store: Store, info: SessionInfo, ids: Sequence[str]) -> list[MessageRow]:
    """The messages with some ids, in the order asked for; unknown ids are left out."""
    reader = store.reader(info)
    return messages_at(store, info, [place for id in ids if (place := reader.position(id)) is not None])


def event_numbers(store: Store, info: SessionInfo, positions: Collection[int]) -> dict[int, int]:
    """The event number of each message, by its position."""
    query = select(events.c.position, events.c.seq).where(events.c.session == info.key)
    wanted = sorted(positions)
    found: dict[int, int] = {}
    with store.reading() as connection:
        for start in range(0, len(wanted), TOGETHER):
            some = query.where(events.c.position.in_(wanted[start : start + TOGETHER]))
            found.update({row.position: row.seq for row in connection.execute(some)})
    return found


def count_roles_and_tools(store: Store, info: SessionInfo) -> tuple[dict[str, int], dict[str, int]]:
    """How many messages of each role a session has, and about each tool, most first."""
    query = select(events.c.role, events.c.tool, func.count().label("many")).where(*_messages_of(info))
    roles: dict[str, int] = {}
    tools: dict[str, int] = {}
    with store.reading() as connection:
        for row in connection.execute(query.group_by(events.c.role, events.c.tool)):
            roles[row.role] = roles.get(row.role, 0) + row.many
            if row.tool is not None:
                tools[row.tool] = tools.get(row.tool, 0) + row.many
    return roles, dict(sorted(tools.items(), key=lambda one: (-one[1], one[0])))


def select_messages(
    store: Store, info: SessionInfo, filters: Filters, *, is_wanted: Callable[[str], bool] | None = None
) -> MessageSelection:
    """The positions of all messages that match; `is_wanted` is asked with the id of each."""
    query = select(events.c.position, events.c.ref).where(*_messages_of(info), *filters.conditions())
    with store.reading() as connection:
        rows = connection.execute(query.order_by(events.c.position)).all()
    if is_wanted is None:
        return MessageSelection(positions=tuple(row.position for row in rows))
    # A message that is named after its place has no reference of its own.
    kept = (row.position for row in rows if is_wanted(row.ref or f"m{row.position + 1}"))
    return MessageSelection(positions=tuple(kept))


def search_messages(
    store: Store,
    info: SessionInfo,
    query: str,
    filters: Filters,
    *,
    is_wanted: Callable[[str], bool] | None = None,
) -> MessageSelection:
    """The messages of a session that answer a query, the best first, each with its best passage."""
    reader = store.reader(info)
    found: dict[int, str] = {}
    for message_id, hit in search_hits(store, info, query, filters).items():
        position = reader.position(message_id)
        if position is not None and (is_wanted is None or is_wanted(message_id)):
            found[position] = hit.text
    return MessageSelection(positions=tuple(found), passages=found)


def search_hits(store: Store, info: SessionInfo, query: str, filters: Filters) -> dict[str, SearchHit]:
    """The best passage of each message of a session that answers a query, by the message's id, the best first."""
    hits = store.search(
        query, session=info.session_id, roles=filters.roles, tools=filters.tools, kinds=filters.kinds, limit=MOST_FOUND
    )
    found: dict[str, SearchHit] = {}
    for hit in hits:
        found.setdefault(hit.message_id, hit)
    return found


def first_of_last_turns(store: Store, info: SessionInfo, end: int, *, turns: int) -> int:
    """The position of the user message that begins the last `turns` turns before position `end`; 0 if that is all."""
    mine = (events.c.session == info.key) & (events.c.role == "user") & (events.c.position < end)
    begins = select(events.c.position).where(mine).order_by(events.c.position.desc()).limit(turns)
    with store.reading() as connection:
        places = list(connection.scalars(begins))
    return int(places[-1]) if len(places) == turns else 0


def calls_answered_by(store: Store, info: SessionInfo, ids: Sequence[str]) -> dict[str, int]:
    """The calls that messages are the answers to, by the ids of the messages."""
    table = context_summaries
    found: dict[str, int] = {}
    with store.reading() as connection:
        for start in range(0, len(ids), TOGETHER):
            some = table.c.output_id.in_(ids[start : start + TOGETHER])
            query = select(table.c.output_id, table.c.call).where(table.c.session == info.key, some)
            found.update({row.output_id: row.call for row in connection.execute(query)})
    return found


def _messages_of(info: SessionInfo) -> tuple[ColumnElement[bool], Any]:
    return events.c.session == info.key, events.c.position.is_not(None)
