"""Exported sessions: what `foveate export` wrote, one event per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from foveate.errors import LogError
from foveate.importers.entries import Entry, Opening, Spoken
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import Recorded
from foveate.log.codec import decode_event
from foveate.log.events import Event, FramingSet, MessageAppended, Tagged

NAME: Final = "foveate"


def recognises(head: Head) -> bool:
    """Whether a log was exported by Foveate."""
    match head.records[:1]:
        case ({"session": str(), "seq": int(), "body": {"kind": str()}},):
            return True
        case _:
            return False


def read(log: Recorded) -> Iterator[Entry]:
    """The messages and framings of the sessions; what Foveate decided is left out."""
    for number, line in log.lines():
        if line.strip():
            event = _event(log, number, line)
            if event is not None:
                yield from _entries(event, number)


EXPORTED: Final = Importer(name=NAME, title="what `foveate export` wrote (.jsonl)", recognises=recognises, read=read)


def _event(log: Recorded, number: int, line: str) -> Event | None:
    try:
        return decode_event(line)
    except LogError as error:
        log.skip(number, str(error))
    except RecursionError:
        log.skip(number, "not an event: nested too deeply")
    return None


def _entries(event: Event, line: int) -> Iterator[Entry]:
    match event.body:
        case FramingSet(system=system, tools=tools, model=model):
            yield Opening(session=event.session, system=system, tools=tools, model=model)
        case MessageAppended(message=message):
            yield Spoken(session=event.session, message=message, time=event.time, line=line)
        case Tagged(tags=tags, call=None):
            yield Opening(session=event.session, tags=tags)
        case _:
            return
