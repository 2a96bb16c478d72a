"""Bringing: a log that any known program recorded comes into a store, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from tempfile import SpooledTemporaryFile
from typing import IO, Final

from foveate.budget.profiles import profile_for
from foveate.errors import LogError, UnknownModelError
from foveate.importers.events import events_of
from foveate.importers.importer import Importer
from foveate.importers.reading import Recorded
from foveate.log.codec import decode_event, encode_event
from foveate.log.events import Event, MessageAppended
from foveate.store.arrivals import Arrival, import_lines, import_logs
from foveate.store.store import DEFAULT_VAULT, Store

# Told what is being done, and how many bytes of the log were read by then.
Tell = Callable[[str, int], None]

_IN_MEMORY: Final = 1_000_000


def brought(
    store: Store,
    importer: Importer,
    log: Recorded,
    *,
    as_session: str | None = None,
    vault_name: str = DEFAULT_VAULT,
    tell: Tell = lambda _what, _read: None,
) -> list[Arrival]:
    """The sessions of a log in this store, all or none; one that is there already gets what is new."""
    stored = partial(_storing, tell, log)
    if importer.name == "foveate":
        log.file.seek(0)
        return [import_lines(store, log.file, as_session=as_session, vault_name=vault_name, progress=stored)]
    with _spooled(importer, log, as_session, tell) as spools:
        if not spools:
            raise LogError(f"{log.name}: there is no message in it")
        logs = [partial(_events, spool) for spool in spools.values()]
        return import_logs(store, logs, vault_name=vault_name, progress=stored)


def _storing(tell: Tell, log: Recorded, what: str, done: int) -> None:
    # What is done with messages stands behind them: "messages indexed".
    counted, _, done_with = what.partition(" ")
    tell(f"{done_with or 'stored'}: {done:,} {counted if done != 1 else counted.removesuffix('s')} of", log.read)


@contextmanager
def _spooled(
    importer: Importer, log: Recorded, as_session: str | None, tell: Tell
) -> Generator[dict[str, IO[bytes]], None, None]:
    """The events of a log, aside: only once all of it was read does the store hear of it."""
    with ExitStack() as stack:
        spools: dict[str, IO[bytes]] = {}
        spoken: set[str] = set()
        for number, event in enumerate(events_of(importer.read(log), named=as_session, has_prices=_has_prices)):
            if event.session not in spools:
                spools[event.session] = stack.enter_context(SpooledTemporaryFile(_IN_MEMORY))
            spools[event.session].write(encode_event(event) + b"\n")
            if isinstance(event.body, MessageAppended):
                spoken.add(event.session)
            if number % 100 == 0:
                tell("importing", log.read)
        # A session that was opened and in which nothing was said is none.
        yield {session: spool for session, spool in spools.items() if session in spoken}


def _events(spool: IO[bytes]) -> Iterator[Event]:
    spool.seek(0)
    return map(decode_event, spool)


@cache
def _has_prices(model: str) -> bool:
    try:
        profile_for(model)
    except UnknownModelError:
        return False
    return True
