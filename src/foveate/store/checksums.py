"""Checksums: an event whose row was changed outside Foveate is noticed, not believed.

They protect against damage (a failing disk, a truncated copy, an edit by hand), not against forgery: anyone who can
write the file can also write a matching checksum.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from foveate.errors import LogError

# Its place in a row of `events`, which is the last.
_CHECKSUM: Final = 14

_pack: Final = msgspec.msgpack.Encoder().encode


def checksum_of(session_id: str, row: Sequence[Any]) -> int:
    """The checksum of a row of `events`: of the session's name and every column but the session's key.

    The name stands for the key, so that an event moved to another session, or to another place in its own, is noticed.
    Values are packed as MessagePack, which keeps them apart; a time is normalized, because engines return it in
    different ways.
    """
    _key, seq, kind, position, ref, role, tool, origin, time, recorded_at, version, writer, body, spilled, *_ = row
    if time is not None:
        # SQLite stores no negative zero, and a whole number may come as an integer.
        time += 0.0
    if isinstance(recorded_at, datetime):
        recorded_at = _normalized(recorded_at)
    values = (
        session_id,
        seq,
        kind,
        position,
        ref,
        role,
        tool,
        origin,
        time,
        recorded_at,
        version,
        writer,
        body,
        spilled,
    )
    return zlib.crc32(_pack(values))


def is_sealed(row: Sequence[Any]) -> bool:
    """Whether a row has a checksum; rows written by version 0.1 have none."""
    return row[_CHECKSUM] is not None


def is_intact(session_id: str, row: Sequence[Any]) -> bool:
    """Whether a row is what was written, as far as its checksum can tell."""
    try:
        return not is_sealed(row) or row[_CHECKSUM] == checksum_of(session_id, row)
    except (TypeError, ValueError, OverflowError):
        # SQLite columns can hold values of any type, if another program put them there.
        return False


def verify_rows(session_id: str, rows: Iterable[Sequence[Any]]) -> None:
    """Raise `LogError` for the first row that is not what was written."""
    for row in rows:
        if not is_intact(session_id, row):
            raise LogError(
                f"event {row[1]} of session {session_id!r} cannot be read: its checksum does not match, it was changed "
                "outside Foveate; restore the store from a copy, `foveate db check` lists all damaged events"
            )


def _normalized(moment: datetime) -> str:
    naive = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    return naive.isoformat(" ", "microseconds")
