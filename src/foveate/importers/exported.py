"""Exported sessions: what `foveate export` wrote, one event per line.

Names that the log gave its messages by itself are left out: it gives them again. Events that are repeated are left out
too; where some are missing, that is a finding, and the rest is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from foveate.errors import LogError
from foveate.importers.completions import understood
from foveate.importers.entries import Entry, Opening, Spoken
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import Recorded
from foveate.importers.recording import without_own_id
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
    sessions: dict[str, _Place] = {}
    for number, line in log.lines():
        event = _event(log, number, line) if line.strip() else None
        if event is None:
            continue
        place = sessions.setdefault(event.session, _Place())
        if place.takes(log, number, event):
            yield from _entries(log, event, place, number)


EXPORTED: Final = Importer(name=NAME, title="what `foveate export` wrote (.jsonl)", recognises=recognises, read=read)


@dataclass(slots=True)
class _Place:
    """How far a session was read: the events and the messages."""

    events: int = 0
    messages: int = 0

    def takes(self, log: Recorded, line: int, event: Event) -> bool:
        """Whether an event is new; what is wrong with its number is told."""
        if event.seq < self.events:
            log.skip(line, f"event {event.seq} of session {event.session!r} was there before")
            return False
        if event.seq > self.events:
            missing = f"{self.events}" if event.seq == self.events + 1 else f"{self.events} to {event.seq - 1}"
            log.skip(line, f"event {event.seq} of session {event.session!r} comes without event {missing} before it")
        self.events = event.seq + 1
        return True


def _event(log: Recorded, number: int, line: str) -> Event | None:
    try:
        return decode_event(line)
    except LogError as error:
        log.skip(number, str(error))
    except RecursionError:
        log.skip(number, "not an event: nested too deeply")
    return None


def _entries(log: Recorded, event: Event, place: _Place, line: int) -> Iterator[Entry]:
    match event.body:
        case FramingSet(system=system, tools=tools, model=model):
            sound = tuple(understood(log, tools, line))
            yield Opening(session=event.session, system=system, tools=sound, model=model)
        case MessageAppended(message=message):
            place.messages += 1
            said = without_own_id(message, place.messages)
            yield Spoken(session=event.session, message=said, time=event.time, line=line)
        case Tagged(tags=tags, call=None):
            yield Opening(session=event.session, tags=tags)
        case _:
            return
