"""Processes that are killed while they append and compile: what they acknowledged is in the store."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from foveate import Session
from foveate.store import Store
from tests.attack.attack import BROKEN, Scene
from tests.attack.databases import postgresql_server
from tests.store.writing import turns

# A session that grows for ever would be checked more slowly with every kill.
KILLS_PER_SESSION: Final = 25
_processes: Final = multiprocessing.get_context("forkserver")


@dataclass
class Acknowledged:
    """What a writer was told is safe."""

    messages: dict[str, str] = field(default_factory=dict)
    calls: dict[int, str] = field(default_factory=dict)


def write_until_killed(url: str, session_id: str, name: str, said: Connection) -> None:
    """Append turns and compile, and say what was acknowledged."""
    with Session.open(url, session_id, budget=4_000) as session:
        said.send(("ready", "", ""))
        for turn in turns(name, 10_000):
            for step in turn:
                ids = session.extend(step)
                for message, message_id in zip(step, ids, strict=True):
                    said.send(("message", message_id, str(message["content"])))
                view = session.compile()
                said.send(("call", view.number, view.payload_sha256))


def kill_writers_sqlite(scene: Scene) -> Iterator[str]:
    """Kill writers of a SQLite store."""
    yield from _kill_writers(scene, f"sqlite:///{scene.folder / 'killed.db'}")


def kill_writers_postgresql(scene: Scene) -> Iterator[str]:
    """Kill writers of a PostgreSQL store."""
    with postgresql_server(scene.folder) as server:
        yield from _kill_writers(scene, server.create_database())


def _kill_writers(scene: Scene, url: str) -> Iterator[str]:
    _processes.set_forkserver_preload(["tests.attack.kills"])
    acknowledged = Acknowledged()
    for number in range(scene.count):
        session_id = f"killed-{number // KILLS_PER_SESSION}"
        if number % KILLS_PER_SESSION == 0:
            acknowledged = Acknowledged()
        ended = _kill_one(url, session_id, f"w{number}", scene.rng.uniform(0.0, 0.3), acknowledged)
        last = number == scene.count - 1 or (number + 1) % KILLS_PER_SESSION == 0
        # All calls are rebuilt once the session is complete; its messages are looked at after each kill.
        problem = ended or check_acknowledged(url, session_id, acknowledged, calls=last)
        yield f"{BROKEN}{problem}" if problem else "kept all that was acknowledged"


def _kill_one(url: str, session_id: str, name: str, after: float, acknowledged: Acknowledged) -> str:
    """Kill one writer; says what is wrong if it ended by itself before it had anything to lose."""
    heard, said = _processes.Pipe(duplex=False)
    process = _processes.Process(target=write_until_killed, args=(url, session_id, name, said))
    process.start()
    said.close()
    with heard:
        try:
            heard.recv()
        except EOFError:
            process.join()
            return "the writer could not open its session"
        kill_and_hear_out(process, heard, after, acknowledged)
    return ""


def kill_and_hear_out(process: BaseProcess, heard: Connection, after: float, acknowledged: Acknowledged) -> None:
    """Kill a writer after some seconds, and take note of all that it said was acknowledged."""
    time.sleep(after)
    process.kill()
    try:
        while True:
            kind, key, value = heard.recv()
            if kind == "message":
                acknowledged.messages[key] = value
            else:
                acknowledged.calls[int(key)] = value
    except EOFError:
        process.join()


def check_acknowledged(url: str | Path, session_id: str, acknowledged: Acknowledged, *, calls: bool) -> str:
    """What is missing of what was acknowledged; empty if nothing is."""
    with Store(url) as store, Session.open(store, session_id, budget=4_000) as session:
        found = {message.id: message for message in session.messages}
        if len(found) != len(session.messages):
            return "an id was given twice"
        for message_id, text in acknowledged.messages.items():
            message = found.get(message_id)
            if message is None:
                return f"message {message_id} is lost"
            if text not in ("None", message.text):
                return f"message {message_id} has another text"
        if calls:
            for number, sha256 in acknowledged.calls.items():
                if session.call(number).payload_sha256 != sha256:
                    return f"call {number} is rebuilt otherwise"
    return ""
