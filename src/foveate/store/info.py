"""What a store knows of a session without reading its log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from foveate.errors import ConfigError, StoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """What a store knows of a session without reading its log."""

    key: int
    session_id: str
    vault_name: str
    title: str
    tags: dict[str, str]
    metadata: dict[str, Any]
    events: int
    messages: int
    tokens: int
    calls: int
    indexed: int
    created_at: datetime
    last_activity_at: datetime


def info_of(row: Any) -> SessionInfo:
    """The facts in a row of the table `sessions`."""
    _check_types(row)
    return SessionInfo(
        key=row.id,
        session_id=row.session_id,
        vault_name=row.vault_name,
        title=row.title,
        tags=_decoded(row.tags),
        metadata=_decoded(row.metadata),
        events=row.events,
        messages=row.messages,
        tokens=row.tokens,
        calls=row.calls,
        indexed=row.indexed,
        created_at=utc(row.created_at),
        last_activity_at=utc(row.last_activity_at),
    )


def pending_info(session_id: str, vault_name: str) -> SessionInfo:
    """A session that could not be begun in its store yet, and has no key there."""
    row = new_row(session_id, vault_name)
    facts = {name: value for name, value in row.items() if name not in ("metadata", "tags")}
    return SessionInfo(key=0, tags={}, metadata={}, **facts)


_TYPES: Final[dict[str, type]] = {
    **dict.fromkeys(("id", "events", "messages", "tokens", "calls", "indexed"), int),
    **dict.fromkeys(("session_id", "vault_name", "title"), str),
    **dict.fromkeys(("created_at", "last_activity_at"), datetime),
}


def _check_types(row: Any) -> None:
    """Raise `StoreError` for a row with values of other types: SQLite stores what it is given."""
    for name, kind in _TYPES.items():
        value = getattr(row, name)
        if not isinstance(value, kind) or (isinstance(value, int) and value < 0):
            raise StoreError(
                f"the row of session {row.session_id!r} (number {row.id}) is damaged: its `{name}` is {value!r}; "
                "restore the store from a copy, `foveate db check` says what else is wrong"
            )


def _decoded(stored: Any) -> dict[str, Any]:
    try:
        return msgspec.json.decode(stored, type=dict[str, Any])
    except (msgspec.MsgspecError, TypeError, ValueError):
        # One damaged row must not hide all sessions; what stands in it is shown as it is.
        return {"damaged": stored}


def utc(moment: datetime) -> datetime:
    """A moment as it came out of a store, with its zone."""
    # SQLite gives times back without their zone.
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def new_row(session_id: str, vault_name: str) -> dict[str, Any]:
    """The row of a session that has nothing in it yet."""
    for option, name in (("session_id", session_id), ("vault", vault_name)):
        if not name.strip() or not name.isprintable():
            raise ConfigError(f"`{option}` {name!r} is no name; give one such as 'task-42'")
    now = datetime.now(UTC)
    return {
        "session_id": session_id,
        "vault_name": vault_name,
        "title": "",
        "metadata": "{}",
        "tags": "{}",
        **dict.fromkeys(("events", "messages", "tokens", "calls", "indexed"), 0),
        "created_at": now,
        "last_activity_at": now,
    }
