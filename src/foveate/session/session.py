"""The session: append what happens, compile what the model sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from foveate.budget.profiles import ModelProfile
from foveate.budget.tokens import TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compile.compiled import CompiledContext
from foveate.compile.compilers import Compiler
from foveate.compile.pass_protocol import Pass, PlainPass
from foveate.compile.policy import CompactWhen, Policy
from foveate.compile.summaries import Summarizer, pending_summary
from foveate.compile.timeline import Projector
from foveate.log.context import AgentContext
from foveate.log.events import Event
from foveate.log.router import DefaultRouter, Router
from foveate.log.sections import ContextSection
from foveate.recall.embedding import Embedder
from foveate.session import records
from foveate.session.beside import Turns, run_beside
from foveate.session.commit import EventWriter, Journal
from foveate.session.observing import log_compile
from foveate.session.options import Means, Options
from foveate.session.redacting import RedactingRouter
from foveate.session.usage import UsageReports
from foveate.session.writing import WritableSession

if TYPE_CHECKING:
    from foveate.store import Store

AroundCompile = Callable[["Session"], AbstractContextManager[Callable[[CompiledContext], None]]]


class Session(WritableSession):
    """One conversation of an agent: an append-only log, and a fresh view of it for every call.

    >>> session = Session(budget=8_000)
    >>> session.extend([{"role": "user", "content": "Hello"}])
    ['m1']
    >>> session.compile().to("openai")
    [{'role': 'user', 'content': 'Hello'}]

    Threads may share a session: each of its methods is done before another thread's begins, messages and events that
    were read stay as they are, and `acompile` does its work beside the event loop.

    Args:
        budget: the most input tokens a request may have; without it, and without `model`, nothing is reduced.
        model: a name known to `genai-prices`, or a `ModelProfile`: gives window, prices and cache rules.
        system: the system prompt, sent first, never reduced: text, or as Anthropic or Gemini has it, and sent so.
        tools, response_format: what the caller sends along; it counts against the budget.
        compiler: decides for itself what the model sees, instead of the options below.
        policy: a named bundle of passes, isolation and marks, or a `Policy`.
        passes: the passes of every request and of reductions, in order, instead of the policy's.
        isolation: what is left of finished turns' tool traffic: `Boundary`, `ObservationMasking`, `Transparent`.
        keep_turns: how many of the newest turns are shown as they were said, as far as the budget allows.
        router: puts messages into the log.
        compact_when: `(state, messages, budget) -> bool`: asks for a reduction besides what budget and prices ask.
        counter: counts tokens, instead of the model's own tokenizer.
        summarizer: may write summaries in `acompile` and `end_turn`; without it none needs a model.
        recall_command: a command such as `foveate recall my-session`, for models that have a shell and no recall tool:
            what is shortened names it, and the model gives it a reference.
        redact: takes secrets out of messages and framing before they are recorded, and so out of what is sent.
        embedder: finds what to recall by meaning, too; without it by words alone.
        session_id: the name that events carry.

    """

    def __init__(
        self,
        *,
        budget: int | TokenBudget | None = None,
        model: str | ModelProfile | None = None,
        system: records.SystemPrompt | None = None,
        tools: Iterable[Mapping[str, Any]] = (),
        response_format: Mapping[str, Any] | None = None,
        compiler: Compiler | None = None,
        policy: str | Policy | None = None,
        passes: Sequence[Pass | PlainPass] | None = None,
        isolation: Pass | None = None,
        keep_turns: int | None = None,
        router: Router | None = None,
        compact_when: CompactWhen | None = None,
        counter: TokenCounter | None = None,
        summarizer: Summarizer | None = None,
        recall_command: str | None = None,
        redact: bool = False,
        embedder: Embedder | None = None,
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
                keep_turns=keep_turns,
                compact_when=compact_when,
                counter=counter,
                recall_command=recall_command,
                redact=redact,
                embedder=embedder,
            )
        )
        self._router = RedactingRouter(router or DefaultRouter()) if redact else router or DefaultRouter()
        self._summarizer = summarizer
        if summarizer is not None:
            self._means.refuse_without_reductions("summarizer")
        self._around: list[AroundCompile] = []
        self._usage = UsageReports()
        # Whose summary is being written; only one at a time.
        self._turns = Turns()
        self._writer = EventWriter(AgentContext(session=records.session_name(session_id)))
        self._frame(records.framing(system, tools, response_format, self._means.framing.model), given=True)

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
    def continued(
        cls,
        context: AgentContext,
        journal: Journal | None,
        options: dict[str, Any],
        projector: Projector | None = None,
        begun: Self | None = None,
    ) -> Self:
        """The session that goes on from a snapshot: `begun`, made of the same options, if it can be that one."""
        chosen = records.continued_options(context, options)
        is_same = all(chosen.get(name) is options.get(name) for name in ("model", "compiler"))
        session = begun if begun is not None and is_same else cls(**chosen)
        writer = EventWriter(context, journal, projector)
        session._go_on(writer, chosen, keeps_model="model" not in options)  # noqa: SLF001  it is one of this class
        return session

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> bool:
        """Let go of the store; whether all of the log is in it. A session in memory has nothing to let go of."""
        with self._writer.guard:
            return self._writer.close(self._means.counter)

    @property
    def summarizer(self) -> Summarizer | None:
        """What may write summaries in `acompile` and `end_turn`."""
        return self._summarizer

    @property
    def held_in(self) -> str | None:
        """Where events wait to be written, in words; None if the store has them all."""
        return self._writer.journal.held_in if self._writer.journal is not None else None

    # --- options that change --------------------------------------------------------------------------------------

    def use(self, policy: str | Policy, *, compact_when: CompactWhen | None = None) -> None:
        """Reduce by another policy from the next call on; a session without a budget refuses it."""
        with self._writer.guard:
            self._means.choose(policy, compact_when)

    def narrow(self, most: int | None) -> None:
        """Send at most so many tokens from the next call on, if the budget allows more; None takes it back."""
        with self._writer.guard:
            self._means.narrow(most)

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
            done = [stack.enter_context(around(self)) for around in tuple(self._around)]
            records.moment("now", now)
            with self._writer.guard:
                # What another writer said first belongs into the request.
                view = self._writer.retried(partial(self._recorded, now, beside))
            self._usage.last_call = view.number
            log_compile(view)
            for tell in done:
                tell(view)
            return view

    async def acompile(
        self, *, now: float | None = None, sections: Iterable[ContextSection] = (), timeout: float = 60.0
    ) -> CompiledContext:
        """Like `compile`, but beside the event loop, and first lets the summarizer write a summary if one is due.

        Several at once take turns, so that no summary is written twice. Observers are told in another thread. Whatever
        goes wrong with a summary, the call proceeds with the digest that needs no model, and a diagnostic says so.
        """
        sections = tuple(sections)
        compiled = partial(self.compile, now=now, sections=sections)
        if self._summarizer is None:
            return await run_beside(compiled)
        async with self._turns:
            request = pending_summary(await run_beside(self.preview, now=now, sections=sections))
            if request is not None:
                written = await records.summarised(self._summarizer, request, timeout, self._means.counter)
                await run_beside(self.note, written, time=now)
            return await run_beside(compiled)

    async def end_turn(self, *, now: float | None = None, timeout: float = 60.0) -> bool:
        """Reduce after an answer, if there is no room for another turn; whether that was so.

        Neither the next request waits for it then, nor is the next turn reduced in its middle. With a summarizer a
        summary is written first; if it fails or leaves out what the ledger has, the digest stays, and a diagnostic
        says why. Every policy may be used.
        """
        records.moment("now", now)
        async with self._turns:
            view = await run_beside(self._between_turns, now)
            request = pending_summary(view) if view is not None else None
            if request is not None and self._summarizer is not None:
                written = await records.summarised(self._summarizer, request, timeout, self._means.counter)
                await run_beside(self.note, written, time=now)
            return view is not None and await run_beside(self._reduce_between_turns, now)

    # --- who watches ----------------------------------------------------------------------------------------------

    def subscribe(self, observer: Callable[[Event], None]) -> Callable[[], None]:
        """Call `observer` with every event from here on, in any thread; it may append events. Returns a way to stop."""
        return self._writer.observers.add(observer)

    def around_compile(self, around: AroundCompile) -> None:
        """Run every compile inside a context manager, which gets a function to be told the view with."""
        self._around.append(around)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _go_on(self, writer: EventWriter, chosen: Mapping[str, Any], *, keeps_model: bool) -> None:
        """Go on from the snapshot of a writer, framed as its log was left or as is `chosen` now."""
        context, means = writer.context, self._means
        recorded = records.framing_of(context)
        model = (recorded if keeps_model else means.framing).model
        given = means.storable(records.framing(chosen["system"], chosen["tools"], chosen["response_format"], model))
        self._writer = writer
        if writer.journal is not None:
            means.search_in(writer.journal.index())
        means.follow(given)
        if not context.length or given != recorded:
            make = partial(AgentContext.with_events, bodies=[msgspec.structs.replace(given, given=True)])
            self._commit(make, hold=True)

    def _recorded(self, now: float | None, beside: records.Beside) -> CompiledContext:
        """The view of the log as it stands, with its call recorded; a compile that fails leaves the log as it was."""
        self._writer.check_open()
        attempt, self._previewed = self._attempted(now, beside), None
        found, view = attempt.found, attempt.view
        bodies = (*found, *view.proposed, records.call_record(view, found, beside, self._means.recipe))
        self._commit(partial(AgentContext.with_events, bodies=bodies, time=now), hold=True)
        self._writer.offer(view.prefix)
        place = self._writer.place
        self._writer.save(self._means.counter)
        return view if place is None else replace(view, recorded_in=place)

    def _between_turns(self, now: float | None) -> CompiledContext | None:
        """The request if it were reduced now, between two turns; None if that is not due."""
        with self._writer.guard:
            return self._means.between_turns(self._writer.context, self._projection(), now)

    def _reduce_between_turns(self, now: float | None) -> bool:
        """Reduce the log as it stands, between two turns; whether that was due."""

        def attempt() -> bool:
            view = self._between_turns(now)
            if view is not None:
                self._commit(partial(AgentContext.with_events, bodies=view.proposed, time=now), hold=True)
            return view is not None

        with self._writer.guard:
            return self._writer.retried(attempt)
