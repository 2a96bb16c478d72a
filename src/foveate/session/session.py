"""The session: append what happens, compile what the model sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Self

import msgspec
from msgspec import UNSET, UnsetType

from foveate.budget.profiles import ModelProfile
from foveate.budget.tokens import TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.compilers import Compiler, PipelineCompiler
from foveate.compiler.policy import CompactWhen, Policy
from foveate.compiler.rebuild import rebuilt_call
from foveate.compiler.summaries import Summarizer, SummaryRequest, pending_summary, refused
from foveate.errors import ConfigError, UnknownReferenceError
from foveate.log.codec import dump_events
from foveate.log.context import AgentContext, Messages
from foveate.log.events import (
    Body,
    DiagnosticRecorded,
    ErrorResolved,
    Event,
    FramingSet,
    Pinned,
    RecallRecorded,
    SummaryRecorded,
    Unpinned,
    UsageReported,
)
from foveate.log.messages import Message
from foveate.log.router import AgentStep, DefaultRouter, Router
from foveate.log.sections import ContextSection
from foveate.log.state import AgentState
from foveate.log.text import encodable
from foveate.recall import excerpt
from foveate.session.answering import answer_recall
from foveate.session.observing import Observers, log_compile
from foveate.session.options import Options
from foveate.session.recollection import Recollection
from foveate.session.records import (
    call_record,
    definitions,
    framing_of,
    plain,
    refuse_known_ids,
    said,
    same_as_begun,
    summary_failed,
)
from foveate.views.conversation import conversation_view
from foveate.views.draft import Pass, PlainPass
from foveate.views.timeline import Timeline, timeline_of
from foveate.wire import openai_chat

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
        tools: tool definitions that the caller sends along; they count against the budget.
        response_format: a response format that the caller sends along; it counts too.
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
        self._options = Options(
            budget=budget,
            model=model,
            compiler=compiler,
            policy=policy,
            passes=passes,
            isolation=isolation,
            compact_when=compact_when,
            counter=counter,
        )
        self._profile = self._options.profile()
        self._counter = self._options.counter_for(self._profile)
        self._router = router or DefaultRouter()
        self._summarizer = summarizer
        self._observers = Observers()
        self._around: list[AroundCompile] = []
        self._context = AgentContext(session=session_id)
        self._given = FramingSet(
            system=said(system),
            tools=definitions(tools),
            response_format=plain(response_format),
            model=self._profile.name if self._profile is not None else None,
        )
        self._frame(self._given)

    @classmethod
    def from_events(cls, events: Iterable[Event], **options: Any) -> Self:
        """The session that recorded events lead to; its next request is the same, byte for byte.

        `options` are those of the constructor; framing that is not given is taken from the events.
        """
        context = AgentContext.from_events(events)
        recorded = framing_of(context)
        for name in ("system", "tools", "response_format", "model"):
            # Given as at the beginning, an option says what the session began with, not what it became since.
            if name in options and same_as_begun(name, options[name], context):
                del options[name]
            if name != "model":
                options.setdefault(name, getattr(recorded, name))
        if recorded.model is not None and not {"model", "budget", "compiler"} & options.keys():
            options["model"] = recorded.model
        options.setdefault("session_id", context.session)
        session = cls(**options)
        session._context = context
        given = session._given
        if "model" not in options:
            given = msgspec.structs.replace(given, model=recorded.model)
        session._given = recorded
        if given != recorded:
            session._frame(given)
        else:
            session._use(recorded.tools)
        return session

    # --- what happens ---------------------------------------------------------------------------------------------

    def append(self, message: Mapping[str, Any] | Message, *, time: float | None = None) -> str:
        """Append one message; returns its id. A malformed one is refused and the log stays as it was."""
        return self.extend([message], time=time)[0]

    def extend(self, messages: Iterable[Mapping[str, Any] | Message], *, time: float | None = None) -> list[str]:
        """Append messages as they arrived; all of them, or none if one is malformed. Returns their ids."""
        step = AgentStep(
            messages=tuple(openai_chat.decode(raw, where=f"message {index}") for index, raw in enumerate(messages)),
            time=time,
        )
        refuse_known_ids(step.messages, self._timeline())
        first = self._context.message_count
        self._advance(self._router.route(self._context, step))
        return [self.messages[index].id for index in range(first, self._context.message_count)]

    def next_execution(self, *, time: float | None = None) -> None:
        """End the running turn: its tool traffic is history from here on."""
        self._advance(self._router.next_execution(self._context, time=time))

    def pin(self, message_id: str) -> None:
        """Show a message verbatim in every request from here on, even if it was reduced before."""
        self._known(message_id)
        self.record(Pinned(message_id=message_id))

    def unpin(self, message_id: str) -> None:
        """Let a message be reduced again."""
        if message_id not in self._timeline().pins:
            raise UnknownReferenceError(f"{message_id!r} is not pinned; pinned are {list(self._timeline().pins)}")
        self.record(Unpinned(message_id=message_id))

    def resolve(self, message_id: str) -> None:
        """Settle a failed tool execution: it needs no place of its own any more."""
        self._known(message_id)
        self.record(ErrorResolved(message_id=message_id))

    def report_usage(self, input_tokens: int, cached_tokens: int | None = None, *, call: int | None = None) -> None:
        """Tell what the provider counted for the last call (or call number `call`); corrects later counts."""
        for name, value in (("input_tokens", input_tokens), ("cached_tokens", cached_tokens)):
            if value is not None and (not isinstance(value, int) or value < 0):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ConfigError(f"`{name}` must be a number of tokens, 0 or more, got {value!r}")
        number = call if call is not None else self._timeline().calls
        if number < 1:
            raise ConfigError("usage was reported before any call; `compile()` first")
        self.record(UsageReported(call=number, input_tokens=input_tokens, cached_tokens=cached_tokens))

    def reframe(
        self,
        *,
        system: str | UnsetType | None = UNSET,
        tools: Iterable[Mapping[str, Any]] | UnsetType = UNSET,
        response_format: Mapping[str, Any] | UnsetType | None = UNSET,
        model: str | ModelProfile | UnsetType | None = UNSET,
    ) -> None:
        """Change what frames the messages, from the next call on; what is left out stays as it is."""
        context = self._context
        profile = model if isinstance(model, ModelProfile) else None
        name = profile.name if profile is not None else model
        self._frame(
            FramingSet(
                system=context.system if system is UNSET else said(system),
                tools=context.tools if tools is UNSET else definitions(tools),
                response_format=context.response_format if response_format is UNSET else plain(response_format),
                model=context.model if isinstance(name, UnsetType | ModelProfile) else name,
            ),
            profile,
        )

    def record(self, *bodies: Body, time: float | None = None) -> None:
        """Append events; subscribers are told."""
        self._advance(self._context.with_events(bodies, time=time))

    # --- what the model sees --------------------------------------------------------------------------------------

    def compile(self, *, now: float | None = None, sections: Iterable[ContextSection] = ()) -> CompiledContext:
        """The request to send now; the reductions in it and the call itself are recorded."""
        with ExitStack() as stack:
            done = [stack.enter_context(around(self)) for around in self._around]
            found = tuple(self._lookup())
            state = AgentState(context=self._context, sections=tuple(sections), now=now, recalled=found)
            view = self._compiler.compile(state)
            # Only now: a compile that fails leaves the log as it was.
            self.record(*found, *view.proposed, call_record(view, now), time=now)
            log_compile(view)
            for tell in done:
                tell(view)
            return view

    def preview(self, *, now: float | None = None, sections: Iterable[ContextSection] = ()) -> CompiledContext:
        """The request that `compile` would give, with nothing recorded."""
        state = AgentState(
            context=self._context, sections=tuple(sections), now=now, recalled=tuple(self._lookup(quiet=True))
        )
        return self._compiler.compile(state)

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
                self.record(await self._summary(self._summarizer, request, timeout), time=now)
        return self.compile(now=now, sections=sections)

    def call(self, number: int) -> CompiledContext:
        """Call `number` as it was sent, folded from the events recorded for it; nothing is decided again."""
        return rebuilt_call(self._context, number, self._counter)

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
        if lines is not None and [type(one) for one in lines] != [int, int]:
            raise ConfigError(f"`lines` is a first and a last line number, got {lines!r}")
        if query is not None and not isinstance(query, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"`query` is text, got {query!r}")
        return excerpt(self._known(reference), lines=lines, query=query)

    def answer_recall(self, arguments: str | Mapping[str, Any]) -> str:
        """Answer a call of the recall tool; what is wrong with it is said to the model, not raised."""
        return answer_recall(self, arguments)

    # --- who watches ----------------------------------------------------------------------------------------------

    def subscribe(self, observer: Callable[[Event], None]) -> Callable[[], None]:
        """Call `observer` with every event from here on; it may append events. Returns a way to stop."""
        return self._observers.add(observer)

    def around_compile(self, around: AroundCompile) -> None:
        """Run every compile inside a context manager, which gets a function to be told the view with."""
        self._around.append(around)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _frame(self, framing: FramingSet, profile: ModelProfile | None = None) -> None:
        if framing.model != self._given.model:
            self._profile = profile or Options(model=framing.model).profile()
            self._counter = self._options.counter_for(self._profile)
        self._given = framing
        self._use(framing.tools)
        self.record(framing)

    def _use(self, tools: tuple[dict[str, Any], ...]) -> None:
        self._compiler = self._options.compiler_for(self._profile, self._counter, tools)
        budget = getattr(self._compiler, "budget", None)
        policy = getattr(self._compiler, "policy", None)
        self._recollection: Recollection | None = None
        if isinstance(budget, TokenBudget) and isinstance(policy, Policy):
            self._recollection = Recollection(policy.shares)

    def _timeline(self) -> Timeline:
        return timeline_of(self._context, self._counter)

    def _advance(self, context: AgentContext) -> None:
        before, self._context = self._context.length, context
        failed = self._observers.tell(context.log.events[before : context.length])
        for text in failed:
            # Told to nobody: a subscriber that fails on every event would otherwise never come to an end.
            body = DiagnosticRecorded(code="subscriber_failed", phase="observe", text=text)
            self._context = self._context.with_events([body])

    def _known(self, message_id: str) -> Message:
        position = self._timeline().position(message_id)
        if position is None:
            raise UnknownReferenceError(
                f"no message {message_id!r} in session {self.id!r}; it has {self._context.message_count} messages, "
                "named like m1"
            )
        return self.messages[position]

    def _lookup(self, *, quiet: bool = False) -> list[RecallRecorded]:
        if self._recollection is None or not isinstance(self._compiler, PipelineCompiler):
            return []
        try:
            found = self._recollection.for_input(self._timeline(), self._context, self._compiler.budget)
        except Exception as error:  # noqa: BLE001  a search that fails must not cost the call
            if not quiet:
                self.record(DiagnosticRecorded(code="recall_failed", phase="recall", text=f"{error!r}"))
            return []
        return [found] if found is not None else []

    async def _summary(self, summarizer: Summarizer, request: SummaryRequest, timeout: float) -> Body:
        # Only who has a summarizer pays for the event loop's import.
        import asyncio  # noqa: PLC0415

        try:
            text = encodable(str(await asyncio.wait_for(summarizer.summarise(request), timeout) or ""))
        except TimeoutError:
            return summary_failed(f"{summarizer.name} gave no summary within {timeout:g} s", request)
        except Exception as error:  # noqa: BLE001  a summary that fails must not cost the call
            return summary_failed(f"{summarizer.name} failed: {error!r}", request)
        tokens = self._counter.count(text)
        problem = refused(text, tokens, request)
        if problem is not None:
            return summary_failed(f"{summarizer.name}: {problem}", request)
        return SummaryRecorded(text=text, through=request.through, summarizer=summarizer.name, tokens=tokens)
