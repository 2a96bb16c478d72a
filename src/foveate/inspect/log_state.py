"""The state of a session's log beside messages and calls: its framing, its pins, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from foveate.inspect.event_rows import event_rows, event_time
from foveate.log.events import DiagnosticRecorded, FramingSet, Pinned, Unpinned
from foveate.store import SessionInfo, Store
from foveate.store.rows import read_events
from foveate.store.schema import events

_KINDS: Final = ("framing_set", "pinned", "unpinned", "diagnostic_recorded")


class Diagnostic(NamedTuple):
    """Something odd or failed: the number of its event, its time, and what was recorded."""

    seq: int
    time: datetime
    body: DiagnosticRecorded


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """The state of a log up to event number `length`; `pins` maps each message ever pinned to whether it still is."""

    length: int = 0
    framing: FramingSet = field(default_factory=FramingSet)
    pins: Mapping[str, bool] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


def read_log_state(store: Store, info: SessionInfo, known: LogState | None = None) -> LogState:
    """The state of a session's log; with a `known` one, only the events since are read."""
    known = known or LogState()
    pins, framing, diagnostics = dict(known.pins), known.framing, list(known.diagnostics)
    rows = event_rows(store, info, _KINDS, events.c.seq >= known.length, events.c.seq < info.events)
    with store.reading() as connection:
        recorded = read_events(connection, info.session_id, rows)
    for row, event in zip(rows, recorded, strict=True):
        match event.body:
            case FramingSet():
                framing = event.body
            case Pinned(message_id=message_id):
                pins[message_id] = True
            case Unpinned(message_id=message_id):
                pins[message_id] = False
            case DiagnosticRecorded():
                diagnostics.append(Diagnostic(row.seq, event_time(row), event.body))
            case _:
                continue
    return LogState(length=info.events, framing=framing, pins=pins, diagnostics=tuple(diagnostics))
