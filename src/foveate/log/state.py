"""What an agent is doing right now, with the context it does it in."""

from __future__ import annotations

from dataclasses import dataclass, field

from foveate.log.context import AgentContext
from foveate.log.events import RecallRecorded
from foveate.log.messages import Message
from foveate.log.sections import ContextSection
from foveate.work.models import Design, Issue, ReviewResult, TaskOutcome
from foveate.work.plan import TaskDAG


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentState:
    """The context plus the work at hand; the one argument of every compiler.

    `now` is the caller's clock: a compiler has none of its own. `recalled` are passages looked up for this call that
    the log does not have yet. `override` is sent as it is, even if it is empty, instead of all else. `projection` is
    what the events of the context come to, where somebody keeps it up with them (a session does); without it, or with
    one of another snapshot, a compiler folds the events itself, which gives the same and takes longer. `plain` is the
    view of the same state without what was looked up: it, too, saves work and decides nothing.
    """

    context: AgentContext = field(default_factory=AgentContext)
    sections: tuple[ContextSection, ...] = ()
    now: float | None = None
    recalled: tuple[RecallRecorded, ...] = ()
    override: tuple[Message, ...] | None = None
    issue: Issue | None = None
    design: Design | None = None
    plan: TaskDAG | None = None
    current_task_id: str | None = None
    code_changes: str | None = None
    review: ReviewResult | None = None
    outcomes: tuple[TaskOutcome, ...] = ()
    # Commands of the change under review that the user did not let the developer run.
    denied_commands: tuple[str, ...] = ()
    projection: object = field(default=None, repr=False, compare=False)
    plain: object = field(default=None, repr=False, compare=False)
