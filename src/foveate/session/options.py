"""Options of a session: from what the caller gave to the compiler that is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from foveate.budget.profiles import DEFAULT_RULES, ModelProfile, profile_for
from foveate.budget.tokens import TokenCounter, counter_for
from foveate.budget.window import TokenBudget
from foveate.compiler.compilers import Compiler, PipelineCompiler, PragmaticCompiler
from foveate.compiler.policy import CompactWhen, Policy, isolated, policy_named, refuse_reducing
from foveate.errors import ConfigError
from foveate.recall.tool import RECALL_TOOL
from foveate.views.passes import Pass, PlainPass
from foveate.wire.tools import tool_names

_RESERVED_OUTPUT: Final = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a session was asked to be; `Session` documents each."""

    budget: int | TokenBudget | None = None
    model: str | ModelProfile | None = None
    compiler: Compiler | None = None
    policy: str | Policy | None = None
    passes: Sequence[Pass | PlainPass] | None = None
    isolation: Pass | None = None
    keep_turns: int | None = None
    compact_when: CompactWhen | None = None
    counter: TokenCounter | None = None
    # What runs on every request whatever policy is chosen.
    always: tuple[Pass | PlainPass, ...] = ()
    # The most tokens that a provider was found to take, if that is less than the budget.
    most: int | None = None

    def profile(self) -> ModelProfile | None:
        """The profile of the model, if one was given."""
        return profile_for(self.model) if isinstance(self.model, str) else self.model

    def compiler_for(
        self, profile: ModelProfile | None, counter: TokenCounter, tools: Sequence[Mapping[str, Any]]
    ) -> Compiler:
        """The compiler these options ask for."""
        if self.compiler is not None:
            self._refuse_beside_compiler()
            return self.compiler
        cache = profile.cache if profile is not None else DEFAULT_RULES
        budget = self._budget(profile)
        if budget is None:
            self._refuse_without_budget()
            return PragmaticCompiler(counter=counter, cache=cache, passes=tuple(self.passes or ()))
        return PipelineCompiler(
            budget=budget,
            policy=self._policy(),
            counter=counter,
            cache=cache,
            compact_when=self.compact_when,
            recall_tool=recall_tool_in(tools),
        )

    def counter_for(self, profile: ModelProfile | None) -> TokenCounter:
        """The counter given, or the one for the model."""
        # Beside a compiler that counts, the session counts as it does.
        own: TokenCounter | None = getattr(self.compiler, "counter", None)
        return self.counter or own or counter_for(profile.name if profile is not None else None)

    def _policy(self) -> Policy:
        policy = policy_named(self.policy or "default")
        if self.passes is not None:
            policy = replace(policy, name=f"{policy.name}+passes", passes=tuple(self.passes))
        elif self.always:
            policy = replace(policy, passes=(*self.always, *policy.passes))
        if self.isolation is not None:
            policy = replace(policy, passes=isolated(policy.passes, self.isolation))
        if self.keep_turns is not None:
            policy = replace(policy, keep_turns=self.keep_turns)
        return policy

    def _budget(self, profile: ModelProfile | None) -> TokenBudget | None:
        budget = self._given_budget(profile)
        return budget if budget is None or self.most is None else budget.narrowed(self.most)

    def _given_budget(self, profile: ModelProfile | None) -> TokenBudget | None:
        match self.budget:
            case TokenBudget(used=0):
                return self.budget
            case TokenBudget(used=used):
                raise ConfigError(
                    f"`used` of `budget` is what the session counts itself, got {used!r}; leave it out, and give "
                    "`reserved_system` for parts of requests that the session does not see"
                )
            case bool():
                raise ConfigError(f"`budget` is a number of tokens, got {self.budget!r}")
            case int():
                if self.budget < 1:
                    raise ConfigError(f"`budget` must be 1 token or more, got {self.budget!r}")
                return TokenBudget(window=self.budget)
            case None:
                return _window(profile)
            case _:  # pyright: ignore[reportUnnecessaryComparison]  callers without a type checker
                raise ConfigError(f"`budget` is a number of tokens or a `TokenBudget`, got {self.budget!r}")

    def _refuse_beside_compiler(self) -> None:
        names = ["budget", "policy", "passes", "isolation", "keep_turns", "compact_when"]
        if hasattr(self.compiler, "counter"):
            names.append("counter")
        given = [name for name in names if getattr(self, name) is not None]
        if given:
            raise ConfigError(f"`compiler` decides for itself; give {_named(given)} to the compiler instead")

    def _refuse_without_budget(self) -> None:
        names = ("policy", "isolation", "keep_turns", "compact_when")
        given = [name for name in names if getattr(self, name) is not None]
        if self.passes is not None and not self.passes:
            given.append("passes")
        if given:
            raise ConfigError(f"{_named(given)} has no effect without a `budget` or `model`; give one")
        refuse_reducing(self.passes or ())


def recall_tool_in(tools: Sequence[Mapping[str, Any]]) -> str | None:
    """The name of the recall tool, if the model has it: nothing may point to a tool that is not there."""
    name = RECALL_TOOL["function"]["name"]
    return name if name in tool_names(tools) else None


def _window(profile: ModelProfile | None) -> TokenBudget | None:
    if profile is None:
        return None
    if profile.window is None:
        raise ConfigError(
            f"no context window is known for `model` {profile.name!r}; "
            "give `budget`, or `model=ModelProfile(name=…, window=…)`"
        )
    reserved = min(profile.output_limit or _RESERVED_OUTPUT, _RESERVED_OUTPUT, profile.window // 4)
    return TokenBudget(window=profile.window, reserved_output=reserved)


def _named(options: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in options)
