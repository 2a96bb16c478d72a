"""The session: the shell around the compile, which keeps the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from foveate.budget.profiles import DEFAULT_RULES, ModelProfile, profile_for
from foveate.budget.tokens import TokenCounter, counter_for
from foveate.budget.window import TokenBudget
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.compilers import Compiler, PipelineCompiler, PragmaticCompiler
from foveate.compiler.policy import CompactWhen, Policy, policy_named
from foveate.errors import ConfigError, UnknownReferenceError
from foveate.log.context import AgentContext, Messages
from foveate.log.events import Body, CallRecorded, ErrorResolved, Event, FramingSet, Pinned, Unpinned, UsageReported
from foveate.log.messages import Message
from foveate.log.router import AgentStep, DefaultRouter, Router
from foveate.log.state import AgentState, ContextSection
from foveate.views.draft import Pass, PlainPass
from foveate.wire import openai_chat


class Session:
    def __init__(
        self,
        *,
        budget: int | TokenBudget | None = None,
        model: str | ModelProfile | None = None,
        system: str | None = None,
        tools: Iterable[Mapping[str, Any]] = (),
        response_format: Mapping[str, Any] | None = None,
        compiler: Compiler | None = None,
        policy: str | Policy = "default",
        passes: Sequence[Pass | PlainPass] | None = None,
        isolation: Pass | None = None,
        router: Router | None = None,
        compact_when: CompactWhen | None = None,
        counter: TokenCounter | None = None,
        session_id: str = "session",
    ) -> None:
        profile = model if isinstance(model, ModelProfile) else profile_for(model) if model else None
        chosen = policy_named(policy)
        if passes is not None:
            chosen = replace(chosen, passes=tuple(passes))
        if isolation is not None:
            chosen = replace(chosen, isolation=isolation)
        counter = counter or counter_for(profile.name if profile else None)
        self.counter = counter
        if isinstance(budget, int):
            budget = TokenBudget(window=budget)
        if compiler is None:
            cache = profile.cache if profile else DEFAULT_RULES
            if budget is None:
                compiler = PragmaticCompiler(counter=counter, cache=cache)
            else:
                compiler = PipelineCompiler(
                    budget=budget, policy=chosen, counter=counter, cache=cache, compact_when=compact_when
                )
        self._compiler = compiler
        self._router = router or DefaultRouter()
        self._context = AgentContext(session=session_id).with_events(
            [FramingSet(system=system, tools=tuple(dict(t) for t in tools), response_format=response_format, model=profile.name if profile else None)]
        )

    def extend(self, messages):
        decoded = [openai_chat.decode(m, where=f"message {i}") for i, m in enumerate(messages)]
        self._context = self._router.route(self._context, AgentStep(messages=tuple(decoded)))

    def compile(self, *, now=None, sections=()):
        view = self.preview(now=now, sections=sections)
        self._context = self._context.with_events(
            [*view.proposed, CallRecorded(number=view.number, strategy=view.strategy, budget=view.budget.limit if view.budget else None,
              tokens=view.tokens, predicted_cached=view.predicted_cached, payload_sha256=view.payload_sha256, now=now)], time=now)
        return view

    def preview(self, *, now=None, sections=()):
        return self._compiler.compile(AgentState(context=self._context, sections=tuple(sections), now=now))
