"""Kinds of damage: what can happen to the file of a store, from a flipped bit to an edit by hand.

Each takes a copy of the pristine store and breaks it; what it breaks is decided by the random numbers it is given.
"""

# ruff: noqa: S608  (columns and values are constants of ours)

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final


@dataclass
class Pristine:
    """A store before anything happened to it, and the right answers."""

    file: Path
    with_wal: Path
    messages: dict[str, list[str]] = field(default_factory=dict)
    calls: dict[str, dict[int, bytes]] = field(default_factory=dict)
    passages: set[str] = field(default_factory=set)
    recalled: dict[str, str] = field(default_factory=dict)


Damage = Callable[[Pristine, Path, random.Random], Path]
DAMAGES: Final[dict[str, Damage]] = {}
# Damage that the check must always find: that of events and artifacts.
SEEN: Final[set[str]] = set()


def _of_bytes(change: Callable[[bytearray, random.Random], None]) -> None:
    def damage(pristine: Pristine, place: Path, rng: random.Random) -> Path:
        file = place / "agent.db"
        data = bytearray(pristine.file.read_bytes())
        change(data, rng)
        file.write_bytes(data)
        return file

    DAMAGES[change.__name__] = damage


def _of_wal(change: Callable[[bytearray, random.Random], None]) -> None:
    def damage(pristine: Pristine, place: Path, rng: random.Random) -> Path:
        file = place / "agent.db"
        shutil.copy(pristine.with_wal, file)
        wal = pristine.with_wal.with_name(pristine.with_wal.name + "-wal")
        data = bytearray(wal.read_bytes() if wal.exists() else b"")
        change(data, rng)
        (place / "agent.db-wal").write_bytes(data)
        return file

    DAMAGES[f"{change.__name__}_of_wal"] = damage


def _of_rows(*, seen: bool = False) -> Callable[[Callable[[sqlite3.Connection, random.Random], None]], None]:
    def registered(change: Callable[[sqlite3.Connection, random.Random], None]) -> None:
        def damage(pristine: Pristine, place: Path, rng: random.Random) -> Path:
            file = place / "agent.db"
            shutil.copy(pristine.file, file)
            with closing(sqlite3.connect(file)) as connection, connection:
                change(connection, rng)
            return file

        DAMAGES[change.__name__] = damage
        if seen:
            SEEN.add(change.__name__)

    return registered


def _flipped(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 12)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _page(data: bytearray, rng: random.Random) -> slice:
    start = rng.randrange(max(1, len(data) // 4_096)) * 4_096
    return slice(start, min(len(data), start + 4_096))


@_of_bytes
def flip_bits(data: bytearray, rng: random.Random) -> None:
    _flipped(data, rng)


@_of_bytes
def flip_bits_of_one_page(data: bytearray, rng: random.Random) -> None:
    place = _page(data, rng)
    for _ in range(20):
        data[rng.randrange(place.start, place.stop)] = rng.randrange(256)


@_of_bytes
def zero_a_page(data: bytearray, rng: random.Random) -> None:
    place = _page(data, rng)
    data[place] = bytes(place.stop - place.start)


@_of_bytes
def copy_a_page_over_another(data: bytearray, rng: random.Random) -> None:
    data[_page(data, rng)] = data[_page(data, rng)]


@_of_bytes
def truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


@_of_bytes
def change_letters(data: bytearray, rng: random.Random) -> None:
    """The subtle kind: a text stays valid and says something else."""
    place = data.find(b"cents", rng.randrange(len(data) // 2))
    if place >= 0:
        data[place : place + 5] = b"pence"


@_of_wal
def flip(data: bytearray, rng: random.Random) -> None:
    if data:
        _flipped(data, rng)


@_of_wal
def cut(data: bytearray, rng: random.Random) -> None:
    # What a power cut leaves of a write that was never acknowledged; SQLite ends with the last whole transaction.
    if data:
        del data[len(data) - rng.randrange(1, 4_000) :]


def _some_event(connection: sqlite3.Connection, rng: random.Random, where: str = "1") -> tuple[int, int]:
    found: list[tuple[int, int]] = connection.execute(f"SELECT session, seq FROM events WHERE {where}").fetchall()
    return rng.choice(found)


@_of_rows(seen=True)
def swap_text(connection: sqlite3.Connection, rng: random.Random) -> None:
    key = _some_event(connection, rng, "body LIKE '%cents%' OR body LIKE '%line 1%' OR body LIKE '%total%'")
    connection.execute(
        "UPDATE events SET body = replace(replace(replace(body, 'cents', 'pence'), 'line 1', 'line 9'), 'total', 'fee') "
        "WHERE session = ? AND seq = ?",
        key,
    )


@_of_rows(seen=True)
def exchange_bodies(connection: sqlite3.Connection, rng: random.Random) -> None:
    one, other = _some_event(connection, rng, "session = 1"), _some_event(connection, rng, "session = 2")
    (body,) = connection.execute("SELECT body FROM events WHERE session = ? AND seq = ?", one).fetchone()
    (body_two,) = connection.execute("SELECT body FROM events WHERE session = ? AND seq = ?", other).fetchone()
    if body == body_two:
        body_two = body.replace("e", "i")
    connection.execute("UPDATE events SET body = ? WHERE session = ? AND seq = ?", (body_two, *one))
    connection.execute("UPDATE events SET body = ? WHERE session = ? AND seq = ?", (body, *other))


@_of_rows(seen=True)
def move_to_another_session(connection: sqlite3.Connection, rng: random.Random) -> None:
    """A whole row, with its checksum, takes the place of one in another session."""
    seq = rng.randrange(1, 5)
    connection.execute("DELETE FROM events WHERE session = 2 AND seq = ?", (seq,))
    connection.execute("UPDATE events SET session = 2 WHERE session = 1 AND seq = ?", (seq,))


@_of_rows(seen=True)
def exchange_places(connection: sqlite3.Connection, rng: random.Random) -> None:
    """Two events of one session, with their checksums."""
    one, other = rng.sample(range(2, 20), 2)
    for before, after in ((one, -1), (other, one), (-1, other)):
        connection.execute("UPDATE events SET seq = ? WHERE session = 1 AND seq = ?", (after, before))


_EVENT_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "kind": ("message_appended", "call_recorded", "nonsense", 7, b"\xff"),
    "position": (0, 3, 999, "x", 2.5, b"\xff", None),
    "ref": ("m2", "1", "2", 7, b"\xff", "x\ud83d".encode("utf-16", "surrogatepass")),
    "role": ("user", "assistant", "nobody", 3, None, b"\xff"),
    "tool": ("Read", 3, b"\xff\xfe"),
    "origin": ("user", "nonsense", 4),
    "time": (1.0, 1e300, -5.0, "noon", b"\xff", float("inf")),
    "recorded_at": ("2020-01-01 00:00:00.000000", "yesterday", 5, b"\xff", "0000-00-00 00:00:00"),
    "version": (0, 2, 99, "1", b"\xff"),
    "writer": (1, "x"),
    "body": (
        "",
        "{",
        "[]",
        "{}",
        '{"kind":"message_appended"}',
        5,
        b"\xff\xfe",
        b"{}",
        '{"kind":"nonsense"}',
        "\ud7ff",
    ),
    "spilled": ("{", "[]", '{"0.text":"00"}', '{"9.text":"00"}', '{"x":"00"}', 5, b"\xff"),
    "checksum": (0, 1, "x", b"\xff", -(2**63)),
}


@_of_rows(seen=True)
def change_a_column(connection: sqlite3.Connection, rng: random.Random) -> None:
    column = rng.choice(list(_EVENT_VALUES))
    value = rng.choice(_EVENT_VALUES[column])
    session, seq = _some_event(connection, rng, f"{column} IS NOT NULL")
    connection.execute("DROP INDEX events_position")
    before = connection.execute(f"SELECT {column} FROM events WHERE session = ? AND seq = ?", (session, seq)).fetchone()
    value = "another" if before == (value,) else value
    connection.execute(f"UPDATE events SET {column} = ? WHERE session = ? AND seq = ?", (value, session, seq))


@_of_rows(seen=True)
def put_invalid_utf8_into_an_event(connection: sqlite3.Connection, rng: random.Random) -> None:
    column = rng.choice(("kind", "ref", "role", "tool", "origin", "body", "spilled", "recorded_at"))
    key = _some_event(connection, rng)
    text = "CAST(x'7b22ff8022' AS TEXT)"
    connection.execute(f"UPDATE events SET {column} = {text} WHERE session = ? AND seq = ?", key)


@_of_rows(seen=True)
def delete_events(connection: sqlite3.Connection, rng: random.Random) -> None:
    session, seq = _some_event(connection, rng)
    connection.execute("DELETE FROM events WHERE session = ? AND seq BETWEEN ? AND ?", (session, seq, seq + 2))


@_of_rows(seen=True)
def delete_the_last_events(connection: sqlite3.Connection, rng: random.Random) -> None:
    connection.execute("DELETE FROM checkpoints")
    session = rng.choice((1, 2))
    (last,) = connection.execute("SELECT max(seq) FROM events WHERE session = ?", (session,)).fetchone()
    connection.execute("DELETE FROM events WHERE session = ? AND seq > ?", (session, last - rng.randint(1, 5)))


@_of_rows(seen=True)
def break_an_artifact(connection: sqlite3.Connection, rng: random.Random) -> None:
    name, data = rng.choice(connection.execute("SELECT sha256, data FROM artifacts").fetchall())
    broken = bytearray(data)
    match rng.randrange(6):
        case 0:
            _flipped(broken, rng)
            value: object = bytes(broken) if bytes(broken) != data else b""
        case 1:
            value = data[: len(data) // 2]
        case 2:
            # A frame that claims to hold four gigabytes.
            value = b"\x28\xb5\x2f\xfd\xa0\xff\xff\xff\xff" + data[9:]
        case 3:
            value = "text"
        case 4:
            value = b""
        case _:
            value = connection.execute("SELECT data FROM artifacts WHERE sha256 <> ?", (name,)).fetchone()[0]
    connection.execute("UPDATE artifacts SET data = ? WHERE sha256 = ?", (value, name))


@_of_rows(seen=True)
def change_what_an_artifact_says_of_itself(connection: sqlite3.Connection, rng: random.Random) -> None:
    column, value = rng.choice((("encoding", "plain"), ("encoding", 5), ("size", 3), ("size", "x")))
    (name,) = rng.choice(connection.execute("SELECT sha256 FROM artifacts WHERE encoding = 'zstd'").fetchall())
    connection.execute(f"UPDATE artifacts SET {column} = ? WHERE sha256 = ?", (value, name))


@_of_rows(seen=True)
def delete_an_artifact(connection: sqlite3.Connection, rng: random.Random) -> None:
    (name,) = rng.choice(connection.execute("SELECT sha256 FROM artifacts").fetchall())
    connection.execute("DELETE FROM artifacts WHERE sha256 = ?", (name,))


@_of_rows(seen=True)
def refer_to_another_artifact(connection: sqlite3.Connection, rng: random.Random) -> None:
    session, seq = _some_event(connection, rng, "spilled IS NOT NULL")
    where = "WHERE session = ? AND seq = ?"
    (spilled,) = connection.execute(f"SELECT spilled FROM events {where}", (session, seq)).fetchone()
    names = [name for (name,) in connection.execute("SELECT sha256 FROM artifacts") if name not in spilled]
    old = spilled.split('":"')[1][:64]
    connection.execute(
        f"UPDATE events SET spilled = ? {where}", (spilled.replace(old, rng.choice(names)), session, seq)
    )


@_of_rows()
def break_a_checkpoint(connection: sqlite3.Connection, rng: random.Random) -> None:
    rows = connection.execute("SELECT rowid, data FROM checkpoints").fetchall()
    if rows:
        place, data = rng.choice(rows)
        broken = bytearray(data)
        _flipped(broken, rng)
        value = rng.choice((bytes(broken), b"", "text", data[:50], b"\x28\xb5\x2f\xfd\xa0\xff\xff\xff\xff" + data[9:]))
        connection.execute("UPDATE checkpoints SET data = ? WHERE rowid = ?", (value, place))


@_of_rows()
def move_a_checkpoint(connection: sqlite3.Connection, rng: random.Random) -> None:
    seq, session = rng.choice(((5, 1), (9, 2), (30, 1), ("x", 1)))
    connection.execute("DELETE FROM checkpoints WHERE session = 2")
    connection.execute("UPDATE checkpoints SET seq = ?, session = ?", (seq, session))


_SESSION_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "session_id": ("c", b"\xff", 5),
    "vault_name": (b"\xff", 5),
    "title": (b"\xff", 5),
    "metadata": ("{", 5, b"\xff", "[]"),
    "tags": ("{", 5, b"\xff", "[]"),
    "events": (0, 3, 999, -1, "x", b"\xff"),
    "messages": (0, 2, 999, -1, "x"),
    "tokens": (-1, "x"),
    "calls": (0, 99, "x"),
    "indexed": (0, 999, -4, "x"),
    "created_at": ("yesterday", 5, b"\xff"),
    "last_activity_at": ("yesterday", 5, b"\xff"),
}


@_of_rows()
def change_a_session(connection: sqlite3.Connection, rng: random.Random) -> None:
    column = rng.choice(list(_SESSION_VALUES))
    values = (rng.choice(_SESSION_VALUES[column]), rng.choice((1, 2)))
    connection.execute(f"UPDATE sessions SET {column} = ? WHERE id = ?", values)


@_of_rows()
def put_invalid_utf8_into_a_session(connection: sqlite3.Connection, rng: random.Random) -> None:
    column = rng.choice(("session_id", "vault_name", "title", "metadata", "tags", "created_at", "last_activity_at"))
    connection.execute(f"UPDATE sessions SET {column} = CAST(x'ff80' AS TEXT) WHERE id = ?", (rng.choice((1, 2)),))


@_of_rows()
def exchange_session_names(connection: sqlite3.Connection, _rng: random.Random) -> None:
    """The logs stay where they are: each would be believed to be the other's."""
    for before, after in (("a", "-"), ("b", "a"), ("-", "b")):
        connection.execute("UPDATE sessions SET session_id = ? WHERE session_id = ?", (after, before))


@_of_rows()
def change_a_call_row(connection: sqlite3.Connection, rng: random.Random) -> None:
    columns = [row[1] for row in connection.execute("PRAGMA table_info(context_summaries)") if row[1] != "id"]
    column, text = rng.choice(columns), "CAST(x'ff80' AS TEXT)"
    value = rng.choice(("'x'", "5", "-1", "x'ff'", "'{'", text, "'[1]'"))
    number = connection.execute("SELECT id FROM context_summaries ORDER BY id").fetchall()
    connection.execute(f"UPDATE context_summaries SET {column} = {value} WHERE id = ?", rng.choice(number))


@_of_rows()
def break_the_index(connection: sqlite3.Connection, rng: random.Random) -> None:
    match rng.randrange(4):
        case 0:
            connection.execute("UPDATE passages SET words = 'x'")
        case 1:
            connection.execute("UPDATE passage_totals SET passages = 'x', words = -5")
        case 2:
            connection.execute(
                "DELETE FROM passages_text_data WHERE rowid IN (SELECT max(rowid) FROM passages_text_data)"
            )
        case _:
            connection.execute("UPDATE passages_text_data SET block = x'00ff00ff'")


@_of_rows()
def drop_a_table(connection: sqlite3.Connection, rng: random.Random) -> None:
    tables = ("events", "artifacts", "checkpoints", "context_summaries", "passages", "passage_totals", "artifact_uses")
    connection.execute(f"DROP TABLE {rng.choice(tables)}")
