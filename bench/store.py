"""What durability costs: `python -m bench.store`.

Appends beside the raw driver doing the same inserts, opening a session of a million events beside one of ten thousand,
and bytes on disk beside those of the messages and of all requests. All in one run.
"""

import argparse
import gc
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
from rich.progress import track
from sqlalchemy import make_url
from sqlalchemy.dialects.postgresql import dialect as postgresql_dialect
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from bench.databases import databases
from bench.logs import data_root, load_sessions
from foveate import Session
from foveate.log.events import Event, FramingSet
from foveate.sample import coding_session
from foveate.store import Store
from foveate.store.rows import Owner, row_of
from foveate.store.schema import events as event_table

Report = dict[str, Any]
Message = dict[str, Any]

BATCHES = (1, 10, 100, 1_000)
REPETITIONS = 5
BUDGET = 8_000


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.directory) as directory, databases(directory, options.engines) as urls:
        report: Report = {}
        for name, url in urls.items():
            report[name] = {"appends": _appends(url, options.appends)}
            if "flat" not in options.skip:
                report[name]["flat"] = _flat(url, options.events)
        if "disk" not in options.skip:
            report["disk"] = _disk(Path(directory))
    print(json.dumps(report, indent=2) if options.json else "\n".join(_lines(report)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.store", description=__doc__)
    parser.add_argument("--engines", nargs="+", choices=("sqlite", "postgresql"), default=["sqlite", "postgresql"])
    parser.add_argument("--appends", type=int, default=10_000, help="messages for each size of batch")
    parser.add_argument("--events", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--skip", nargs="*", choices=("flat", "disk"), default=[])
    parser.add_argument("--directory", default=None, help="where the databases are made; a real disk, not memory")
    parser.add_argument("--json", action="store_true")
    return parser


def _messages() -> Iterator[Message]:
    """A coding session over and over; each time round its texts say another number, so that no two are the same."""
    around = 0
    while True:
        around += 1
        for message in coding_session():
            content = message.get("content")
            yield {**message, "content": f"{content}\n(round {around})" if isinstance(content, str) else content}


# --- appends ------------------------------------------------------------------------------------------------------


def _appends(url: str, count: int) -> list[Report]:
    """Messages a second for sizes of batches: the driver alone, the store with events made beforehand, a session."""
    reports = []
    for size in BATCHES:
        total = min(count, 300 * size)
        messages = list(islice(_messages(), total))
        batches = [messages[start : start + size] for start in range(0, total, size)]
        events = _events(batches)
        turns = [
            # In turns, so that a slow moment of the machine hits all.
            (_raw_seconds(url, events), _store_seconds(url, events), _session_seconds(url, batches, f"{size}-{turn}"))
            for turn in range(3)
        ]
        raw, store, session = (median(one) for one in zip(*turns, strict=True))
        reports.append({"batch": size, "raw": total / raw, "store": total / store, "session": total / session})
    return reports


def _events(batches: list[list[Message]]) -> list[list[Event]]:
    """The events of each batch, as a session in memory makes them."""
    session = Session()
    events = []
    for batch in batches:
        before = session.context.length
        session.extend(batch)
        events.append(list(session.context.log.events(before, session.context.length)))
    return events


def _session_seconds(url: str, batches: list[list[Message]], name: str) -> float:
    with Session.open(url, f"appends-{name}") as session:
        start = time.perf_counter()
        for batch in batches:
            session.extend(batch)
        return time.perf_counter() - start


def _store_seconds(url: str, batches: list[list[Event]]) -> float:
    with Store(url) as store:
        info = store.begin(f"store-{time.perf_counter_ns()}")
        writer = store.writer(info)
        first = next(event for batch in batches for event in batch)
        # In memory the first event is the framing, which the batches do not have.
        store.append(writer, [Event(session=info.session_id, seq=0, body=FramingSet())] if first.seq else [])
        start = time.perf_counter()
        for batch in batches:
            store.append(writer, batch)
        return time.perf_counter() - start


def _raw_seconds(url: str, batches: list[list[Event]]) -> float:
    """The rows of the same events through the driver: one table, one transaction for each batch."""
    when = "2026-01-01 00:00:00.000000"
    rows = [[row_of(Owner(1, "raw"), event, event.seq, 1, when)[0] for event in batch] for batch in batches]
    name = f"raw_{time.perf_counter_ns()}"
    lite = url.startswith("sqlite")
    dialect: Any = sqlite_dialect() if lite else postgresql_dialect()  # type: ignore[no-untyped-call]
    columns = [f"{column.name} {column.type.compile(dialect)}" for column in event_table.columns]
    create = f"CREATE TABLE {name} ({', '.join(columns)}, PRIMARY KEY (session, seq))"
    insert = f"INSERT INTO {name} VALUES ({', '.join(['?' if lite else '%s'] * len(columns))})"  # noqa: S608
    with closing(_connected(url)) as connection:
        connection.execute(create)
        connection.commit()
        start = time.perf_counter()
        for batch in rows:
            cursor = connection.cursor()
            if lite:
                cursor.execute("BEGIN IMMEDIATE")
            cursor.executemany(insert, batch)
            connection.commit()
        return time.perf_counter() - start


def _connected(url: str) -> Any:
    if not url.startswith("sqlite"):
        return psycopg.connect(url)
    connection = sqlite3.connect(f"{make_url(url).database}.raw", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


# --- flat ---------------------------------------------------------------------------------------------------------


def _flat(url: str, sizes: Sequence[int]) -> list[Report]:
    """Opening a session and its next compile, for logs of several lengths."""
    reports = []
    for size in sizes:
        name = f"long-{size}"
        with Session.open(url, name, budget=BUDGET) as session:
            written = _fill(session, size)
        opens = [_opened(url, name) for _ in range(REPETITIONS)]
        reports.append(
            {
                "events": size,
                "write_seconds": written,
                "open_ms": 1_000 * median(one for one, _ in opens),
                "compile_ms": 1_000 * median(one for _, one in opens),
            }
        )
    return reports


def _fill(session: Session, size: int) -> float:
    """Write a log as agents do, a call now and then."""
    start = time.perf_counter()
    messages = _messages()
    with_bar = track(range(session.context.length, size, 500), description=f"{size:,} events", disable=size < 50_000)
    for _ in with_bar:
        if session.context.length >= size:
            break
        session.extend(list(islice(messages, 400)))
        session.compile()
    return time.perf_counter() - start


def _opened(url: str, name: str) -> tuple[float, float]:
    gc.collect()
    start = time.perf_counter()
    with Session.open(url, name, budget=BUDGET) as session:
        opened = time.perf_counter()
        session.append({"role": "user", "content": "Where does the expired reservation get released?"})
        session.compile()
        return opened - start, time.perf_counter() - opened


# --- disk ---------------------------------------------------------------------------------------------------------


def _disk(directory: Path) -> Report:
    """Bytes on disk for recorded sessions with every call, beside their messages and all their requests."""
    path = directory / "disk.db"
    root = data_root()
    if root is None:
        raise SystemExit("no recorded sessions: set FOVEATE_DATA to a directory of them, or give --skip disk")
    content = requests = calls = 0
    with Store(path) as store:
        for number, recorded in enumerate(load_sessions(root)):
            with Session.open(store, f"{number}", budget=BUDGET, system=recorded.system) as session:
                for message in recorded.messages:
                    if message["role"] == "assistant":
                        view = session.compile()
                        requests += len(view.payload)
                        calls += 1
                    session.append(message)
                    content += len(json.dumps(message, ensure_ascii=False).encode())
        with store.writing() as connection:
            tables = dict(_table_sizes(connection.exec_driver_sql))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = path.stat().st_size
    return {
        "calls": calls,
        "content_bytes": content,
        "disk_bytes": size,
        "request_bytes": requests,
        "disk_per_content": size / content,
        "requests_per_content": requests / content,
        "tables": tables,
    }


def _table_sizes(execute: Callable[[str], Any]) -> Iterator[tuple[str, int]]:
    yield from execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 12")


# --- report -------------------------------------------------------------------------------------------------------


def _lines(report: Report) -> Iterator[str]:
    for engine in ("sqlite", "postgresql"):
        if engine not in report:
            continue
        yield f"{engine}: messages a second, and beside the driver alone"
        for one in report[engine]["appends"]:
            raw, store, session = one["raw"], one["store"], one["session"]
            yield (
                f"  batches of {one['batch']:>5,}: driver {raw:>8,.0f}, store {store:>8,.0f} ({store / raw:.2f}), "
                f"session {session:>8,.0f} ({session / raw:.2f})"
            )
        for one in report[engine].get("flat", ()):
            opened, compiled = one["open_ms"], one["compile_ms"]
            yield f"  {one['events']:>9,} events: open {opened:.1f} ms, append and compile {compiled:.1f} ms"
        yield ""
    if "disk" in report:
        disk = report["disk"]
        yield f"disk: {disk['disk_per_content']:.2f} bytes for each byte of messages, {disk['calls']} calls included;"
        yield f"  storing every request instead: {disk['requests_per_content']:.2f}"
        for name, size in disk["tables"].items():
            yield f"  {name:<28} {size:>12,}"


if __name__ == "__main__":
    raise SystemExit(main())
