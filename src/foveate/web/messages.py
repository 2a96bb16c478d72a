"""Messages: those of a log that somebody wants to see, found by place, read as they come into sight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from foveate.inspect.messages import MessageRow, MessageSelection, messages_at, search_messages, select_messages
from foveate.recall.readable import readable
from foveate.store import SessionInfo, Store
from foveate.store.find import Filters
from foveate.store.rows import tool_of
from foveate.web.fates import colour

_WORDS: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which messages somebody wants to see; "" is any."""

    role: str = ""
    tool: str = ""
    fate: str = ""
    words: str = ""


def selected(store: Store, info: SessionInfo, wanted: Wanted, fates: Mapping[str, str] | None) -> MessageSelection:
    """The messages that are wanted; with words those that answer them, the best first."""
    filters = Filters(roles=[wanted.role] if wanted.role else None, tools=[wanted.tool] if wanted.tool else None)

    def has_fate(message_id: str) -> bool:
        return fates is None or fates.get(message_id) == wanted.fate

    is_wanted = has_fate if wanted.fate and fates is not None else None
    if wanted.words.strip():
        return search_messages(store, info, wanted.words, filters, is_wanted=is_wanted)
    return select_messages(store, info, filters, is_wanted=is_wanted)


def lines_at(
    store: Store,
    info: SessionInfo,
    selection: MessageSelection,
    first: int,
    count: int,
    *,
    pins: Mapping[str, bool],
    fates: Mapping[str, str] | None,
) -> list[dict[str, Any]]:
    """Some lines of a selection, as a list shows them."""
    rows = messages_at(store, info, selection.positions[first : first + count])
    return [_line(row, selection.passages.get(row.position), pins, fates) for row in rows]


def _line(
    row: MessageRow, found: str | None, pins: Mapping[str, bool], fates: Mapping[str, str] | None
) -> dict[str, Any]:
    message = row.message
    if message is None:
        lost = "this message cannot be read; `foveate db check` says more"
        return {"id": f"m{row.position + 1}", "role": "", "who": "damaged", "words": lost}
    fate = fates.get(message.id, "") if fates is not None else ""
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
