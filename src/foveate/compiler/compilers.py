"""The three compilers: pragmatic, budget-aware, pipeline; each `compile(state) -> CompiledContext`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from foveate.budget.profiles import DEFAULT_RULES, CacheRules
from foveate.budget.tokens import SplintrCounter, TokenCounter
from foveate.budget.window import TokenBudget
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.policy import POLICIES, CompactWhen, Policy
from foveate.compiler.run import Plan, run
from foveate.log.state import AgentState


class Compiler(Protocol):
    """Decides what a model sees: a pure function of the state."""

    def compile(self, state: AgentState, /) -> CompiledContext: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PragmaticCompiler:
    """The reasoning view as it is: mended, never reduced."""

    counter: TokenCounter = field(default_factory=SplintrCounter)
    cache: CacheRules = DEFAULT_RULES

    def compile(self, state: AgentState, /) -> CompiledContext:
        """The request for a state."""
        return run(state, Plan(name="pragmatic", counter=self.counter, policy=POLICIES["default"], cache=self.cache))


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAwareCompiler:
    """The reasoning view, reduced when the budget demands it, finished turns treated like the running one."""

    budget: TokenBudget
    counter: TokenCounter = field(default_factory=SplintrCounter)
    cache: CacheRules = DEFAULT_RULES
    recall_tool: str | None = None

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
