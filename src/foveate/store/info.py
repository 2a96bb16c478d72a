"""What a store knows of a session without reading its log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from foveate.errors import ConfigError


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


def _decoded(stored: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(stored, type=dict[str, Any])
    except msgspec.MsgspecError:
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
