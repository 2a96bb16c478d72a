"""Damaged stores: copies of one SQLite store, each broken in another way, and what reading them comes to.

`run_damage` is deterministic: the same seed breaks the same stores. Every reading must give the right answer or an
error of ours that says what to do; a wrong text, another exception or a hang is a defect.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from typer.testing import CliRunner

from foveate import ContextSection, LogError, Session, StoreError
from foveate.cli.main import app
from foveate.errors import FoveateError, UnknownReferenceError
from foveate.recall.passages import passages_of
from foveate.store import Store
from foveate.store.check import check
from tests.dialogue import exchange, lines, says, user, work
from tests.store.damage_kinds import DAMAGES, SEEN, Pristine

SECONDS: Final = 20
_QUERY: Final = "line 7 total cents"
# An error of a damaged store names one of these ways out.
_WAYS_OUT: Final = (
    "db check",
    "restore",
    "name another",
    "copy",
    "foveate sessions",
    "foveate show",
    "`foveate ",
    "m1",
)


def run_damage(count: int, seed: int) -> Counter[str]:
    """Break and read `count` stores; what each reading came to.

    Keys that begin with `right` or `refused` are as they should be; `wrong`, `crash`, `hang`, `unclear` and `unseen`
    are defects, followed by the kind of damage and what was read.
    """
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="foveate-damage-") as folder:
        pristine = build_pristine(Path(folder))
        for number in range(count):
            rng = random.Random(f"{seed}-{number}")
            name = list(DAMAGES)[(number + seed) % len(DAMAGES)]
            place = Path(folder) / f"{number}"
            place.mkdir()
            file = DAMAGES[name](pristine, place, rng)
            outcomes.update(_read_all(pristine, file, name, rng))
            outcomes["stores"] += 1
            shutil.rmtree(place)
    return outcomes


def defects(outcomes: Counter[str]) -> dict[str, int]:
    """The outcomes that should not be."""
    return {key: many for key, many in outcomes.items() if not key.startswith(("right", "refused", "stores"))}


def build_pristine(folder: Path) -> Pristine:
    """A store with calls, artifacts, sections, a checkpoint, tags and an index, once closed and once left by a kill."""
    file, killed = folder / "pristine.db", folder / "killed.db"
    _fill(file, "a", turns=5)
    _fill(file, "b", turns=1)
    pid = os.fork() if hasattr(os, "fork") else None
    if pid == 0:
        _fill(killed, "a", turns=5, close=False)
        _fill(killed, "b", turns=1, close=False)
        os._exit(0)
    if pid is not None:
        os.waitpid(pid, 0)
    else:
        shutil.copy(file, killed)
    pristine = Pristine(file, killed)
    for name in ("a", "b"):
        with Session.open(file, name) as session:
            pristine.messages[name] = [message.text for message in session.messages]
            pristine.calls[name] = {number: session.call(number).payload for number in (1, 2, 4)}
            for order, message in enumerate(session.messages):
                pristine.passages.update(one.text for one in passages_of(message, order))
            pristine.recalled[name] = session.recall("m2")
    return pristine


def _fill(file: Path, name: str, *, turns: int, close: bool = True) -> None:
    session = Session.open(file, name, budget=4_000, system=f"Be brief in {name}.")
    session.extend(
        [user(f"What is the total of {name}? 订单"), *exchange("x", "Read", lines(400, name), file_path="a.py")]
    )
    session.compile(now=2.25, sections=[ContextSection(name="notes", content=lines(40, "note"))])
    session.append(says(f"It is 4200 cents in {name}."))
    session.report_usage(1_000, 10)
    session.tag(arm="one")
    for message in work(turns):
        if message["role"] == "assistant":
            session.compile()
        session.append(message)
    if close:
        session.close()


# --- what is read -------------------------------------------------------------------------------------------------


def _read_all(pristine: Pristine, file: Path, damage: str, rng: random.Random) -> Iterator[str]:
    readings: dict[str, Callable[[], str]] = {
        "list": lambda: _list(file),
        "open": lambda: _open(pristine, file, rng.choice("ab"), cut=damage.endswith("_of_wal")),
        "call": lambda: _call(pristine, file, rng.choice("ab"), rng.choice((1, 2, 4))),
        "search": lambda: _search(pristine, file),
        "recall": lambda: _recall(pristine, file, rng.choice("ab")),
        "check": lambda: _check(file, damage),
        "command": lambda: _command(file, rng),
        "compile": lambda: _compile(file, rng.choice("ab")),
    }
    for name, read in readings.items():
        try:
            with _limited():
                said = read()
        except (StoreError, LogError, UnknownReferenceError) as error:
            clear = any(way in str(error) for way in _WAYS_OUT)
            said = f"refused: {name}" if clear else f"unclear: {damage}: {name}: {error}"
        except _HangError:
            said = f"hang: {damage}: {name}"
        except Exception as error:  # noqa: BLE001  any other one is what is looked for
            said = f"crash: {damage}: {name}: {error!r}"
        yield f"{said} ({damage})" if said.startswith("wrong") else said if said != "right" else f"right: {name}"


class _HangError(BaseException):
    """A reading takes too long."""


@contextmanager
def _limited() -> Generator[None, None, None]:
    def stop(_signal: int, _frame: object) -> None:
        raise _HangError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _list(file: Path) -> str:
    with Store(file, create=False) as store:
        store.sessions()
    return "right"


def _open(pristine: Pristine, file: Path, name: str, *, cut: bool) -> str:
    with Store(file, create=False) as store:
        store.session(name)
        with Session.open(store, name) as session:
            said, expected = [message.text for message in session.messages], pristine.messages[name]
            # SQLite takes a damaged log for one that a power cut ended: the transactions before it are all there.
            return _compared("open", said, expected[: len(said)] if cut else expected)


def _call(pristine: Pristine, file: Path, name: str, number: int) -> str:
    with Store(file, create=False) as store:
        store.session(name)
        with Session.open(store, name) as session:
            return _compared("call", session.call(number).payload, pristine.calls[name][number])


def _search(pristine: Pristine, file: Path) -> str:
    with Store(file, create=False) as store:
        wrong = [hit for hit in store.search(_QUERY) if hit.text not in pristine.passages]
        return f"wrong: search: {wrong[0].text[:80]!r}" if wrong else "right"


def _recall(pristine: Pristine, file: Path, name: str) -> str:
    with Store(file, create=False) as store:
        store.session(name)
        with Session.open(store, name) as session:
            return _compared("recall", session.recall("m2"), pristine.recalled[name])


def _check(file: Path, damage: str) -> str:
    with Store(file, create=False) as store:
        found = check(store)
    return "unseen: " + damage if damage in SEEN and not found else "right"


def _command(file: Path, rng: random.Random) -> str:
    arguments = rng.choice(_COMMANDS)
    result = CliRunner().invoke(app, [*arguments, "--store", str(file)])
    if result.exception is not None and not isinstance(result.exception, SystemExit | FoveateError):
        return f"crash: command {arguments[0]}: {result.exception!r}"
    return "right"


_COMMANDS: Final = (
    ["sessions"], ["show", "a"], ["show", "a", "--full"], ["show", "b", "--call", "2"], ["transcript", "a"],
    ["search", "total"], ["export", "b"], ["db", "check"], ["explain", "a"], ["recall", "a", "m2"], ["artifact", "a"],
)  # fmt: skip


def _compile(file: Path, name: str) -> str:
    # Last, because it writes.
    with Store(file, create=False) as store:
        store.session(name)
        with Session.open(store, name, budget=4_000) as session:
            session.append(user("And now?"))
            session.compile()
    return "right"


def _compared(what: str, found: object, expected: object) -> str:
    return "right" if found == expected else f"wrong: {what}: {str(found)[:200]!r}"
