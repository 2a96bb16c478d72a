"""Progress: how far a run has come, folded from the events it recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from foveate.log.events import Event, WorkRecorded
from foveate.work.models import Design, Issue, ReviewResult, Task, TaskOutcome, TaskStatus
from foveate.work.plan import TaskDAG

BUDGET: Final = 32_000
RunStatus = Literal["running", "completed", "failed"]


class Begun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run was begun with, or last gone on with; `hidden` are files that its agents do not see."""

    issue: Issue
    design: Design | None = None
    repo: str
    personas: tuple[str, ...]
    model: str = ""
    budget: int = BUDGET
    rounds: int = 3
    steps: int = 40
    commit: bool = False
    architect: str = "architect"
    developer: str = "developer"
    reviewer: str = "reviewer"
    hidden: tuple[str, ...] = ()
    # The project whose knowledge is used; by default the name of the git repository, else of the directory.
    project: str = ""
    # What the user called the model, if that is an alias of foveate.toml.
    model_alias: str = ""
    # Whether commands run without asking; None in runs of version 0.1, which did not record it.
    yes: bool | None = None
    # The most that all calls of the run may cost together, in dollars.
    max_cost: float | None = None
    # Whether to stop once the architect has made the plan, so that it can be looked at and changed.
    plan_only: bool = False
    # Variables that commands may see, beside those that every program needs.
    environment: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One round of a task: the state of the files it began with, and what has come of it so far."""

    task_id: str
    round: int
    tree: str
    summary: str | None = None
    diff: str | None = None
    review: ReviewResult | None = None
    # Commands that the user did not let the developer run in this round or an earlier one, and that never ran since.
    denied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A run as its events tell it; immutable."""

    begun: Begun | None = None
    plan: TaskDAG | None = None
    attempts: tuple[Attempt, ...] = ()
    outcomes: tuple[TaskOutcome, ...] = ()
    status: RunStatus = "running"
    reasons: tuple[tuple[str, str], ...] = ()
    # For each task that was given another chance, the round after which it was.
    retried: tuple[tuple[str, int], ...] = ()
    # What the calls cost so far in dollars, as far as their price is known.
    spent: float = 0.0

    @classmethod
    def of(cls, events: Iterable[Event]) -> Progress:
        """The progress that events lead to."""
        progress = cls()
        for event in events:
            if isinstance(event.body, WorkRecorded):
                progress = progress.after(event.body)
        return progress

    @property
    def current(self) -> Task | None:
        """The task at hand: the one begun, else the first that is ready."""
        if self.plan is None:
            return None
        begun = [task for task in self.plan.tasks if task.status == "in_progress"]
        return next(iter((*begun, *self.plan.ready_tasks())), None)

    def attempt_at(self, task_id: str) -> Attempt | None:
        """The newest round of a task."""
        return next((one for one in reversed(self.attempts) if one.task_id == task_id), None)

    def first_tree(self, task_id: str) -> str | None:
        """The state of the files before the first round of a task."""
        return next((one.tree for one in self.attempts if one.task_id == task_id), None)

    def reason(self, task_id: str) -> str:
        """Why a task failed the last time."""
        return dict(self.reasons).get(task_id, "")

    def denied(self, task_id: str) -> tuple[str, ...]:
        """The commands that were denied since a task was last given a chance, and that never ran since."""
        attempt = self.attempt_at(task_id)
        return attempt.denied if attempt is not None else ()

    @property
    def is_planned_only(self) -> bool:
        """Whether the run stopped, as it was asked to, between plan and work."""
        asked = self.begun is not None and self.begun.plan_only
        return asked and self.plan is not None and not self.attempts and self.status == "running"

    def rounds_of(self, task_id: str) -> int:
        """How often a task was tried since it was last given a chance."""
        attempt = self.attempt_at(task_id)
        return attempt.round - dict(self.retried).get(task_id, 0) if attempt is not None else 0

    def after(self, body: WorkRecorded) -> Progress:
        """The progress after one more step."""
        match body.step:
            case "begun":
                return replace(self, begun=msgspec.convert(body.payload, Begun))
            case "planned":
                return self._planned(msgspec.convert(body.payload, TaskDAG))
            case "charged":
                return replace(self, spent=self.spent + body.payload["usd"])
            case "ended":
                return replace(self, status=body.payload["status"])
            case _:
                return self._after_task(body, body.task_id or "")

    def _planned(self, plan: TaskDAG) -> Progress:
        # A run that had ended is not over if its plan gets something to do.
        is_done = all(task.status == "completed" for task in plan.tasks)
        return replace(self, plan=plan, status=self.status if is_done else "running")

    def _after_task(self, body: WorkRecorded, task_id: str) -> Progress:
        texts = {section.name: section.content for section in body.texts}
        match body.step:
            case "started":
                # Of the rounds before another chance nothing is owed: that one begins anew.
                denied = self.denied(task_id) if self.rounds_of(task_id) > 0 else ()
                new = Attempt(task_id=task_id, round=body.payload["round"], tree=body.payload["tree"], denied=denied)
                return self.moved(task_id, "in_progress", attempts=(*self.attempts, new))
            case "executed":
                denied = tuple(body.payload.get("denied", ()))
                return self._attempted(summary=texts.get("Summary", ""), diff=texts.get("Diff", ""), denied=denied)
            case "reviewed":
                return self._attempted(review=msgspec.convert(body.payload, ReviewResult))
            case "finished":
                outcome = TaskOutcome(
                    task_id=task_id, summary=texts.get("Summary", ""), parts={k.lower(): v for k, v in texts.items()}
                )
                return self.moved(task_id, "completed", outcomes=(*self.outcomes, outcome))
            case "retried":
                attempt = self.attempt_at(task_id)
                retried = (*self.retried, (task_id, attempt.round if attempt is not None else 0))
                return replace(self, status="running", retried=retried).moved(task_id, "in_progress")
            case _:
                reasons = (*self.reasons, (task_id, str(body.payload.get("reason", ""))))
                return self.moved(task_id, "failed", reasons=reasons)

    def moved(self, task_id: str, status: TaskStatus, **changes: Any) -> Progress:
        """The progress with one task moved on, and what else comes with it."""
        return replace(self, plan=self.plan.with_status(task_id, status) if self.plan is not None else None, **changes)

    def _attempted(self, **changes: Any) -> Progress:
        return replace(self, attempts=(*self.attempts[:-1], replace(self.attempts[-1], **changes)))
