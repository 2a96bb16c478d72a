"""Recent runs: what a request of a step shows of the earlier runs of that step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from foveate.budget.window import TokenBudget
from foveate.chat.endless import FALLBACK, Terms
from foveate.chat.templates import Template
from foveate.chat.working_view import Keeping
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.policy import CompactWhen, Policy, policy_named
from foveate.log.sections import ContextSection
from foveate.scripts.script import Runs
from foveate.session import Session
from foveate.transforms import Compose, Fold, Forget, Mask, Present, Repair, Transparent, TrimCalls, Truncate, WhenFull
from foveate.transforms.compose import Material, first_kept
from foveate.views.draft import Shares
from foveate.views.timeline import Timeline


def recent_policy(runs: int | None) -> Policy:
    """The policy that shows the last `runs` runs as they were (None: all that fit), and nothing of those before."""
    return Policy(
        name=f"recent:{'all' if runs is None else runs}",
        passes=(
            Repair(),
            Forget(),  # before all that counts tokens
            Compose(runs=runs, least=0.0),
            Present(writer=_Unsaid()),
            # From here on only what does not fit.
            WhenFull(stage=Mask()),
            WhenFull(stage=TrimCalls()),
            WhenFull(stage=Fold()),
            Truncate(),
        ),
        isolation=Transparent(),
        low=0.05,
        patience=None,
        # What was left out does not come back through a search.
        shares=Shares(recall=0.0),
        when=_Older(runs=runs),
    )


class StepSession(Session):
    """The session of a step: all of its requests have the step's inputs right behind the instructions.

    Where endless mode falls back to the plain history, it falls back to the runs that the step asks for.
    """

    inputs: tuple[ContextSection, ...] = ()
    plain: Policy = policy_named(FALLBACK)

    def compile(
        self,
        *,
        now: float | None = None,
        sections: Iterable[ContextSection] = (),
        override: Iterable[object] | None = None,
    ) -> CompiledContext:
        """The request to send now, recorded as a call."""
        return super().compile(now=now, sections=(*self.inputs, *sections), override=override)

    def preview(
        self,
        *,
        now: float | None = None,
        sections: Iterable[ContextSection] = (),
        override: Iterable[object] | None = None,
    ) -> CompiledContext:
        """The request that `compile` would give, with nothing recorded."""
        return super().preview(now=now, sections=(*self.inputs, *sections), override=override)

    def use(self, policy: str | Policy, *, compact_when: CompactWhen | None = None) -> None:
        """Reduce by another policy from the next call on."""
        super().use(self.plain if policy == FALLBACK else policy, compact_when=compact_when)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTerms(Terms):
    """Terms under which `recent_runs` of a step come before what a template says: these, and a summary of the rest."""

    recent_runs: Runs | None = None

    def keeping(self, template: Template) -> Keeping:
        """What stays of earlier runs under a template."""
        kept = Terms.keeping(self, template)
        if self.recent_runs is None:
            return kept
        runs = None if self.recent_runs == "all" else self.recent_runs
        return replace(kept, runs=runs, threshold=None, every_turn=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Older:
    """Whether a run begins, and a request would show an older one than it should."""

    runs: int | None

    def __call__(self, timeline: Timeline, budget: TokenBudget, /) -> str | None:
        newest = timeline.position(timeline.newest_input) if timeline.newest_input is not None else None
        if newest is None or newest < timeline.sent_messages:
            return None
        items = timeline.mender.items
        first = first_kept(items, self.runs)
        older = any(item.order < first and not item.is_digest for item in items)
        return f"the step asks for {self.runs} earlier runs" if older else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unsaid:
    """Says that there were earlier runs, and nothing of them."""

    name: str = "unsaid"

    def write(self, material: Material, /) -> str:
        """One sentence, whatever the runs were about."""
        return "Earlier runs of this step are not shown."
