"""Options of a session: from what the caller gave to the compiler that is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from foveate.budget.profiles import DEFAULT_RULES, ModelProfile, profile_for
from foveate.budget.tokens import TokenCounter, counter_for
from foveate.budget.window import TokenBudget
from foveate.compile.compiled import CompiledContext
from foveate.compile.compilers import Compiler, PipelineCompiler, PragmaticCompiler
from foveate.compile.draft import Shares
from foveate.compile.moments import BetweenTurns
from foveate.compile.pass_protocol import Pass, PlainPass, reaches_back
from foveate.compile.policy import CompactWhen, Policy, isolated, policy_named, refuse_reducing
from foveate.compile.projection import Projection
from foveate.compile.recipe import fingerprint, source_of
from foveate.errors import ConfigError, UnknownModelError
from foveate.log.context import AgentContext
from foveate.log.events import DiagnosticRecorded, FramingSet, RecallRecorded, ReductionRecorded
from foveate.log.semantics import TOOLS
from foveate.recall import PassageIndex
from foveate.recall.embedding import Embedder
from foveate.recall.meaning import Meaning
from foveate.recall.tool import RECALL_TOOL, tool_over_mcp
from foveate.session.recollection import Recollection
from foveate.session.records import Beside, Looked, Recipe, state_of
from foveate.session.redacting import redacted_framing
from foveate.session.settling import settled_errors
from foveate.wire.names import originals_of
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
    embedder: Embedder | None = None
    # What runs on every request whatever policy is chosen.
    always: tuple[Pass | PlainPass, ...] = ()
    # How a model with a shell gets content back, where it has no tool for it.
    recall_command: str | None = None
    # Whether secrets are taken out before anything is recorded.
    redact: bool = False
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
        recall = recall_tool_in(tools) or self._recall_command(tools)
        if budget is None:
            self._refuse_without_budget()
            return PragmaticCompiler(counter=counter, cache=cache, passes=tuple(self.passes or ()))
        return PipelineCompiler(
            budget=budget,
            policy=self._policy(),
            counter=counter,
            cache=cache,
            compact_when=self.compact_when,
            recall_tool=recall,
        )

    def counter_for(self, profile: ModelProfile | None) -> TokenCounter:
        """The counter given, or the one for the model."""
        # Beside a compiler that counts, the session counts as it does.
        own: TokenCounter | None = getattr(self.compiler, "counter", None)
        return self.counter or own or counter_for(profile.name if profile is not None else None)

    def _recall_command(self, tools: Sequence[Mapping[str, Any]]) -> str | None:
        """The command that gets content back, if it was given and the model has a shell to run it in."""
        if self.recall_command is None:
            return None
        if not self.recall_command.strip() or not self.recall_command.isprintable() or "`" in self.recall_command:
            raise ConfigError(
                f"`recall_command` is a command on one line, such as 'foveate recall my-session', got "
                f"{self.recall_command!r}"
            )
        has_shell = any(
            (known := TOOLS.get(name)) is not None and known.access == "shell" for name in tool_names(tools)
        )
        return f"`{self.recall_command.strip()}`" if has_shell else None

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
    """The name of the recall tool, if the model has it: nothing may point to a tool that is not there.

    A tool whose loading is deferred is not there before the model has searched for it.
    """
    names = tool_names(tool for tool in tools if tool.get("defer_loading") is not True)
    for tool in tools:
        # As Codex gives all tools of a server, which it calls by two names.
        within = tool_names(tool["tools"]) if tool.get("type") == "namespace" and "tools" in tool else ()
        if any(tool_over_mcp(f"{tool.get('name')}__{name}") == "recall" for name in within):
            return f"{tool.get('name')}.recall"
    over_mcp = next((name for name in names if tool_over_mcp(name) == "recall"), None)
    name = RECALL_TOOL["function"]["name"]
    return over_mcp or (name if name in names else None)


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


# Where nothing says how large a request may be.
_SMALL_WINDOW: Final = 8_000


class Attempt(NamedTuple):
    """What a view was compiled from, what was recalled for it, and the view."""

    projection: Projection
    compiler: Compiler
    now: float | None
    beside: Beside
    found: Looked
    view: CompiledContext

    def is_from(self, projection: Projection, compiler: Compiler, now: float | None, beside: Beside) -> bool:
        """Whether it was compiled from the same state by the same compiler."""
        is_same = self.projection is projection and self.compiler is compiler
        return is_same and (self.now, self.beside) == (now, beside)


class Means:
    """Profile, counter, compiler and recollection of a session, as its framing has them now."""

    compiler: Compiler
    recipe: Recipe
    # Names of tools by those that providers were sent for them.
    originals: dict[str, str]

    def __init__(self, options: Options) -> None:
        self._options = options
        self.profile = options.profile()
        self.counter = options.counter_for(self.profile)
        self.framing = FramingSet(model=self.profile.name if self.profile is not None else None)
        self._recollection = Recollection(meaning=Meaning(options.embedder) if options.embedder is not None else None)

    def adopt(self, framing: FramingSet, profile: ModelProfile | None = None) -> None:
        """Compile with a framing from here on; `profile` is the one of its model, if that is not the model so far."""
        if framing.model != self.framing.model:
            self.profile = profile or Options(model=framing.model).profile()
            self.counter = self._options.counter_for(self.profile)
        self._use(framing)

    def storable(self, framing: FramingSet) -> FramingSet:
        """A framing as it may be recorded."""
        return redacted_framing(framing) if self._options.redact else framing

    def follow(self, framing: FramingSet) -> None:
        """Compile with a framing that the session has by what others or earlier ones did."""
        if framing != self.framing:
            try:
                self.adopt(framing, self.profile if self.framing.model == framing.model else None)
            except UnknownModelError:
                # A profile of one's own is known only to who made it: the others go on with theirs.
                self._use(framing)

    def choose(self, policy: str | Policy, compact_when: CompactWhen | None) -> None:
        """Reduce by another policy, whatever was given for the one so far; what every request needs still runs."""
        always = self._options.always or tuple(one for one in self._options.passes or () if reaches_back(one))
        chosen = replace(
            self._options, policy=policy, passes=None, isolation=None, compact_when=compact_when, always=always
        )
        # First, as it may be refused.
        compiler = chosen.compiler_for(self.profile, self.counter, self.framing.tools)
        self._options = chosen
        self._use(self.framing, compiler)

    def narrow(self, most: int | None) -> None:
        """Send at most so many tokens, if the budget is more; None takes it back."""
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"`most` must be 1 token or more, got {most!r:.80}; None takes it back")
        if most is not None and self._options.compiler is not None:
            raise ConfigError("`narrow` has no effect beside a `compiler`, which has a budget of its own")
        if most is not None:
            self.refuse_without_reductions("narrow")
        self._options = replace(self._options, most=most)
        self._use(self.framing)

    def refuse_without_reductions(self, option: str) -> None:
        """Refuse an option of a session that never reduces anything."""
        if self._options.compiler is None and self._options.budget is None and self.profile is None:
            raise ConfigError(f"`{option}` has no effect without a `budget` or `model`; give one")

    @property
    def reserved(self) -> int:
        """The tokens of each request that the budget keeps for parts which the session is not given."""
        budget = getattr(self.compiler, "budget", None)
        return budget.reserved_system if isinstance(budget, TokenBudget) else 0

    def search_in(self, index: PassageIndex) -> None:
        """Recall from an index that somebody else fills."""
        self._recollection = self._recollection.of(index)

    def attempted(
        self, context: AgentContext, projection: Projection, now: float | None, beside: Beside, last: Attempt | None
    ) -> Attempt:
        """The view of a session as it stands; the `last` one, if nothing has changed since."""
        compiled_from = (projection, self.compiler, now, beside)
        if last is not None and last.is_from(*compiled_from):
            return last
        # An override is sent as it is.
        settled = settled_errors(projection, context.turn) if beside.override is None else None
        before = (settled,) if settled is not None else ()
        plain = replace(state_of(context, projection, now, beside), recalled=before)
        view = self.compiler.compile(plain)
        found: Looked = []
        if beside.override is None:
            view, found = self._completed(
                view, lambda one: self.compiler.compile(replace(plain, recalled=(*before, one), plain=view))
            )
        return Attempt(*compiled_from, [*before, *found], view)

    def between_turns(self, context: AgentContext, projection: Projection, now: float | None) -> CompiledContext | None:
        """The view of a session whose turn has ended, if there is no room for another one."""
        compiler = self.compiler
        last = projection.message(projection.message_count - 1) if projection.message_count else None
        if not isinstance(compiler, PipelineCompiler) or last is None or last.role != "assistant" or last.calls:
            return None
        policy = replace(compiler.policy, when=BetweenTurns(also=compiler.policy.when))
        state = state_of(context, projection, now, Beside((), None))
        view = replace(compiler, policy=policy).compile(state)
        return view if any(isinstance(body, ReductionRecorded) for body in view.proposed) else None

    def _completed(
        self, view: CompiledContext, compiled: Callable[[RecallRecorded], CompiledContext]
    ) -> tuple[CompiledContext, Looked]:
        """A request with what it does not show and its input is about; a search that fails costs no call."""
        limit = self._limit(view)
        try:
            room = self._recollection.room(view, limit)
            found = self._recollection.for_input(view, room.most) if room is not None else None
            if room is None or found is None:
                return view, []
            completed = compiled(found)
            if found.item.tokens > room.free:
                # For its room more was evicted, which may be what the input is about.
                left = limit - completed.tokens + found.item.tokens
                again = self._recollection.for_input(completed, min(room.most, left))
                if again is not None and again.item.tokens > room.free:
                    completed, found = compiled(again), again
        except Exception as error:  # noqa: BLE001  whatever it is, the request can do without
            return view, [DiagnosticRecorded(code="recall_failed", phase="recall", text=f"{error!r}")]
        return completed, [found]

    def _use(self, framing: FramingSet, compiler: Compiler | None = None) -> None:
        self.framing = framing
        self.originals = originals_of(framing.tools)
        self.compiler = compiler or self._options.compiler_for(self.profile, self.counter, framing.tools)
        policy = getattr(self.compiler, "policy", None)
        self.recipe = _recipe(self.compiler, policy if isinstance(policy, Policy) else None)
        # The index keeps the messages it has.
        self._recollection.shares = policy.shares if isinstance(policy, Policy) else Shares()
        self._recollection.beside_summary = isinstance(policy, Policy) and policy.when is not None

    def _limit(self, view: CompiledContext) -> int:
        """The tokens that a request may have: of its budget, else of the last call's, else of the window."""
        if view.budget is not None:
            return view.budget.limit
        sent = view.projection.sent
        if sent is not None and sent.limit is not None:
            return sent.limit
        return (self.profile.window if self.profile is not None else None) or _SMALL_WINDOW


def _recipe(compiler: Compiler, policy: Policy | None) -> Recipe:
    origin = policy.origin if policy is not None else None
    return Recipe(
        source=source_of(compiler),
        sha256=fingerprint(compiler),
        policy=policy.name if policy is not None else "",
        template=origin.template if origin is not None else "",
    )
