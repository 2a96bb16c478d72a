"""Means: what a session compiles with, from its options and its framing."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from foveate.budget.profiles import ModelProfile
from foveate.budget.window import TokenBudget
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.compilers import Compiler
from foveate.compiler.policy import CompactWhen, Policy
from foveate.compiler.recipe import fingerprint, source_of
from foveate.errors import ConfigError, UnknownModelError
from foveate.log.context import AgentContext
from foveate.log.events import DiagnosticRecorded, FramingSet, RecallRecorded
from foveate.recall import PassageIndex
from foveate.session.options import Options
from foveate.session.recollection import Recollection
from foveate.session.records import Beside, Looked, Recipe, state_of
from foveate.views.draft import Shares
from foveate.views.passes import reaches_back
from foveate.views.projection import Projection
from foveate.wire.names import originals_of

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
        self._recollection = Recollection()

    def adopt(self, framing: FramingSet, profile: ModelProfile | None = None) -> None:
        """Compile with a framing from here on; `profile` is the one of its model, if that is not the model so far."""
        if framing.model != self.framing.model:
            self.profile = profile or Options(model=framing.model).profile()
            self.counter = self._options.counter_for(self.profile)
        self._use(framing)

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
        if most is not None and most < 1:
            raise ConfigError(f"`most` must be 1 token or more, got {most!r}; None takes it back")
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
        self._recollection = Recollection(self._recollection.shares, index)

    def attempted(
        self, context: AgentContext, projection: Projection, now: float | None, beside: Beside, last: Attempt | None
    ) -> Attempt:
        """The view of a session as it stands; the `last` one, if nothing has changed since."""
        compiled_from = (projection, self.compiler, now, beside)
        if last is not None and last.is_from(*compiled_from):
            return last
        # An override is sent as it is.
        found = [] if beside.override is not None else self.recalled(projection, context.turn)
        view = self.compiler.compile(state_of(context, projection, found, now, beside))
        return Attempt(*compiled_from, found, view)

    def recalled(self, projection: Projection, turn: int) -> list[RecallRecorded | DiagnosticRecorded]:
        """What is to be recalled for the newest input, or what went wrong: a search that fails costs no call."""
        try:
            found = self._recollection.for_input(projection, turn, self._limit(projection))
        except Exception as error:  # noqa: BLE001  whatever it is, the request can do without
            return [DiagnosticRecorded(code="recall_failed", phase="recall", text=f"{error!r}")]
        return [found] if found is not None else []

    def _use(self, framing: FramingSet, compiler: Compiler | None = None) -> None:
        self.framing = framing
        self.originals = originals_of(framing.tools)
        self.compiler = compiler or self._options.compiler_for(self.profile, self.counter, framing.tools)
        policy = getattr(self.compiler, "policy", None)
        self.recipe = _recipe(self.compiler, policy if isinstance(policy, Policy) else None)
        # What it has indexed stays.
        self._recollection.shares = policy.shares if isinstance(policy, Policy) else Shares()

    def _limit(self, projection: Projection) -> int:
        """The tokens that shares are of: of the compiler's budget, else of the last call's, else of the window."""
        budget = getattr(self.compiler, "budget", None)
        if isinstance(budget, TokenBudget):
            return budget.limit
        if projection.sent is not None and projection.sent.limit is not None:
            return projection.sent.limit
        return (self.profile.window if self.profile is not None else None) or _SMALL_WINDOW


def _recipe(compiler: Compiler, policy: Policy | None) -> Recipe:
    origin = policy.origin if policy is not None else None
    return Recipe(
        source=source_of(compiler),
        sha256=fingerprint(compiler),
        policy=policy.name if policy is not None else "",
        template=origin.template if origin is not None else "",
    )
