"""The events of a recorded log: what a session would hold that had been there when it happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from foveate.importers.entries import Compaction, Entry, Oddity, Opening, Spoken
from foveate.log.events import Body, DiagnosticRecorded, Event, FramingSet, Tagged
from foveate.log.router import Routing

COMPACTED = "compacted_elsewhere"
"""The code of the event that keeps what another program put in the place of its history."""


def events_of(
    entries: Iterable[Entry],
    *,
    renamed: Callable[[str], str] = str,
    has_prices: Callable[[str], bool] = lambda _model: True,
) -> Iterator[Event]:
    """The events of all sessions of a log as they come by, each numbered within its session.

    `renamed` gives sessions other names; a model is put into the framing only if `has_prices`: others stay a tag.
    """
    logs: dict[str, _Log] = {}
    for entry in entries:
        log = logs.get(entry.session)
        if log is None:
            log = logs[entry.session] = _Log(renamed(entry.session), has_prices)
        yield from log.take(entry)


class _Log:
    """One session as it grows."""

    def __init__(self, session: str, has_prices: Callable[[str], bool]) -> None:
        self._session = session
        self._has_prices = has_prices
        self._routing = Routing(session)
        self._framing: FramingSet | None = None
        self._length = 0

    def take(self, entry: Entry) -> Iterator[Event]:
        match entry:
            case Opening():
                yield from self._events(self._opened(entry), None)
            case Spoken(message=message, time=time):
                if self._framing is None:
                    yield from self._events(self._opened(Opening(session=self._session)), None)
                yield from self._events(self._routing.bodies(message), time)
            case Compaction(text=text, time=time):
                yield from self._events([DiagnosticRecorded(code=COMPACTED, phase="import", text=text)], time)
            case Oddity(code=code, text=text, time=time):
                yield from self._events([DiagnosticRecorded(code=code, phase="import", text=text)], time)

    def _opened(self, opening: Opening) -> list[Body]:
        known = self._framing or FramingSet(given=True)
        model = opening.model if opening.model is not None and self._has_prices(opening.model) else known.model
        framing = FramingSet(
            system=opening.system if opening.system is not None else known.system,
            tools=opening.tools or known.tools,
            model=model,
            given=True,
        )
        tags = dict(opening.tags)
        if opening.parent is not None:
            tags["parent"] = opening.parent
        if opening.model is not None:
            tags.setdefault("model", opening.model)
        bodies: list[Body] = [] if framing == self._framing else [framing]
        self._framing = framing
        return [*bodies, Tagged(tags=tags)] if tags else bodies

    def _events(self, bodies: Iterable[Body], time: float | None) -> Iterator[Event]:
        for body in bodies:
            yield Event(session=self._session, seq=self._length, body=body, time=time)
            self._length += 1
