"""Importing: a log that any known program recorded comes into a store, whole or not at all.

Every way in ends here: `foveate import`, the HTTP API and the web page. So the same bytes give the same sessions,
names, notes and refusals, whichever way they come.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import PurePath
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final

from foveate.budget.profiles import profile_for
from foveate.errors import ConfigError, FoveateError, LogError, UnknownModelError
from foveate.importers.detection import importer_for
from foveate.importers.events import events_of
from foveate.importers.exported import EXPORTED
from foveate.importers.importer import Importer
from foveate.importers.reading import Recorded, Skipped, nothing_said
from foveate.importers.redacting import redacted_entries
from foveate.log.codec import decode_event, encode_event
from foveate.log.events import Event, MessageAppended
from foveate.privacy import Redactor
from foveate.store.arrivals import Arrival, import_lines, import_logs
from foveate.store.engine import WAIT_SECONDS, limit_wait, tell_waits
from foveate.store.store import DEFAULT_VAULT, Store

# Told what is being done, and how many bytes of the log were read by then.
Tell = Callable[[str, int], None]

_IN_MEMORY: Final = 1_000_000
_UNNAMED: Final = "log"


def _ignore(_what: str, _read: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of one log: its sessions, what was left out of it, and what else is to be known of the whole.

    With an `error` nothing of it came in.
    """

    log: str
    format: str = ""
    arrivals: tuple[Arrival, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """The report as plain JSON: what the command line and the API say of it."""
        return {
            "log": self.log,
            "format": self.format,
            "sessions": [
                {
                    "session_id": one.info.session_id,
                    "messages": one.info.messages,
                    "calls": one.info.calls,
                    "added_events": one.added,
                    "was_there": one.was_there,
                }
                for one in self.arrivals
            ],
            "skipped": [{"line": one.line, "reason": one.reason} for one in self.skipped],
            "notes": list(self.notes),
        }


def import_log(
    store: Store,
    log: Recorded,
    format: str = "auto",
    *,
    as_session: str | None = None,
    vault_name: str = DEFAULT_VAULT,
    redact: bool = False,
    tell: Tell = _ignore,
) -> ImportReport:
    """Bring the sessions of a log into this store, all or none; one that is there already gets what is new.

    Raises `LogError` if the log cannot be read, and `ConflictError` if it differs from a session of the same name.
    """
    importer = importer_for(log, format)
    redactor = _redactor(importer, log) if redact else None
    arrivals = _arrivals(store, importer, log, as_session, vault_name, tell, redactor)
    if redactor is not None and redactor.counts:
        log.notes.append(redactor.summary)
    return ImportReport(
        log=log.name,
        format=importer.name,
        arrivals=tuple(arrivals),
        skipped=tuple(log.skipped),
        notes=tuple(log.notes),
    )


def import_upload(
    store: Store,
    file: IO[bytes],
    name: str = "",
    format: str = "auto",
    *,
    as_session: str | None = None,
    lenient: bool = False,
    tell: Tell = _ignore,
) -> ImportReport:
    """Bring a log into this store that somebody sent as bytes; `name` is what its file is called there, if it is one.

    Nothing that lies beside the file here belongs to it.
    """
    # Of a path only the end: names of folders elsewhere say nothing here.
    called = PurePath(name.replace("\\", "/")).name
    # A log that was sent is not sent again for another one that is being written.
    with limit_wait(WAIT_SECONDS), tell_waits(lambda what: tell(what, 0)):
        log = Recorded(name=called or _UNNAMED, file=file, file_name=called, lenient=lenient)
        return import_log(store, log, format, as_session=as_session, tell=tell)


def try_import(
    store: Store,
    opening: AbstractContextManager[Recorded],
    name: str,
    format: str = "auto",
    *,
    as_session: str | None = None,
    redact: bool = False,
    tell: Tell = _ignore,
) -> ImportReport:
    """Import one log of several: whatever is wrong with it stands in the report, and the others go on."""
    skipped: list[Skipped] = []
    notes: list[str] = []
    try:
        with opening as log:
            skipped, notes = log.skipped, log.notes
            return import_log(store, log, format, as_session=as_session, redact=redact, tell=tell)
    except FoveateError as error:
        return ImportReport(
            log=name,
            format="" if format == "auto" else format,
            skipped=tuple(skipped),
            notes=tuple(notes),
            error=str(error) if name in str(error) else f"{name}: {error}",
        )


def _redactor(importer: Importer, log: Recorded) -> Redactor:
    """Redacts a log, unless it holds records of requests, which must stay as they were sent."""
    if importer is EXPORTED:
        raise ConfigError(
            f"{log.name} is an export of Foveate, whose requests were recorded as they were sent; import it without "
            "redaction, or export a session that was recorded with `redact`"
        )
    return Redactor()


def _arrivals(
    store: Store,
    importer: Importer,
    log: Recorded,
    as_session: str | None,
    vault_name: str,
    tell: Tell,
    redactor: Redactor | None,
) -> list[Arrival]:
    stored = partial(_storing, tell, log)
    if importer is EXPORTED:
        lines = (line for _, line in log.raw_lines())
        try:
            return [import_lines(store, lines, as_session=as_session, vault_name=vault_name, progress=stored)]
        except LogError as error:
            if not log.lenient:
                place = ", " if f"{error}".startswith("line ") else ": "
                raise LogError(f"{log.name}{place}{error}") from error
            # Calls and reductions say what stood where; with a piece missing they would be wrong.
            log.notes.append(f"not all of it can be read ({error}); its messages came in, its calls did not")
    with _spooled(importer, log, as_session, tell, redactor) as spools:
        if not spools:
            raise nothing_said(log)
        logs = [spool.events for spool in spools]
        return import_logs(store, logs, vault_name=vault_name, progress=stored)


def _storing(tell: Tell, log: Recorded, what: str, done: int) -> None:
    # What is done with messages stands behind them: "messages indexed".
    counted, _, done_with = what.partition(" ")
    tell(f"{done_with or 'stored'} {done:,} {counted if done != 1 else counted.removesuffix('s')}", log.read)


@contextmanager
def _spooled(
    importer: Importer, log: Recorded, as_session: str | None, tell: Tell, redactor: Redactor | None
) -> Generator[list[_SessionSpool], None, None]:
    """The events of a log, aside: only once all of it was read does the store hear of it."""
    # One file for all: a log may have more sessions than a process may have files.
    with SpooledTemporaryFile(_IN_MEMORY) as file:
        spools: dict[str, _SessionSpool] = {}
        entries = importer.read(log) if redactor is None else redacted_entries(importer.read(log), redactor)
        for number, event in enumerate(events_of(entries, named=as_session, has_prices=_has_prices)):
            if event.session not in spools:
                spools[event.session] = _SessionSpool(file)
            spools[event.session].add(event)
            if number % 100 == 0:
                tell("importing", log.read)
        # A session that was opened and in which nothing was said is none.
        yield [spool for spool in spools.values() if spool.has_messages]


class _SessionSpool:
    """The events of one session in a file that they share with others."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._offsets = array("Q")
        self.has_messages = False

    def add(self, event: Event) -> None:
        self._offsets.append(self._file.tell())
        self._file.write(encode_event(event) + b"\n")
        self.has_messages = self.has_messages or isinstance(event.body, MessageAppended)

    def events(self) -> Iterator[Event]:
        """The events from the first on; others may be read from the same file meanwhile."""
        for offset in self._offsets:
            self._file.seek(offset)
            yield decode_event(self._file.readline())


@cache
def _has_prices(model: str) -> bool:
    try:
        profile_for(model)
    except UnknownModelError:
        return False
    return True
