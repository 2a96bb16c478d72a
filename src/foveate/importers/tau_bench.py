"""tau-bench: the results of a run, a JSON list with one conversation per task and trial.

Each is a session `<file>-<task_id>/<trial>`; the policy it begins with is the system prompt, the reward a tag.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from foveate.importers.completions import framed, messages_of, tag, tags_in
from foveate.importers.decoding import object_in
from foveate.importers.entries import Entry, Opening, Spoken
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import Recorded

NAME: Final = "tau-bench"


def recognises(head: Head) -> bool:
    """Whether a log holds results of tau-bench."""
    match head.document:
        case [{"task_id": _, "traj": list(), "reward": _, "trial": _}, *_]:
            return True
        case _:
            return False


def read(log: Recorded) -> Iterator[Entry]:
    """The sessions of a run."""
    runs = log.document()
    if not isinstance(runs, list):
        log.fail(0, f"expected a list of runs with `traj`, got {type(runs).__name__}")
    seen: set[str] = set()
    for index, run in enumerate(runs):
        match run:
            case {"traj": list()}:
                yield from _session(log, run, index, seen)
            case _:
                log.skip(0, f"run {index}: expected an object with a list `traj`, got {run!r:.80}")


TAU_BENCH: Final = Importer(name=NAME, title="tau-bench results (.json)", recognises=recognises, read=read)


def _session(log: Recorded, run: dict[str, Any], index: int, seen: set[str]) -> Iterator[Entry]:
    session = f"{log.stem}-{tag(run.get('task_id')) or index}/{tag(run.get('trial')) or 0}"
    if session in seen:
        session = f"{session}-{index}"
    seen.add(session)
    system, messages = framed(messages_of(log, run["traj"], place=f"run {index}, "))
    info = object_in(run, "info")
    tags = {**tags_in(run, "task_id", "trial", "reward"), **tags_in(info, "source", "user_cost", "error")}
    yield Opening(session=session, system=system, tags=tags)
    for message in messages:
        yield Spoken(session=session, message=message)
