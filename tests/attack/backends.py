"""Database backends that die under a session: what was acknowledged is kept, and no call number is given twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Final

from foveate import Session
from foveate.errors import StoreError
from foveate.store import Store
from tests.attack.attack import BROKEN, Scene
from tests.attack.databases import PostgreSQL, postgresql_server
from tests.attack.kills import Acknowledged, check_acknowledged
from tests.store.writing import turns

_TURNS: Final = 4
# In seconds: each connection is ended within a moment, so on a busy machine many appends in a row are refused.
_PATIENCE: Final = 60.0


def kill_backends(scene: Scene) -> Iterator[str]:
    """End the connections of a session at random moments while it appends and compiles."""
    with postgresql_server(scene.folder) as server:
        url = server.create_database()
        with Store(url):
            pass
        for number in range(scene.count):
            yield _attempt(server, url, f"backend-{number}", scene.rng)


def _attempt(server: PostgreSQL, url: str, session_id: str, rng: Random) -> str:
    acknowledged, given, kills = Acknowledged(), [], [0]
    database = url.rpartition("/")[2].partition("?")[0]
    try:
        with Session.open(url, session_id, budget=4_000) as session, _killer(server, database, rng, kills):
            for turn in turns(session_id, _TURNS):
                for step in turn:
                    _append(session, step, acknowledged)
                    view = session.compile()
                    given.append(view.number)
                    acknowledged.calls[view.number] = view.payload_sha256
    except StoreError as error:
        return f"{BROKEN}the session ended with {error}"
    if len(set(given)) != len(given):
        return f"{BROKEN}a call number was given twice: {given}"
    problem = check_acknowledged(url, session_id, acknowledged, calls=True)
    if problem:
        return f"{BROKEN}{problem}"
    return "kept all that was acknowledged" if kills[0] else "was not hit"


def _append(session: Session, step: list[dict[str, object]], acknowledged: Acknowledged) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            ids = session.extend(step)
        except StoreError:
            # Refused, so nothing was acknowledged: an agent's loop would try again.
            time.sleep(0.05)
            continue
        acknowledged.messages |= {one: str(message["content"]) for one, message in zip(ids, step, strict=True)}
        return
    raise StoreError(f"appends were refused for {_PATIENCE:.0f} s")


@contextmanager
def _killer(server: PostgreSQL, database: str, rng: Random, kills: list[int]) -> Iterator[None]:
    over = threading.Event()

    def kill() -> None:
        with server.connect() as connection:
            while not over.wait(rng.uniform(0.0, 0.08)):
                kills[0] += server.terminate_backends(connection, database)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
