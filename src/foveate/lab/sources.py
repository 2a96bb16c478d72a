"""Sources: where the recordings of a replay come from; each is read where it is replayed, not before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from foveate.errors import LogError
from foveate.importers.detection import read_sessions
from foveate.importers.finding import LogFile, logs_in
from foveate.importers.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A log to be replayed.

    Args:
        name: what to call it.
        load: reads its sessions; it goes to another process, so it must be picklable.
        size: about how much work it is, in bytes; the largest are begun first.

    """

    name: str
    load: Callable[[], list[Recording]]
    size: int = 0


def sources_in(paths: Iterable[Path], format: str = "auto", *, lenient: bool = False) -> list[Source]:
    """The logs that paths stand for; a folder stands for all that are in it."""
    found = logs_in(list(paths), format, lenient=lenient)
    return [
        *(Source(name=log.name, load=partial(_read, log, lenient), size=log.size) for log in found.logs),
        # Said with what else was left out, and not before anything is done.
        *(Source(name=name, load=partial(_refuse, reason)) for name, reason in (*found.refused, *found.left_out)),
    ]


def given(recording: Recording, name: str = "") -> Source:
    """A recording that is in memory already."""
    return Source(name=name or recording.session, load=partial(_same, recording), size=len(recording.messages))


def _read(log: LogFile, lenient: bool) -> list[Recording]:
    with log.open(lenient=lenient) as recorded:
        return read_sessions(recorded, log.importer.name)


def _refuse(reason: str) -> list[Recording]:
    raise LogError(reason)


def _same(recording: Recording) -> list[Recording]:
    return [recording]
