"""The session: append what happens, compile what the model sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec import UNSET, UnsetType

from foveate.budget.profiles import ModelProfile
from foveate.budget.tokens import TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.compilers import Compiler
from foveate.compiler.policy import CompactWhen, Policy
from foveate.compiler.summaries import Summarizer, pending_summary
from foveate.errors import ConflictError, StoreError
from foveate.log.codec import dump_events
from foveate.log.context import AgentContext, Messages
from foveate.log.events import Body, ErrorResolved, Event, FramingSet, Pinned
from foveate.log.messages import Message, MessageMeta, text_message
from foveate.log.router import AgentStep, DefaultRouter, Router
from foveate.log.sections import ContextSection
from foveate.session import records
from foveate.session.answering import answer_recall, given_back
from foveate.session.journal import Journal
from foveate.session.keeper import Keeper, Make, attempts
from foveate.session.means import Means
from foveate.session.observing import log_compile
from foveate.session.options import Options
from foveate.session.summarising import summarised
from foveate.views.conversation import conversation_view
from foveate.views.draft import Pass, PlainPass
from foveate.views.timeline import Timeline, timeline_of
from foveate.wire.formats import decode_any
from foveate.wire.names import restored

if TYPE_CHECKING:
    from foveate.store import Store

AroundCompile = Callable[["Session"], AbstractContextManager[Callable[[CompiledContext], None]]]


class Session:
    """One conversation of an agent: an append-only log, and a fresh view of it for every call.

    >>> session = Session(budget=8_000)
    >>> session.extend([{"role": "user", "content": "Hello"}])
    ['m1']
    >>> session.compile().to("openai")
    [{'role': 'user', 'content': 'Hello'}]

    A session is not for several threads at once.

    Args:
        budget: the most input tokens a request may have; without it, and without `model`, nothing is reduced.
        model: a name known to `genai-prices`, or a `ModelProfile`: gives window, prices and cache rules.
        system: the system prompt, sent first in every request, never reduced.
        tools, response_format: what the caller sends along; it counts against the budget.
        compiler: decides for itself what the model sees, instead of the options below.
        policy: a named bundle of passes, isolation and marks, or a `Policy`.
        passes: the passes that reduce, in order, instead of the policy's.
        isolation: what is left of finished turns' tool traffic: `Boundary`, `ObservationMasking`, `Transparent`.
        router: puts messages into the log.
        compact_when: `(state, messages, budget) -> bool`: asks for a reduction besides what budget and prices ask.
        counter: counts tokens, instead of the model's own tokenizer.
        summarizer: may write summaries in `acompile`; without it none needs a model.
        session_id: the name that events carry.

    """

    def __init__(
        self,
        *,
        budget: int | TokenBudget | None = None,
        model: str | ModelProfile | None = None,
        system: str | None = None,
        tools: Iterable[Mapping[str, Any]] = (),
        response_format: Mapping[str, Any] | None = None,
        compiler: Compiler | None = None,
        policy: str | Policy | None = None,
        passes: Sequence[Pass | PlainPass] | None = None,
        isolation: Pass | None = None,
        router: Router | None = None,
        compact_when: CompactWhen | None = None,
        counter: TokenCounter | None = None,
        summarizer: Summarizer | None = None,
        session_id: str = "session",
    ) -> None:
        """Begin an empty session in memory; all options are optional."""
        self._means = Means(
            Options(
                budget=budget,
                model=model,
                compiler=compiler,
                policy=policy,
                passes=passes,
                isolation=isolation,
                compact_when=compact_when,
                counter=counter,
            )
        )
        self._router = router or DefaultRouter()
        self._summarizer = summarizer
        self._around: list[AroundCompile] = []
        self._keeper = Keeper(AgentContext(session=session_id))
        self._frame(
            FramingSet(
                system=records.said(system),
                tools=records.definitions(tools),
                response_format=records.plain(response_format),
                model=self._means.framing.model,
            ),
            given=True,
        )

    @classmethod
    def open(
        cls,
        store: str | Path | Store,
        session_id: str,
        *,
        vault: str = "default",
        transcript: str | Path | None = None,
        **options: Any,
    ) -> Self:
        """A session that survives its process: as it was left, or a new one.

        Args:
            store: a file such as `agent.db`, an address (`sqlite:///…`, `postgresql://…`), or a `Store`.
            session_id: the session's name in the store.
            vault: a name for what the session belongs to; kept with it when it is begun.
            transcript: a Markdown file that the conversation is written to as it happens.
            options: those of the constructor; framing that is not given is as it was left.

        """
        # Only who wants a store waits for SQLAlchemy.
        from foveate.session.durable import opened  # noqa: PLC0415

        return opened(cls, store, session_id, vault=vault, transcript=transcript, options=options)

    @classmethod
    def from_events(cls, events: Iterable[Event], **options: Any) -> Self:
        """The session that events lead to, byte for byte; framing that `options` do not give is taken from them."""
        return cls.continued(AgentContext.from_events(events), None, options)

    @classmethod
    def continued(cls, context: AgentContext, journal: Journal | None, options: dict[str, Any]) -> Self:
        """The session that goes on from a snapshot, its events kept by a journal."""
        session = cls(**records.continued_options(context, options))
        means, recorded = session._means, records.framing_of(context)
        given = means.framing
        if "model" not in options:
            given = msgspec.structs.replace(given, model=recorded.model)
        session._keeper = Keeper(context, journal)
        if journal is not None:
            means.search_in(journal.index())
        means.follow(given)
        if not context.length or given != recorded:
            framing = msgspec.structs.replace(given, given=True)
            session._commit(partial(AgentContext.with_events, bodies=[framing]), retry=False)
        return session

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> bool:
        """Let go of the store; whether all of the log is in it. A session in memory has nothing to let go of."""
        return self._keeper.close(self._means.counter)

    # --- what happens ---------------------------------------------------------------------------------------------

    def append(self, message: object, *, time: float | None = None, hold: bool = False) -> str:
        """Append one message; returns its id. A malformed one is refused and the log stays as it was."""
        return self.extend([message], time=time, hold=hold)[0]

    def extend(self, messages: Iterable[object], *, time: float | None = None, hold: bool = False) -> list[str]:
        """Append messages as they arrived, in any known format; all, or none if one is malformed. Returns their ids.

        With `hold`, a store that cannot be written costs nothing: they are written once it can be, and the log says so.
        """
        decoded = tuple(restored(decode_any(list(messages)), self._means.originals))
        step = AgentStep(messages=decoded, time=records.moment("time", time))
        routing = records.Routing(self._router, step, self._means.counter)
        self._commit(routing, hold=hold)
        return routing.ids

    def next_execution(self, *, time: float | None = None) -> None:
        """End the running turn: its tool traffic is history from here on."""
        self._commit(partial(self._router.next_execution, time=records.moment("time", time)))

    def pin(self, message_id: str) -> None:
        """Show a message verbatim in every request from here on, even if it was reduced before."""
        self._known(message_id)
        self.record(Pinned(message_id=message_id))

    def unpin(self, message_id: str) -> None:
        """Let a message be reduced again."""
        self.record(records.unpinned(self._timeline(), message_id))

    def resolve(self, message_id: str) -> None:
        """Settle a failed tool execution: it needs no place of its own any more."""
        self._known(message_id)
        self.record(ErrorResolved(message_id=message_id))

    def report_usage(self, input_tokens: int, cached_tokens: int | None = None, *, call: int | None = None) -> None:
        """Tell what the provider counted for the last call (or call number `call`); corrects later counts."""
        self.record(records.usage(input_tokens, cached_tokens, call if call is not None else self._timeline().calls))

    def reframe(
        self,
        *,
        system: str | UnsetType | None = UNSET,
        tools: Iterable[Mapping[str, Any]] | UnsetType = UNSET,
        response_format: Mapping[str, Any] | UnsetType | None = UNSET,
        model: str | ModelProfile | UnsetType | None = UNSET,
        hold: bool = False,
    ) -> None:
        """Change what frames the messages, from the next call on; what is left out stays as it is."""
        profile = model if isinstance(model, ModelProfile) else None
        name = profile.name if profile is not None else model
        changes = {"system": system, "tools": tools, "response_format": response_format, "model": name}
        self._frame(records.reframed(self._context, changes), profile, hold=hold)

    def use(self, policy: str | Policy, *, compact_when: CompactWhen | None = None) -> None:
        """Reduce by another policy from the next call on; a session without a budget refuses it."""
        self._means.choose(policy, compact_when)

    def narrow(self, most: int | None) -> None:
        """Send at most so many tokens from the next call on, if the budget allows more; None takes it back."""
        self._means.narrow(most)

    def tag(self, *, call: int | None = None, **tags: str) -> None:
        """Tag the session, or one call of it: an experiment, an arm, an outcome. An empty value takes a tag off."""
        self.record(records.tagged(call, tags, self._timeline().calls))

    def record(self, *bodies: Body, time: float | None = None) -> None:
        """Append events; subscribers are told."""
        records.moment("time", time)
        self._commit(lambda context: context.with_events(bodies, time=time))

    def note(self, *bodies: Body, time: float | None = None) -> None:
        """Like `record`, but a store that fails costs nothing else: the log says so once it can be written."""
        try:
            self.record(*bodies, time=time)
        except StoreError as error:
            self._keeper.failed(error, bodies)

    def refresh(self) -> int:
        """Take in what other writers appended since; returns how many events that were."""
        events = self._keeper.refresh()
        self._means.follow(records.framing_of(self._context))
        return len(events)

    # --- what the model sees --------------------------------------------------------------------------------------

    def compile(
        self,
        *,
        now: float | None = None,
        sections: Iterable[ContextSection] = (),
        override: Iterable[object] | None = None,
    ) -> CompiledContext:
        """The request to send now, or `override` as it is; the reductions in it and the call are recorded."""
        beside = records.beside(sections, override)
        with ExitStack() as stack:
            done = [stack.enter_context(around(self)) for around in self._around]
            view = self._compiled(now, beside)
            log_compile(view)
            for tell in done:
                tell(view)
            return view

    def preview(
        self,
        *,
        now: float | None = None,
        sections: Iterable[ContextSection] = (),
        override: Iterable[object] | None = None,
    ) -> CompiledContext:
        """The request that `compile` would give, with nothing recorded."""
        beside = records.beside(sections, override)
        return self._view(self._means.recalled(self._context, beside.override), now, beside)

    async def acompile(
        self, *, now: float | None = None, sections: Iterable[ContextSection] = (), timeout: float = 60.0
    ) -> CompiledContext:
        """Like `compile`, but first lets the summarizer write a summary if one is due.

        Whatever goes wrong with it, the call proceeds with the digest that needs no model, and a diagnostic says so.
        """
        sections = tuple(sections)
        if self._summarizer is not None:
            request = pending_summary(self.preview(now=now, sections=sections))
            if request is not None:
                written = await summarised(self._summarizer, request, timeout, self._means.counter)
                self.note(written, time=now)
        return self.compile(now=now, sections=sections)

    def call(self, number: int) -> CompiledContext:
        """Call `number` as it was sent, folded from the events recorded for it; nothing is decided again."""
        return self._keeper.rebuilt(number, self._means.counter)

    # --- what was said --------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The session's name."""
        return self._context.session

    @property
    def context(self) -> AgentContext:
        """An immutable snapshot of the log."""
        return self._context

    @property
    def messages(self) -> Messages:
        """The log: every message as it was said, whatever requests show of it."""
        return self._context.messages

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in order."""
        return self._context.events

    @property
    def conversation(self) -> tuple[Message, ...]:
        """What people said and what came of it, without tool traffic."""
        return conversation_view(self.messages)

    @property
    def pins(self) -> tuple[str, ...]:
        """Ids of the messages that every request shows verbatim."""
        return tuple(self._timeline().pins)

    def dump(self) -> bytes:
        """The events as JSON lines; `load_events` and `from_events` bring them back."""
        return dump_events(self.events)

    def recall(self, reference: str, *, lines: tuple[int, int] | None = None, query: str | None = None) -> str:
        """The content behind a reference such as "m17": whole, some of its lines, or the lines that match a query."""
        if reference.startswith("artifact://") and self._keeper.journal is not None:
            text = self._keeper.journal.artifact(reference)
            return given_back(text_message(reference, "tool", text, MessageMeta()), lines, query)
        return given_back(self._known(reference), lines, query)

    def answer_recall(self, arguments: str | Mapping[str, Any]) -> str:
        """Answer a call of the recall tool; what is wrong with it is said to the model, not raised."""
        return answer_recall(self, arguments)

    def subscribe(self, observer: Callable[[Event], None]) -> Callable[[], None]:
        """Call `observer` with every event from here on; it may append events. Returns a way to stop."""
        return self._keeper.observers.add(observer)

    def around_compile(self, around: AroundCompile) -> None:
        """Run every compile inside a context manager, which gets a function to be told the view with."""
        self._around.append(around)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _frame(
        self, framing: FramingSet, profile: ModelProfile | None = None, *, given: bool = False, hold: bool = False
    ) -> None:
        self._means.adopt(framing, profile)
        bodies = [msgspec.structs.replace(framing, given=given)]
        self._commit(partial(AgentContext.with_events, bodies=bodies), hold=hold)

    @property
    def _context(self) -> AgentContext:
        return self._keeper.context

    def _timeline(self) -> Timeline:
        return timeline_of(self._context, self._means.counter)

    def _commit(self, make: Make, *, retry: bool = True, hold: bool = False) -> AgentContext:
        try:
            return self._keeper.commit(make, retry=retry, hold=hold)
        finally:
            # Another writer may have framed the session anew.
            self._means.follow(records.framing_of(self._context))

    def _compiled(self, now: float | None, beside: records.Beside) -> CompiledContext:
        records.moment("now", now)
        self._keeper.check_open()
        for wait in attempts(self.id):
            found = self._means.recalled(self._context, beside.override)
            view = self._view(found, now, beside)
            bodies = (*found, *view.proposed, records.call_record(view, now, self._means.recipe))
            try:
                # Only now: a compile that fails leaves the log as it was.
                self._commit(partial(AgentContext.with_events, bodies=bodies, time=now), retry=False)
                self._keeper.save(self._means.counter)
            except ConflictError:
                # What another writer said belongs into the request.
                wait()
                continue
            except StoreError as error:
                # The call proceeds with a request that needs no store.
                self._keeper.failed(error)
            return view
        raise AssertionError("attempts raise when they are used up")

    def _view(self, found: records.Looked, now: float | None, beside: records.Beside) -> CompiledContext:
        return self._means.compiler.compile(records.state_of(self._context, found, now, beside))

    def _known(self, message_id: str) -> Message:
        return records.known(self._context, self._timeline(), message_id)
