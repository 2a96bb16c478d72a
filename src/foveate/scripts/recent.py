"""Recent runs: what a request of a step shows of the earlier runs of that step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from foveate.budget.window import TokenBudget
from foveate.chat.endless import Terms
from foveate.chat.templates import Template
from foveate.chat.working_view import Keeping
from foveate.compile.draft import Shares
from foveate.compile.passes import (
    Compose,
    Fold,
    Forget,
    Mask,
    Present,
    Repair,
    RestorePins,
    ShowErrors,
    TrimCalls,
    Truncate,
    WhenFull,
)
from foveate.compile.passes.compose import Material, first_kept
from foveate.compile.policy import Policy
from foveate.compile.projection import Projection
from foveate.scripts.script import Runs


def recent_policy(runs: int | None) -> Policy:
    """The policy that shows the last `runs` runs as they were (None: all that fit), and nothing of those before."""
    return Policy(
        name=f"recent:{'all' if runs is None else runs}",
        passes=(
            RestorePins(),
            Repair(),
            Forget(),  # before all that counts tokens
            Compose(runs=runs, least=0.0),
            Present(writer=_Unsaid()),
            # From here on only what does not fit.
            WhenFull(stage=Mask()),
            WhenFull(stage=TrimCalls()),
            WhenFull(stage=Fold()),
            Truncate(),
            ShowErrors(),
        ),
        low=0.05,
        patience=None,
        # What was left out does not come back through a search.
        shares=Shares(recall=0.0),
        when=_Older(runs=runs),
    )


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
        return replace(kept, runs=runs, fill=None, threshold=None, every_turn=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Older:
    """Whether a run begins, and a request would show an older one than it should."""

    runs: int | None
    recipe_name: ClassVar[str] = "due.recent@1"

    def __call__(self, timeline: Projection, budget: TokenBudget, /) -> str | None:
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
    recipe_name: ClassVar[str] = "writer.unsaid@1"

    def write(self, material: Material, /) -> str:
        """One sentence, whatever the runs were about."""
        return "Earlier runs of this step are not shown."
