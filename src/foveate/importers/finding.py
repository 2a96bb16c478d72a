"""Finding: which logs a path stands for; a folder stands for all that are in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from foveate.errors import LogError, UnknownFormatError
from foveate.importers.detection import importer_for
from foveate.importers.importer import Importer
from foveate.importers.litellm import LITELLM
from foveate.importers.openhands_events import OPENHANDS_EVENTS, event_files
from foveate.importers.reading import DEFAULT_LIMITS, Recorded, SizeLimits, opened
from foveate.named_files import walk_folder

_ENDINGS: Final = (".jsonl", ".ndjson", ".json", ".traj", ".md", ".log")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """One log: a file, or several that only make sense together."""

    name: str
    paths: tuple[Path, ...]
    importer: Importer
    # Whether it is a folder's: then it goes by the folder's name, however many files there are by now.
    is_folder: bool = False
    limits: SizeLimits = DEFAULT_LIMITS

    @property
    def size(self) -> int:
        """How many bytes there are to read."""
        return sum(path.stat().st_size for path in self.paths)

    @contextmanager
    def open(self, *, lenient: bool = False) -> Generator[Recorded, None, None]:
        """The log, to be read."""
        first = self.paths[0]
        if not self.is_folder:
            with opened(first) as file:
                yield Recorded(name=self.name, file=file, path=first, lenient=lenient, limits=self.limits)
            return
        with TemporaryFile() as joined:
            log = Recorded(name=self.name, file=joined, path=first.parent, lenient=lenient, limits=self.limits)
            if self.size > self.limits.size:
                log.fail(0, self.limits.refusal(self.size))
            for path in self.paths:
                line = _one_line(path, log)
                if line is not None:
                    joined.write(line + b"\n")
            yield log


class Found:
    """What a search for logs came upon: logs, what was refused and why, and files that are no logs.

    `left_out` are links and special files of a folder, with the reason; only what is in a folder is read with it.
    """

    def __init__(self, limits: SizeLimits, *, lenient: bool = False) -> None:
        self.limits = limits
        self.lenient = lenient
        self.left_out: list[tuple[str, str]] = []
        self.logs: list[LogFile] = []
        self._known: set[tuple[Path, ...]] = set()
        self.refused: list[tuple[str, str]] = []
        self.others: list[Path] = []

    def leave_out(self, path: Path, reason: str) -> None:
        """Take note of a link or a special file that is not read."""
        self.left_out.append((str(path), reason))

    def add(self, path: Path, importer: Importer, *parts: Path) -> None:
        """Take note of a log: a file, or a folder with its parts; once, however often it is named."""
        known = tuple(part.resolve() for part in parts or (path,))
        if known in self._known:
            return
        self._known.add(known)
        self.logs.append(
            LogFile(
                name=str(path),
                paths=parts or (path,),
                importer=importer,
                is_folder=bool(parts),
                limits=self.limits,
            )
        )


def logs_in(
    paths: Sequence[Path],
    format: str = "auto",
    *,
    lenient: bool = False,
    limits: SizeLimits = DEFAULT_LIMITS,
    looked_at: Callable[[Path], None] = lambda _path: None,
) -> Found:
    """The logs that paths stand for; a file that is named itself must be one."""
    found = Found(limits, lenient=lenient)
    for path in paths:
        if path.is_dir():
            for folder, files in walk_folder(path, _ENDINGS, found.leave_out):
                _look_through(found, folder, files, format, looked_at)
            continue
        if path.exists() and not path.is_file():
            # It is looked at before it is read, and a pipe gives everything only once.
            found.refused.append((str(path), f"{path} is no regular file; pipe it in and give - instead"))
            continue
        try:
            found.add(path, _importer(path, format, found))
        except LogError as error:
            found.refused.append((str(path), str(error)))
    return found


def _look_through(
    found: Found, folder: Path, files: list[Path], format: str, looked_at: Callable[[Path], None]
) -> None:
    events = event_files(files)
    if events is not None:
        # One event a file: only all of them are a log.
        found.add(folder, OPENHANDS_EVENTS, *events)
        return
    requests: list[Path] = []
    for path in files:
        looked_at(path)
        try:
            importer = _importer(path, format, found)
        except UnknownFormatError:
            # In a folder there are other files too.
            found.others.append(path)
        except LogError as error:
            found.refused.append((str(path), str(error)))
        else:
            if importer is LITELLM:
                requests.append(path)
            else:
                found.add(path, importer)
    if requests:
        # One request a file, and each has all before it: together they are conversations.
        found.add(folder, LITELLM, *requests)


def _importer(path: Path, format: str, found: Found) -> Importer:
    with opened(path) as file:
        log = Recorded(name=str(path), file=file, path=path, lenient=found.lenient, limits=found.limits)
        return importer_for(log, format)


def _one_line(path: Path, log: Recorded) -> bytes | None:
    """The document of one file of several, on a line; None if it is broken and the log may do without."""
    try:
        with opened(path) as file:
            document = Recorded(name=str(path), file=file, path=path, limits=log.limits).document()
    except LogError as error:
        if not log.lenient:
            raise
        log.skip(0, str(error))
        return None
    # The decoder took half characters, so they must be written, too.
    return json.dumps(document).encode()
