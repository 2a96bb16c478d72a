"""Writing: what is appended to a session's log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from foveate.budget.profiles import ModelProfile
from foveate.log.context import AgentContext
from foveate.log.events import Body, ErrorResolved, FramingSet, Pinned
from foveate.log.router import AgentStep, Router
from foveate.session import records
from foveate.session.commit import Committed, Make
from foveate.session.reading import ReadableSession
from foveate.session.usage import UsageReports, reported
from foveate.wire.formats import decode_next
from foveate.wire.names import restored


class WritableSession(ReadableSession):
    """A session as its log grows: all of what is given is appended, or nothing if some of it is malformed."""

    _router: Router
    _usage: UsageReports

    def append(
        self, message: object, *, format: str | None = None, time: float | None = None, hold: bool = False
    ) -> str:
        """Append one message; returns its id. A malformed one is refused and the log stays as it was."""
        return self.extend([message], format=format, time=time, hold=hold)[0]

    def extend(
        self,
        messages: Iterable[object],
        *,
        format: str | None = None,
        time: float | None = None,
        hold: bool = False,
        with_event: Body | None = None,
    ) -> list[str]:
        """Append messages as they arrived, in any known format; all, or none if one is malformed. Returns their ids.

        Without `format` it is recognized, by what came before too. With `hold`, a store that cannot be written costs
        nothing: they are held in a file beside it, written once it can be, and the log says so. `with_event` is
        appended behind the messages: both are in the log, or neither.
        """
        raws = list(messages)  # Before anybody waits: an iterable may take its time.
        with self._writer.guard:
            decoded = restored(decode_next(raws, self._writer.context.messages, format), self._means.originals)
            step = AgentStep(messages=tuple(decoded), time=records.moment("time", time))
            before, after = self._append(partial(self._routed, step, with_event), hold=hold)
            return [after.log.message(place).id for place in range(before.message_count, after.message_count)]

    def next_execution(self, *, time: float | None = None) -> None:
        """End the running turn: its tool traffic is history from here on."""
        with self._writer.guard:
            self._append(partial(self._router.next_execution, time=records.moment("time", time)))

    def pin(self, message_id: str) -> None:
        """Show a message verbatim in every request from here on, even if it was reduced before."""
        with self._writer.guard:
            self._known(message_id)
            self.record(Pinned(message_id=message_id))

    def unpin(self, message_id: str) -> None:
        """Let a message be reduced again."""
        with self._writer.guard:
            self.record(records.unpinned(self._projection(), message_id))

    def resolve(self, message_id: str) -> None:
        """Settle a failed tool execution: it needs no place of its own any more."""
        with self._writer.guard:
            self._known(message_id)
            self.record(ErrorResolved(message_id=message_id))

    def report_usage(
        self,
        usage: object = None,
        cached_tokens: int | None = None,
        *,
        input_tokens: int | None = None,
        call: int | None = None,
    ) -> None:
        """Tell what the provider counted for the last call, or for call number `call`; corrects later counts.

        `usage` is the provider's or framework's own, as an object or a dict: that of OpenAI (chat, Responses),
        Anthropic, Gemini, pydantic-ai, LangChain or LiteLLM. With plain numbers, `input_tokens` are all that was
        counted as input, cached or not, and `cached_tokens` those of them that were read from the cache.
        """
        found = reported(usage, input_tokens, cached_tokens)
        with self._writer.guard:
            self.note(*self._usage.bodies(found, call, self._projection(), self._means.reserved))

    def reframe(
        self,
        *,
        system: records.SystemPrompt | UnsetType | None = UNSET,
        tools: Iterable[Mapping[str, Any]] | UnsetType = UNSET,
        response_format: Mapping[str, Any] | UnsetType | None = UNSET,
        model: str | ModelProfile | UnsetType | None = UNSET,
        hold: bool = False,
    ) -> None:
        """Change what frames the messages, from the next call on; what is left out stays as it is."""
        profile, name = (model, model.name) if isinstance(model, ModelProfile) else (None, model)
        changes = {"system": system, "tools": tools, "response_format": response_format, "model": name}
        with self._writer.guard:
            self._frame(records.reframed(self._writer.context, changes), profile, hold=hold)

    def tag(self, *, call: int | None = None, **tags: str) -> None:
        """Tag the session, or one call of it: an experiment, an arm, an outcome. An empty value takes a tag off."""
        with self._writer.guard:
            self.record(records.tagged(call, tags, self._projection().calls))

    def record(self, *bodies: Body, time: float | None = None) -> None:
        """Append events; subscribers are told."""
        records.moment("time", time)
        with self._writer.guard:
            self._append(partial(AgentContext.with_events, bodies=bodies, time=time))

    def note(self, *bodies: Body, time: float | None = None) -> None:
        """Like `record`, but a store that cannot be written costs nothing: it gets them once it can be."""
        records.moment("time", time)
        with self._writer.guard:
            self._append(partial(AgentContext.with_events, bodies=bodies, time=time), hold=True)

    def refresh(self) -> int:
        """Take in what other writers appended since; returns how many events that were."""
        with self._writer.guard:
            events = self._writer.refresh()
            self._means.follow(records.framing_of(self._writer.context))
            return len(events)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _frame(
        self, framing: FramingSet, profile: ModelProfile | None = None, *, given: bool = False, hold: bool = False
    ) -> None:
        framing = self._means.storable(framing)
        self._means.adopt(framing, profile)
        bodies = [msgspec.structs.replace(framing, given=given)]
        self._append(partial(AgentContext.with_events, bodies=bodies), hold=hold)

    def _routed(self, step: AgentStep, event: Body | None, context: AgentContext) -> AgentContext:
        """The context with the messages of a step, and the event behind them."""
        if any(message.id for message in step.messages):
            records.refuse_known_ids(step.messages, self._projection())
        routed = self._router.route(context, step)
        return routed if event is None else routed.with_events([event])

    def _append(self, make: Make, *, hold: bool = False) -> Committed:
        """Commit what `make` makes; made again behind what another writer appended first.

        The thread that calls this is inside the guard, or has the session alone.
        """
        return self._writer.retried(partial(self._commit, make, hold=hold))

    def _commit(self, make: Make, *, hold: bool) -> Committed:
        try:
            return self._writer.commit(make, hold=hold)
        finally:
            # Another writer may have framed the session anew.
            self._means.follow(records.framing_of(self._writer.context))
