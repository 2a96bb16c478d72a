"""The events of a recorded log: what a session would hold that had been there when it happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from foveate.importers.entries import Compaction, Entry, Oddity, Opening, Spoken
from foveate.log.events import Body, DiagnosticRecorded, Event, FramingSet, Tagged
from foveate.log.router import Routing

COMPACTED = "compacted_elsewhere"
"""The code of the event that keeps what another program put in the place of its history."""


def events_of(
    entries: Iterable[Entry],
    *,
    named: str | None = None,
    has_prices: Callable[[str], bool] = lambda _model: True,
) -> Iterator[Event]:
    """The events of all sessions of a log as they come by, each numbered within its session.

    `named` is another name for the first session; further ones get a number behind it. A model is put into the framing
    only if it `has_prices`: others stay a tag.
    """
    logs: dict[str, _Log] = {}
    names: dict[str, str] = {}
    for entry in entries:
        log = logs.get(entry.session)
        if log is None:
            number = f"/{len(logs) + 1}" if logs else ""
            names[entry.session] = entry.session if named is None else f"{named}{number}"
            log = logs[entry.session] = _Log(names, entry.session, has_prices)
        yield from log.take(entry)


class _Log:
    """One session as it grows; `names` are those that sessions of the same log go by."""

    def __init__(self, names: Mapping[str, str], session: str, has_prices: Callable[[str], bool]) -> None:
        self._names = names
        self._session = names[session]
        self._has_prices = has_prices
        self._routing = Routing(self._session)
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
            tags["parent"] = self._names.get(opening.parent, opening.parent)
        if opening.model is not None:
            tags.setdefault("model", opening.model)
        bodies: list[Body] = [] if framing == self._framing else [framing]
        self._framing = framing
        return [*bodies, Tagged(tags=tags)] if tags else bodies

    def _events(self, bodies: Iterable[Body], time: float | None) -> Iterator[Event]:
        for body in bodies:
            yield Event(session=self._session, seq=self._length, body=body, time=time)
            self._length += 1
