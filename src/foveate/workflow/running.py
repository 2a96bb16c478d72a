"""Running: a plan is made, its tasks are carried out one after the other, each is reviewed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from foveate.agents import Agent, AgentError, Means, Toolset
from foveate.errors import ConfigError
from foveate.log.events import WorkRecorded, WorkStep
from foveate.log.sections import ContextSection
from foveate.log.state import AgentState
from foveate.session import Session
from foveate.work.models import ReviewResult, Task, combined
from foveate.work.plan import TaskDAG
from foveate.workflow.progress import Attempt, Begun, Progress
from foveate.workflow.roles import Roles

_UNCHANGED: Final = "nothing was changed in the directory, so there is nothing to review"


class Files(Protocol):
    """States of the directory that is worked on."""

    def take(self) -> str:
        """A name for the state of all files now."""
        ...

    def diff(self, before: str, after: str) -> str:
        """What changed between two states."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where and how a run works.

    Args:
        open: opens the session with a name; what an agent does is kept there.
        files: the states of the directory.
        means: the model and its limits.
        writing: the tools of the developer.
        reading: the tools of architect and reviewers.
        rounds: how often a task is tried before it is given up.
        told: hears of every step.
        kept: is given each finished task with the state of the files before it.

    """

    open: Callable[[str], Session]
    files: Files
    means: Means
    writing: Sequence[Toolset] = ()
    reading: Sequence[Toolset] = ()
    roles: Roles = field(default_factory=Roles)
    rounds: int = 3
    told: Callable[[WorkRecorded], None] = lambda _body: None
    kept: Callable[[Task, str], None] = lambda _task, _tree: None


class Workflow:
    """One run: an issue, its plan, and all that came of it; goes on where it was left.

    Every step is an event of the run's session, every agent works in a session of its own, so that whatever is
    killed at any point goes on with the next thing that was not done yet.
    """

    def __init__(self, session: Session, setting: Setting) -> None:
        self._session = session
        self._setting = setting
        self.progress = Progress.of(session.events)

    @property
    def id(self) -> str:
        """The name of the run, and the beginning of the names of all its sessions."""
        return self._session.id

    def begin(self, begun: Begun, plan: TaskDAG | None = None) -> None:
        """Write down what is to be done; with a plan, the architect is not asked."""
        if self.progress.begun is not None:
            raise ConfigError(f"the run {self.id!r} was begun already; resume it, or choose another name")
        self._session.tag(work="run")
        self._record("begun", payload=msgspec.to_builtins(begun))
        if plan is not None:
            self._record("planned", payload=msgspec.to_builtins(plan))

    async def run(self) -> Progress:
        """Do all that is left to do."""
        if self.progress.begun is None:
            raise ConfigError(f"there is no run {self.id!r} to go on with; see `foveate work list`")
        if self.progress.plan is None:
            await self._plan()
        while (task := self.progress.current) is not None:
            await self._carry_out(task)
        plan = self.progress.plan
        done = plan is not None and all(task.status == "completed" for task in plan.tasks)
        if self.progress.status == "running":
            self._record("ended", payload={"status": "completed" if done else "failed"})
        return self.progress

    def state(self, task: Task | None = None, attempt: Attempt | None = None) -> AgentState:
        """The state that views are made from; which parts an agent sees is its strategy's decision."""
        begun = self.progress.begun
        before = [one for one in self.progress.attempts if attempt is not None and one.task_id == attempt.task_id]
        return AgentState(
            issue=begun.issue if begun is not None else None,
            design=begun.design if begun is not None else None,
            plan=self.progress.plan,
            current_task_id=task.id if task is not None else None,
            code_changes=attempt.diff if attempt is not None else None,
            review=next((one.review for one in reversed(before[:-1]) if one.review is not None), None),
            outcomes=self.progress.outcomes,
        )

    async def _plan(self) -> None:
        architect = self._setting.roles.architect(self._setting.means, self._setting.reading)
        plan: TaskDAG = await self._work(architect, self.state(), "architect")
        if not plan.tasks:
            raise AgentError(f"the plan of {self.id!r} has no tasks; say more in the issue, or give a plan")
        # Whatever status the model gave them: nothing has been done yet.
        fresh = tuple(msgspec.structs.replace(task, status="pending") for task in plan.tasks)
        self._record("planned", payload=msgspec.to_builtins(msgspec.structs.replace(plan, tasks=fresh)))

    async def _carry_out(self, task: Task) -> None:
        """One task, round by round, from wherever it was left."""
        while True:
            attempt = self.progress.attempt_at(task.id)
            if attempt is None:
                self._start(task, 1)
            elif attempt.diff is None:
                await self._execute(task, attempt)
            elif attempt.review is None:
                await self._review(task, attempt)
            elif self._settled(task, attempt, attempt.review):
                return
            else:
                self._start(task, attempt.round + 1)

    def _start(self, task: Task, number: int) -> None:
        self._record("started", task, payload={"round": number, "tree": self._setting.files.take()})

    async def _execute(self, task: Task, attempt: Attempt) -> None:
        developer = self._setting.roles.developer(self._setting.means, self._setting.writing)
        try:
            work = await self._work(developer, self.state(task, attempt), f"{task.id}/developer/{attempt.round}")
            summary = "\n\n".join(part for part in (work.summary, work.notes) if part.strip())
        except AgentError as error:
            summary = f"The developer came to no end: {error}"
        before = self.progress.first_tree(task.id) or attempt.tree
        diff = self._setting.files.diff(before, self._setting.files.take())
        self._record("executed", task, texts=_texts(task, Summary=summary, Diff=diff))

    async def _review(self, task: Task, attempt: Attempt) -> None:
        if not (attempt.diff or "").strip():
            verdict = ReviewResult(persona="Foveate", approved=False, comments=(_UNCHANGED,), severity="high")
        else:
            begun = self.progress.begun
            assert begun is not None, "a run is begun before it is reviewed"  # noqa: S101
            reviews = [self._judged(task, attempt, persona) for persona in begun.personas]
            verdict = combined(await asyncio.gather(*reviews))
        self._record("reviewed", task, payload=msgspec.to_builtins(verdict))

    async def _judged(self, task: Task, attempt: Attempt, persona: str) -> ReviewResult:
        make: Any = self._setting.roles.reviewer
        reviewer: Agent[Any] = make(self._setting.means, self._setting.reading, persona=persona)
        try:
            where = f"{task.id}/reviewer-{persona}/{attempt.round}"
            verdict = await self._work(reviewer, self.state(task, attempt), where)
        except AgentError as error:
            return ReviewResult(persona=persona, approved=False, comments=(str(error),), severity="medium")
        return ReviewResult(
            persona=persona, approved=verdict.approved, comments=verdict.comments, severity=verdict.severity
        )

    def _settled(self, task: Task, attempt: Attempt, review: ReviewResult) -> bool:
        """Whether a reviewed task is over, one way or the other."""
        comments = "\n".join(f"- {one}" for one in review.comments) or "- none"
        if review.approved:
            said = f"approved by {review.persona}\n{comments}"
            texts = _texts(task, Summary=attempt.summary or "", Diff=attempt.diff or "", Review=said)
            self._setting.kept(task, self.progress.first_tree(task.id) or attempt.tree)
            self._record("finished", task, texts=texts)
            return True
        if attempt.round >= self._setting.rounds:
            reason = f"not approved in {attempt.round} rounds; the last review ({review.severity}):\n{comments}"
            self._record("failed", task, payload={"reason": reason})
            return True
        return False

    async def _work(self, agent: Agent[Any], state: AgentState, name: str) -> Any:
        with closing(self._setting.open(f"{self.id}/{name}")) as session:
            if not session.context.message_count:
                session.tag(agent=agent.name, run=self.id, task=state.current_task_id or "-")
            return await agent.run(state, session)

    def _record(
        self,
        step: WorkStep,
        task: Task | None = None,
        *,
        payload: dict[str, Any] | None = None,
        texts: tuple[ContextSection, ...] = (),
    ) -> None:
        about = task.id if task is not None else None
        body = WorkRecorded(step=step, task_id=about, payload=payload or {}, texts=texts)
        self._session.record(body, time=self._setting.means.clock())
        self.progress = self.progress.after(body)
        self._setting.told(body)


def _texts(task: Task, **texts: str) -> tuple[ContextSection, ...]:
    return tuple(ContextSection(name=name, content=text, source=f"task:{task.id}") for name, text in texts.items())
