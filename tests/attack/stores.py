"""Stores that are locked, full or damaged: nothing acknowledged is lost, and nothing wrong is believed."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Final

from foveate import Session
from foveate.errors import StoreError
from foveate.store import Store
from tests.attack.attack import BROKEN, Scene
from tests.attack.kills import Acknowledged, check_acknowledged, kill_and_hear_out
from tests.store.damage import defects, run_damage
from tests.store.locking import locked
from tests.store.writing import turns

_TURNS: Final = 3
_processes: Final = multiprocessing.get_context("forkserver")


def damage_stores(scene: Scene) -> Iterator[str]:
    """Damage copies of a store and read all of each."""
    seed = scene.rng.randrange(1 << 30)
    for number in range(scene.count):
        found = defects(run_damage(1, seed + number))
        yield f"{BROKEN}{next(iter(found))}" if found else "was read right, or refused by name"


def lock_stores(scene: Scene) -> Iterator[str]:
    """Hold the store's lock while a session goes on: all it says is in the store when the lock is gone."""
    for number in range(scene.count):
        url = f"sqlite:///{scene.folder / f'locked-{number}.db'}"
        with Store(url):
            pass
        acknowledged, begun, over = Acknowledged(), threading.Event(), threading.Event()
        locker = threading.Thread(target=_hold_lock, args=(url, begun, over))
        locker.start()
        begun.wait()
        try:
            kept = _talk(url, acknowledged, scene.rng, release=over)
        finally:
            over.set()
            locker.join()
        problem = check_acknowledged(url, "locked", acknowledged, calls=True)
        yield f"{BROKEN}{problem}" if problem else kept


def fill_stores(scene: Scene) -> Iterator[str]:
    """Have a store's disk full while a session goes on, and is killed: all it said is there when there is room."""
    held = 0
    for number in range(scene.count):
        file = scene.folder / f"full-{number}.db"
        with Store(file):
            pass
        acknowledged = Acknowledged()
        if number % 2:
            kept = _talk_without_room(file, acknowledged)
        else:
            kept = _talk_and_be_killed(file, acknowledged, scene.rng.uniform(0.0, 0.4))
            held += any(Path(f"{file}.held").glob("*.jsonl"))
        problem = check_acknowledged(f"sqlite:///{file}", "locked", acknowledged, calls=True)
        yield f"{BROKEN}{problem}" if problem else kept
    if not held:
        yield f"{BROKEN}no disk was full when its session was killed"


def _talk_without_room(file: Path, acknowledged: Acknowledged) -> str:
    """Talk while the store says what SQLite says when a disk is full; then there is room again."""
    with closing(sqlite3.connect(file)) as connection, connection:
        refuse = "SELECT RAISE(ABORT, 'database or disk is full')"
        connection.execute(f"CREATE TRIGGER full BEFORE INSERT ON events BEGIN {refuse}; END")
    kept = _talk(f"sqlite:///{file}", acknowledged, Random(0))
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DROP TRIGGER full")
    return kept


def _talk_and_be_killed(file: Path, acknowledged: Acknowledged, after: float) -> str:
    """Talk in a process whose files cannot grow any more, and kill it after some seconds."""
    heard, said = _processes.Pipe(duplex=False)
    process = _processes.Process(target=talk_in_little_room, args=(str(file), said))
    process.start()
    said.close()
    with heard:
        if heard.recv()[0] != "full":
            return f"{BROKEN}the session ended before its disk was full"
        kill_and_hear_out(process, heard, after, acknowledged)
    ended_well = process.exitcode in (-signal.SIGKILL, 0)
    return "kept all that was acknowledged" if ended_well else f"{BROKEN}the session ended with {process.exitcode}"


def talk_in_little_room(file: str, said: Connection) -> None:
    """Append and compile where no file may become larger than the store is, and say what was acknowledged."""
    with Session.open(file, "locked", budget=4_000) as session:
        # The store's own files are the largest: the file of held events has room where they have none.
        session.append({"role": "user", "content": "x" * 200_000})
        size = max(one.stat().st_size for one in Path(file).parent.glob(f"{Path(file).name}*") if one.is_file())
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        is_full = False
        for step in (step for turn in turns("full", 40) for step in turn):
            ids = session.extend(step, hold=True)
            if not is_full and session.held_in is not None:
                is_full = True
                said.send(("full", "", ""))
            if is_full:
                for message, message_id in zip(step, ids, strict=True):
                    said.send(("message", message_id, str(message["content"])))
                view = session.compile()
                said.send(("call", view.number, view.payload_sha256))
        said.send(("call" if is_full else "never", 1, session.call(1).payload_sha256))
        time.sleep(5)


def _hold_lock(url: str, begun: threading.Event, over: threading.Event) -> None:
    with locked(url):
        begun.set()
        over.wait(60)


def _talk(url: str, acknowledged: Acknowledged, rng: Random, release: threading.Event | None = None) -> str:
    """Append and compile with `hold`, as a chat does; at some moment the lock may be let go."""
    steps = [step for turn in turns("held", _TURNS) for step in turn]
    moment = rng.randrange(len(steps) + 1)
    try:
        with Session.open(url, "locked", budget=4_000) as session:
            for number, step in enumerate(steps):
                if number == moment and release is not None:
                    release.set()
                ids = session.extend(step, hold=True)
                acknowledged.messages |= {one: str(message["content"]) for one, message in zip(ids, step, strict=True)}
                view = session.compile()
                acknowledged.calls[view.number] = view.payload_sha256
    except StoreError as error:
        return f"{BROKEN}the session ended with {error}"
    return "kept all that was acknowledged"
