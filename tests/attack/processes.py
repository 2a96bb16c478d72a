"""Threads on one session, forked children, and hours of work in one process."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Final

from foveate import Session
from foveate.budget.tokens import SplintrCounter
from foveate.log.events import CallRecorded
from tests.attack.attack import BROKEN, Scene
from tests.dialogue import call, calls, lines, result, says, user

_THREADS: Final = 8
_TEXTS: Final = 400
_PATIENCE: Final = 60.0
# A round of the attack on memory, the messages of each turn, and the bytes that are kept of each.
TURNS: Final = 25
_MESSAGES: Final = 4
_BYTES: Final = 1_000
# In megabytes: what an allocator may keep without need.
_GROWTH: Final = 20.0
_processes: Final = multiprocessing.get_context("forkserver")


def share_session(scene: Scene) -> Iterator[str]:
    """Append and compile from eight threads on one session, in memory and in a store."""
    for number in range(scene.count):
        store = scene.folder / f"threads-{number}.db" if number % 2 else None
        yield _shared(store, scene.rng)


def _shared(store: Path | None, rng: Random) -> str:
    session = Session(budget=4_000) if store is None else Session.open(store, "shared", budget=4_000)
    given: list[tuple[str, str]] = []
    numbers: list[int] = []

    def work(name: str) -> None:
        for turn in range(12):
            text = f"{name} says {turn}"
            given.append((session.append(user(text)), text))
            numbers.append(session.compile().number)
            session.append(says(f"{name} answers {turn}"))

    try:
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(work, [f"t{number}-{rng.random()}" for number in range(_THREADS)]))
    except Exception as error:  # noqa: BLE001  any error is the finding
        return f"{BROKEN}{error!r}"
    found = {message.id: message.text for message in session.messages}
    recorded = [event.body.number for event in session.events if isinstance(event.body, CallRecorded)]
    session.close()
    if any(found.get(message_id) != text for message_id, text in given) or len(found) != 2 * len(given):
        return f"{BROKEN}of {2 * len(given)} messages {len(found)} are there"
    if sorted(numbers) != recorded or recorded != list(range(1, len(recorded) + 1)):
        return f"{BROKEN}call numbers given {sorted(numbers)[:5]}… and recorded {recorded[:5]}…"
    return "kept all messages and calls"


def compile_at_once(scene: Scene) -> Iterator[str]:
    """Compile the same session from several tasks of one event loop."""
    for number in range(scene.count):
        with Session.open(scene.folder / f"loop-{number}.db", "s", budget=4_000) as session:
            session.extend([user("hello"), *calls_with_output(6)])

            async def at_once(session: Session = session) -> list[int]:
                return [view.number for view in await asyncio.gather(*(session.acompile() for _ in range(6)))]

            numbers = sorted(asyncio.run(at_once()))
        yield "each has its own number" if numbers == list(range(1, 7)) else f"{BROKEN}numbers {numbers}"


def calls_with_output(count: int) -> list[dict[str, object]]:
    """Exchanges with outputs of some size."""
    found: list[dict[str, object]] = []
    for number in range(count):
        found += [calls(call(f"c{number}", "bash", command="ls")), result(f"c{number}", lines(60))]
    return found


def fork_after_counting(scene: Scene) -> Iterator[str]:
    """Count many texts, fork, and count in the child as well."""
    texts = [f"{number} {lines(20)}" for number in range(_TEXTS)]
    SplintrCounter().count_many(texts)
    for number in range(scene.count):
        child = os.fork()
        if child == 0:
            try:
                with Session.open(scene.folder / f"fork-{number}.db", "s", budget=4_000) as session:
                    session.extend([user("hello"), *calls_with_output(80)])
                    session.compile()
                SplintrCounter().count_many(texts)
            except BaseException:  # noqa: BLE001  the parent is told by the status
                os._exit(1)
            os._exit(0)
        yield _ended(child)


def _ended(child: int) -> str:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "the child ended well" if status == 0 else f"{BROKEN}the child ended with {status}"
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"{BROKEN}the child hangs"


def use_memory(scene: Scene) -> Iterator[str]:
    """Work on in a process of its own: once it is warm, the memory does not grow with what is done."""
    heard, said = _processes.Pipe(duplex=False)
    process = _processes.Process(target=work_on, args=(str(scene.folder / "memory.db"), scene.count, said))
    process.start()
    said.close()
    sizes: list[float] = []
    try:
        while len(sizes) < scene.count:
            sizes.append(heard.recv())
            yield grown(sizes)
    except EOFError:
        yield f"{BROKEN}the process ended with {process.exitcode}"
    finally:
        heard.close()
        process.kill()
        process.join()


def work_on(store: str, rounds: int, said: Connection) -> None:
    """Append and compile, and say after each round how many megabytes that took."""
    with Session.open(store, "s", budget=8_000) as session:
        for turn in range(rounds * TURNS):
            session.append(user(f"Question {turn}: {lines(3)}"))
            session.compile()
            session.extend([*_exchange(turn), says(f"Answer {turn}.")])
            if (turn + 1) % TURNS == 0:
                gc.collect()
                said.send(_resident_megabytes())


def _exchange(turn: int) -> list[dict[str, object]]:
    return [calls(call(f"c{turn}", "bash", command=f"run {turn}")), result(f"c{turn}", lines(30, f"out {turn}"))]


def grown(sizes: list[float]) -> str:
    """Whether memory grew over the last two thirds of all rounds by more than what is kept of each message."""
    warm = sizes[len(sizes) // 3 :]
    growth = warm[-1] - warm[0]
    # What is kept of each message (its id, its place) is small but not nothing: a leak of views would be far more.
    allowed = _GROWTH + (len(warm) - 1) * TURNS * _MESSAGES * _BYTES / (1 << 20)
    if growth > allowed:
        return f"{BROKEN}memory grew by {growth:,.0f} MB, and {allowed:,.0f} are needed"
    return "memory stays"


def _resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
