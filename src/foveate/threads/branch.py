"""A branch of a thread: one line of what was said, and the session that it is recorded in."""

from __future__ import annotations

import time
from typing import NamedTuple

from msgspec import UNSET

from foveate.budget.profiles import known_profile
from foveate.compile.compiled import CompiledContext
from foveate.errors import ConfigError
from foveate.log.events import Body, CallRecorded, DiagnosticRecorded, MessageAppended, RequestReceived, UsageReported
from foveate.session.beside import run_beside
from foveate.session.session import Session
from foveate.threads.request import HistoryRequest


class _Boundary(NamedTuple):
    """Where a request ended: how many items it had, how many messages the log, and how many events."""

    items: int
    messages: int
    events: int


class Branch:
    """A session, and the keys of the items that it has."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.keys: tuple[str, ...] = ()
        self.used = 0.0
        self._framing = ""
        self._boundaries: list[_Boundary] = []
        self._read = 0
        self._messages = 0
        # The number of the call that was made for the items; 0 if none was yet.
        self._answered = 0
        self._view: CompiledContext | None = None
        self.follow()

    def follow(self) -> None:
        """Take in what the log has by now, whoever wrote it."""
        context = self.session.context
        for event in context.log.events(self._read, context.length):
            match event.body:
                case MessageAppended():
                    self._messages += 1
                case RequestReceived() as body:
                    self.keys = (*self.keys[: body.first], *body.keys)
                    self._framing = body.framing
                    self._boundaries = [one for one in self._boundaries if one.items <= body.first]
                    self._boundaries.append(_Boundary(len(self.keys), self._messages, event.seq + 1))
                    self._answered, self._view = 0, None
                case CallRecorded(number=number):
                    self._answered = number
                    self._close_boundary(event.seq)
                case UsageReported():
                    self._close_boundary(event.seq)
                case _:
                    pass
        self._read = context.length

    def _close_boundary(self, seq: int) -> None:
        """Count what was sent for the last request, and what came of it, among its events."""
        if self._boundaries and self._boundaries[-1].messages == self._messages:
            self._boundaries[-1] = self._boundaries[-1]._replace(events=seq + 1)

    def history_until(self, common: int) -> list[Body]:
        """The events of a branch that shares the first `common` items, as far as a request ended there."""
        kept = max((one for one in self._boundaries if one.items <= common), default=None)
        if kept is None:
            return []
        return [event.body for event in self.session.context.log.events(0, kept.events)]

    def take(self, request: HistoryRequest, now: float) -> None:
        """Append the items of a request that the log does not have yet; it begins with those that it has."""
        first = len(self.keys)
        self._reframe(request)
        received = RequestReceived(
            first=first,
            keys=request.keys[first:],
            protocol=request.format,
            their_session=request.thread or "",
            framing=request.framing_key,
        )
        self.session.extend(request.items[first:], format=request.format, time=now, hold=True, with_event=received)
        self.follow()

    def view_for(self, request: HistoryRequest, now: float) -> CompiledContext:
        """The view of a request whose items the log has; a request that says nothing new gets the last one again."""
        known = self._known_view(request)
        return known if known is not None else self._keep(self.session.compile(now=now), request)

    async def aview_for(self, request: HistoryRequest, now: float) -> CompiledContext:
        """The same beside the event loop; a summary may be written first."""
        known = await run_beside(self._known_view, request)
        return known if known is not None else self._keep(await self.session.acompile(now=now), request)

    def _known_view(self, request: HistoryRequest) -> CompiledContext | None:
        if self._framing == request.framing_key and self._answered:
            self._view = self._view or self.session.call(self._answered)
            return self._view
        self._reframe(request)
        return None

    def _keep(self, view: CompiledContext, request: HistoryRequest) -> CompiledContext:
        self.follow()
        self._framing, self._answered, self._view = request.framing_key, view.number, view
        return view

    def report(self, call: int, usage: object) -> None:
        """Record what the provider counted for a call; a report that nobody can read costs no call."""
        try:
            self.session.report_usage(usage, call=call)
        except ConfigError as error:
            text = DiagnosticRecorded(code="usage_unread", phase="usage", text=str(error), subject=str(call))
            self.session.note(text)

    def _reframe(self, request: HistoryRequest) -> None:
        if self._framing == request.framing_key:
            return
        self.session.reframe(
            system=request.system,
            tools=request.tools,
            response_format=request.response_format,
            model=known_profile(request.model) if request.model is not None else UNSET,
            hold=True,
        )
        self._framing = request.framing_key


def now() -> float:
    """The time of day, by which a session knows how long the provider's cache has been idle."""
    return time.time()
