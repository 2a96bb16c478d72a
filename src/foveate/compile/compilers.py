"""The three compilers: pragmatic, budget-aware, pipeline; each `compile(state) -> CompiledContext`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from foveate.budget.profiles import DEFAULT_RULES, CacheRules
from foveate.budget.tokens import SplintrCounter, TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compile.compiled import CompiledContext
from foveate.compile.fitting import Plan
from foveate.compile.pass_protocol import Pass, PlainPass
from foveate.compile.policy import POLICIES, CompactWhen, Policy, refuse_reducing
from foveate.compile.run import run
from foveate.log.state import AgentState


class Compiler(Protocol):
    """Decides what a model sees: a pure function of the state."""

    def compile(self, state: AgentState, /) -> CompiledContext: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PragmaticCompiler:
    """The reasoning view as it is: mended, never reduced."""

    counter: TokenCounter = field(default_factory=SplintrCounter)
    cache: CacheRules = DEFAULT_RULES
    # What runs on every request; there are no others without a budget.
    passes: tuple[Pass | PlainPass, ...] = ()
    recipe_name: ClassVar[str] = "pragmatic@1"

    def __post_init__(self) -> None:
        refuse_reducing(self.passes)

    def compile(self, state: AgentState, /) -> CompiledContext:
        """The request for a state."""
        policy = Policy(name="pragmatic", passes=self.passes)
        return run(state, Plan(name="pragmatic", counter=self.counter, policy=policy, cache=self.cache))


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAwareCompiler:
    """The reasoning view, reduced when the budget demands it, finished turns treated like the running one."""

    budget: TokenBudget
    counter: TokenCounter = field(default_factory=SplintrCounter)
    cache: CacheRules = DEFAULT_RULES
    recall_tool: str | None = None
    recipe_name: ClassVar[str] = "budget-aware@1"

    def compile(self, state: AgentState, /) -> CompiledContext:
        """The request for a state."""
        return run(
            state,
            Plan(
                name="budget-aware",
                counter=self.counter,
                policy=POLICIES["transparent"],
                budget=self.budget,
                cache=self.cache,
                recall_tool=self.recall_tool,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineCompiler:
    """The whole chain, every part of it yours to choose: passes, isolation, marks, trigger."""

    budget: TokenBudget
    policy: Policy = field(default_factory=lambda: POLICIES["default"])
    counter: TokenCounter = field(default_factory=SplintrCounter)
    cache: CacheRules = DEFAULT_RULES
    compact_when: CompactWhen | None = None
    recall_tool: str | None = None
    recipe_name: ClassVar[str] = "pipeline@1"

    def compile(self, state: AgentState, /) -> CompiledContext:
        """The request for a state."""
        return run(
            state,
            Plan(
                name=self.policy.name if self.policy.origin is not None else f"pipeline:{self.policy.name}",
                counter=self.counter,
                policy=self.policy,
                budget=self.budget,
                cache=self.cache,
                compact_when=self.compact_when,
                recall_tool=self.recall_tool,
            ),
        )
