"""Means: what a session compiles with, from its options and its framing."""

from __future__ import annotations

from dataclasses import replace

from foveate.budget.profiles import ModelProfile
from foveate.budget.window import TokenBudget
from foveate.compiler.compilers import Compiler, PipelineCompiler
from foveate.compiler.policy import CompactWhen, Policy
from foveate.compiler.recipe import fingerprint, source_of
from foveate.errors import UnknownModelError
from foveate.log.context import AgentContext
from foveate.log.events import DiagnosticRecorded, FramingSet, RecallRecorded
from foveate.log.messages import Message
from foveate.recall import PassageIndex
from foveate.session.options import Options
from foveate.session.recollection import Recollection
from foveate.session.records import Recipe
from foveate.views.timeline import timeline_of
from foveate.wire.names import originals_of


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
        self._index: PassageIndex | None = None
        self._recollection: Recollection | None = None

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
        """Reduce by another policy, whatever passes and isolation were given for the one so far."""
        chosen = replace(self._options, policy=policy, passes=None, isolation=None, compact_when=compact_when)
        # First, as it may be refused.
        chosen.compiler_for(self.profile, self.counter, self.framing.tools)
        self._options = chosen
        self._use(self.framing)

    def narrow(self, most: int | None) -> None:
        """Send at most so many tokens, if the budget is more; None takes it back."""
        self._options = replace(self._options, most=most)
        self._use(self.framing)

    def search_in(self, index: PassageIndex) -> None:
        """Recall from an index that somebody else fills."""
        self._index, self._recollection = index, None
        self._use(self.framing)

    def recalled(
        self, context: AgentContext, override: tuple[Message, ...] | None = None
    ) -> list[RecallRecorded | DiagnosticRecorded]:
        """What is to be recalled for the newest input, or what went wrong: a search that fails costs no call."""
        if override is not None or self._recollection is None or not isinstance(self.compiler, PipelineCompiler):
            return []
        try:
            timeline = timeline_of(context, self.counter)
            found = self._recollection.for_input(timeline, context, self.compiler.budget)
        except Exception as error:  # noqa: BLE001  whatever it is, the request can do without
            return [DiagnosticRecorded(code="recall_failed", phase="recall", text=f"{error!r}")]
        return [found] if found is not None else []

    def _use(self, framing: FramingSet) -> None:
        self.framing = framing
        self.originals = originals_of(framing.tools)
        self.compiler = self._options.compiler_for(self.profile, self.counter, framing.tools)
        self.recipe = Recipe(source_of(self.compiler), fingerprint(self.compiler))
        policy = getattr(self.compiler, "policy", None)
        budgeted = isinstance(getattr(self.compiler, "budget", None), TokenBudget)
        shares = policy.shares if budgeted and isinstance(policy, Policy) else None
        if shares is None:
            self._recollection = None
        elif self._recollection is None:
            self._recollection = Recollection(shares, self._index)
        else:
            # What it has indexed stays.
            self._recollection.shares = shares
