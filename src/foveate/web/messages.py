"""Messages: those of a log that somebody wants to see, found by place, read as they come into sight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import select

from foveate.recall.readable import readable
from foveate.store import SessionInfo, Store
from foveate.store.find import Filters
from foveate.store.leafing import MessageRow, messages_at
from foveate.store.rows import tool_of
from foveate.store.schema import events
from foveate.web.fates import colour
from foveate.web.window import Fates

_FOUND: Final = 200
_WORDS: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which messages somebody wants to see; "" is any."""

    role: str = ""
    tool: str = ""
    fate: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The places of the messages that are wanted, in the order they are shown; `found` has what answers a search."""

    positions: tuple[int, ...] = ()
    found: Mapping[int, str] = field(default_factory=dict)


def selected(store: Store, info: SessionInfo, wanted: Wanted, fates: Fates | None) -> Selection:
    """The messages that are wanted; with words those that answer them, the best first."""
    filters = Filters(roles=[wanted.role] if wanted.role else None, tools=[wanted.tool] if wanted.tool else None)
    if wanted.words.strip():
        return _searched(store, info, wanted, filters, fates)
    query = select(events.c.position, events.c.ref).where(
        events.c.session == info.key, events.c.position.is_not(None), *filters.conditions()
    )
    with store.reading() as connection:
        rows = connection.execute(query.order_by(events.c.position)).all()
    if not wanted.fate or fates is None:
        return Selection(positions=tuple(row.position for row in rows))
    # A message that is named after its place has no reference of its own.
    places = (row.position for row in rows if fates.of(row.ref or f"m{row.position + 1}", row.position) == wanted.fate)
    return Selection(positions=tuple(places))


def lines_at(
    store: Store,
    info: SessionInfo,
    selection: Selection,
    first: int,
    count: int,
    *,
    pins: Mapping[str, bool],
    fates: Fates | None,
) -> list[dict[str, Any]]:
    """Some lines of a selection, as a list shows them."""
    rows = messages_at(store, info, selection.positions[first : first + count])
    return [_line(row, selection.found.get(row.position), pins, fates) for row in rows]


def _searched(store: Store, info: SessionInfo, wanted: Wanted, filters: Filters, fates: Fates | None) -> Selection:
    hits = store.search(wanted.words, session=info.session_id, roles=filters.roles, tools=filters.tools, limit=_FOUND)
    reader = store.reader(info)
    found: dict[int, str] = {}
    for hit in hits:
        position = reader.position(hit.message_id)
        if position is None or position in found:
            continue
        if wanted.fate and fates is not None and fates.of(hit.message_id, position) != wanted.fate:
            continue
        found[position] = hit.text
    return Selection(positions=tuple(found), found=found)


def _line(row: MessageRow, found: str | None, pins: Mapping[str, bool], fates: Fates | None) -> dict[str, Any]:
    message = row.message
    if message is None:
        lost = "this message cannot be read; `foveate db check` says more"
        return {"id": f"m{row.position + 1}", "role": "", "who": "damaged", "words": lost}
    fate = fates.of(message.id, row.position) if fates is not None else ""
    tool = tool_of(message)
    return {
        "id": message.id,
        "role": message.role,
        "who": tool if tool is not None and message.role == "tool" else message.role,
        "words": " ".join((found or readable(message))[: 2 * _WORDS].split())[:_WORDS],
        "fate": fate,
        "colour": colour(fate),
        "pinned": pins.get(message.id, message.meta.pinned),
    }
