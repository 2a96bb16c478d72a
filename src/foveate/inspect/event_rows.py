"""Rows of a session's log, checked, and read as far as they are needed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import ColumnElement, select

from foveate.errors import LogError
from foveate.log.partial import PartialReader
from foveate.store import SessionInfo, Store
from foveate.store.checksums import verify_rows
from foveate.store.info import utc
from foveate.store.rows import damaged_row
from foveate.store.schema import events

TOGETHER: Final = 500
"""Values in one SQL condition."""

# The end of the year 9999: a later time is an error of its writer.
_LAST_SECOND: Final = 253_402_300_800
AnyBody = TypeVar("AnyBody", bound=msgspec.Struct)


def event_rows(
    store: Store, info: SessionInfo, kinds: Collection[str], *conditions: ColumnElement[bool]
) -> Sequence[Any]:
    """The events of some kinds as rows, in the order of the log, their checksums compared."""
    query = select(events).where(events.c.session == info.key, events.c.kind.in_(list(kinds)), *conditions)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(events.c.seq)).all()
    verify_rows(info.session_id, rows)
    return rows


def read_partly(info: SessionInfo, row: Any, reader: PartialReader[AnyBody]) -> AnyBody:
    """Some fields of the event in a row; `LogError` if it is damaged."""
    try:
        return reader.read(row.body, row.version)
    except (msgspec.MsgspecError, LogError, ValueError, TypeError) as error:
        raise damaged_row(info.session_id, row.seq, error) from error


def event_time(row: Any) -> datetime:
    """When an event happened, or else when it was written."""
    return given_time(row.time) or utc(row.recorded_at)


def given_time(seconds: object) -> datetime | None:
    """A time as its caller gave it; None if there is none, or none that can be."""
    if not isinstance(seconds, int | float) or not 0 <= seconds < _LAST_SECOND:
        return None
    return datetime.fromtimestamp(seconds, UTC)
