"""Wrecks: what can still be read of a SQLite file that is too damaged to be opened as a store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shlex import quote as quoted
from typing import Any, Final
from urllib.parse import quote

from foveate.store.check import Problem

_RESTORE: Final = "restore the store from a copy, or import an earlier export of the session"
# What goes wrong with a damaged file; a text, also that of an error, may be no UTF-8.
_BROKEN: Final = (sqlite3.Error, UnicodeDecodeError)


def check_wreck(path: Path, reason: str) -> list[Problem]:
    """What is left of a damaged store: of each session that can be found, how many events can be read."""
    saving = (
        "restore the store from a copy; if there is none, what can be read of each session is listed with a way to it"
    )
    return [Problem(None, "database file", f"cannot be opened: {reason}", saving), *_left(path)]


def _left(path: Path) -> Iterator[Problem]:
    with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=1.0)) as wreck:
        found: list[tuple[Any, Any, Any]] = []
        reason = ""
        try:
            # Nothing is written: with this, SQLite reads on where the schema is damaged or the end of the file missing.
            wreck.execute("PRAGMA writable_schema = ON")
            # Row by row: those before one that cannot be read are kept.
            found.extend(wreck.execute("SELECT id, session_id, events FROM sessions ORDER BY id"))
        except _BROKEN as error:
            reason = str(error)
        for key, session_id, events in found:
            left = _readable(wreck, key)
            how_many = f"all {left}" if left == events else f"{left} of {events}"
            yield Problem(
                str(session_id), "log", f"{how_many} events can be read", _way_to(path, key) if left else _RESTORE
            )
        if reason:
            which = f"after the first {len(found)} " if found else ""
            yield Problem(None, "sessions", f"the list of sessions {which}cannot be read: {reason}", _RESTORE)


def _way_to(path: Path, key: Any) -> str:
    # Not `.recover` of SQLite's shell: version 3.40 fails with it even for a store that is whole.
    query = f"PRAGMA writable_schema = ON; SELECT body FROM events WHERE session = {key} ORDER BY seq"  # noqa: S608
    return f'{_RESTORE}; else `sqlite3 -readonly {quoted(str(path))} "{query}"` prints them as JSON'


def _readable(wreck: sqlite3.Connection, key: Any) -> int:
    """How many events of a session can be read: from its first on, and from its last back, until one that cannot be."""
    read: set[Any] = set()
    for order in ("ASC", "DESC"):
        try:
            query = f"SELECT seq, body FROM events WHERE session = ? ORDER BY seq {order}"  # noqa: S608
            for seq, _ in wreck.execute(query, (key,)):
                if seq in read:
                    break
                read.add(seq)
        except _BROKEN:
            # The other end may be whole.
            continue
    return len(read)
