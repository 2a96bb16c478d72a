"""Running: a plan is made, its tasks are carried out one after the other, each is reviewed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import msgspec

from foveate.agents import Agent, AgentError, Means, Reply, Toolset
from foveate.compile.compiled import CompiledContext
from foveate.errors import BudgetError, ConfigError, FoveateError
from foveate.knowledge.models import ChangeType
from foveate.log.events import DiagnosticRecorded, HandoffIngested, Tagged, WorkRecorded, WorkStep
from foveate.log.messages import Message
from foveate.log.sections import ContextSection
from foveate.log.state import AgentState
from foveate.session import Session
from foveate.session.beside import run_beside
from foveate.work.models import ReviewResult, Task, TaskOutcome, combined
from foveate.work.plan import TaskDAG
from foveate.workflow.activity import denied_commands
from foveate.workflow.learning import Learning
from foveate.workflow.progress import Attempt, Begun, Progress
from foveate.workflow.roles import Roles

_UNCHANGED: Final = "(nothing was changed in the directory)"
# How often an agent that came to no result is asked from the beginning.
_TRIES: Final = 2
_MOST_SESSIONS: Final = 100
_GAVE_UP: Final = "gave_up"


class CostLimitError(FoveateError):
    """A run has cost as much as it may; nothing is lost, and it can go on with a higher limit."""


class States(Protocol):
    """States of the directory that is worked on."""

    def take(self) -> str:
        """A name for the state of all files now."""
        ...

    def diff(self, before: str, after: str, *, most: int | None = None) -> str:
        """What changed between two states, in so many characters."""
        ...

    def changes(self, before: str, after: str) -> Mapping[str, ChangeType]:
        """The files that are not the same in two states, each with what was done to it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where and how a run works.

    Args:
        open: opens the session with a name; what an agent does is kept there.
        states: of the directory.
        means: the model and its limits.
        writing: the tools of the developer.
        reading: the tools of architect and reviewers.
        rounds: how often a task is tried before it is given up.
        most_diff: the characters of a diff that reviewers are shown.
        told: hears of every step.
        kept: is given each finished task with the state of the files before it.
        learning: what the project knows, for those who plan and carry out; None for nothing.
        cost: what a request and its answer cost in dollars; None where no price is known.
        max_cost: the most that the run may cost in dollars; once it is reached, no further request is made.

    """

    open: Callable[[str], Session]
    states: States
    means: Means
    writing: Sequence[Toolset] = ()
    reading: Sequence[Toolset] = ()
    roles: Roles = field(default_factory=Roles)
    rounds: int = 3
    most_diff: int = 60_000
    told: Callable[[WorkRecorded], None] = lambda _body: None
    kept: Callable[[Task, str], None] = lambda _task, _tree: None
    learning: Learning | None = None
    cost: Callable[[CompiledContext, Reply], float | None] = lambda _view, _reply: None
    max_cost: float | None = None


class Workflow:
    """One run: an issue, its plan, and all that came of it; goes on where it was left.

    Every step is an event of the run's session, every agent works in a session of its own, so that whatever is
    killed at any point goes on with the next thing that was not done yet.
    """

    def __init__(self, session: Session, setting: Setting) -> None:
        self._session = session
        means = replace(setting.means, before_call=self._check_cost, on_reply=self._charge)
        self._setting = replace(setting, means=means)
        self.progress = Progress.of(session.events)

    @property
    def id(self) -> str:
        """The name of the run, and the beginning of the names of all its sessions."""
        return self._session.id

    def begin(self, begun: Begun, plan: TaskDAG | None = None) -> None:
        """Write down what is to be done, all at once; with a plan, the architect is not asked."""
        if self.progress.begun is not None:
            raise ConfigError(f"the run {self.id!r} was begun already; resume it, or choose another name")
        first: list[WorkRecorded] = [WorkRecorded(step="begun", payload=msgspec.to_builtins(begun))]
        if plan is not None:
            first.append(WorkRecorded(step="planned", payload=msgspec.to_builtins(plan)))
        self._session.record(Tagged(tags={"work": "run"}), *first, time=self._setting.means.clock())
        self._tell(*first)

    def go_on(self, begun: Begun) -> None:
        """Go on, perhaps with another model or other limits; tasks that failed get another chance."""
        if begun != self.progress.begun:
            self._tell(self._written("begun", payload=msgspec.to_builtins(begun)))
        for task in self.progress.plan.tasks if self.progress.plan is not None else ():
            if task.status == "failed":
                self._tell(self._written("retried", task))

    async def run(self) -> Progress:
        """Do all that is left to do; of a run that is only to be planned, no more than the plan."""
        if self.progress.begun is None:
            raise ConfigError(f"there is no run {self.id!r} to go on with; see `foveate work list`")
        if self.progress.plan is None:
            await self._plan()
            if self.progress.is_planned_only:
                return self.progress
        while (task := self.progress.current) is not None:
            await self._carry_out(task)
        plan = self.progress.plan
        done = plan is not None and all(task.status == "completed" for task in plan.tasks)
        if self.progress.status == "running":
            await self._record("ended", payload={"status": "completed" if done else "failed"})
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
            denied_commands=attempt.denied if attempt is not None else (),
        )

    async def _plan(self) -> None:
        architect = self._setting.roles.architect(self._setting.means, self._setting.reading)
        state = await run_beside(self._taught, self.state())
        plan: TaskDAG = await self._work(architect, state, "architect", tries=_TRIES)
        # Whatever status the model gave them: nothing has been done yet.
        fresh = tuple(msgspec.structs.replace(task, status="pending") for task in plan.tasks)
        await self._record("planned", payload=msgspec.to_builtins(msgspec.structs.replace(plan, tasks=fresh)))

    async def _carry_out(self, task: Task) -> None:
        """One task, round by round, from wherever it was left."""
        while True:
            attempt = self.progress.attempt_at(task.id)
            if attempt is None:
                await self._start(task, 1)
            elif attempt.diff is None:
                await self._execute(task, attempt)
            elif attempt.review is None:
                await self._review(task, attempt)
            elif await self._settled(task, attempt, attempt.review):
                return
            else:
                await self._start(task, attempt.round + 1)

    async def _start(self, task: Task, number: int) -> None:
        tree = await run_beside(self._setting.states.take)
        await self._record("started", task, payload={"round": number, "tree": tree})

    async def _execute(self, task: Task, attempt: Attempt) -> None:
        developer = self._setting.roles.developer(self._setting.means, self._setting.writing)
        denied = attempt.denied

        def note_denied(messages: Sequence[Message]) -> None:
            nonlocal denied
            denied = denied_commands(messages, before=denied)

        try:
            state = await run_beside(self._taught, self.state(task, attempt), task)
            name = f"{task.id}/developer/{attempt.round}"
            work = await self._work(developer, state, name, on_end=note_denied)
            summary = "\n\n".join(part for part in (work.summary, getattr(work, "notes", "")) if part.strip())
        except AgentError as error:
            summary = str(error)
        diff = await run_beside(self._changed, task, attempt)
        texts = _texts(task, Summary=summary, Diff=(diff.strip() and diff) or _UNCHANGED)
        await self._record("executed", task, payload=_denied(denied), texts=texts)

    def _changed(self, task: Task, attempt: Attempt) -> str:
        """What a task changed in the files so far."""
        before, states = self.progress.first_tree(task.id) or attempt.tree, self._setting.states
        return states.diff(before, states.take(), most=self._setting.most_diff)

    async def _review(self, task: Task, attempt: Attempt) -> None:
        begun = self.progress.begun
        assert begun is not None, "a run is begun before it is reviewed"  # noqa: S101
        means = self._setting.means
        if len(begun.personas) > 1:
            # Several at once would write into each other's words.
            means = replace(means, on_text=None)
        reviews = [self._judged(task, attempt, persona, means) for persona in begun.personas]
        # All come to an end: a request on its way when another one fails is paid for, and its answer is worth keeping.
        ended = await asyncio.gather(*reviews, return_exceptions=True)
        for error in ended:
            if isinstance(error, BaseException):
                raise error
        verdict = combined([one for one in ended if isinstance(one, ReviewResult)])
        if verdict.approved and attempt.denied:
            verdict = msgspec.structs.replace(verdict, comments=(*verdict.comments, _unverified(attempt.denied)))
        await self._record("reviewed", task, payload=msgspec.to_builtins(verdict))

    async def _judged(self, task: Task, attempt: Attempt, persona: str, means: Means) -> ReviewResult:
        reviewer = self._setting.roles.reviewer(means, self._setting.reading, persona=persona)
        state = self.state(task, attempt)
        # What developers said of their work is for developers: a reviewer judges what was done.
        state = replace(state, outcomes=tuple(_without_words(outcome) for outcome in state.outcomes))
        verdict = await self._work(reviewer, state, f"{task.id}/reviewer-{persona}/{attempt.round}", tries=_TRIES)
        return ReviewResult(
            persona=persona, approved=verdict.approved, comments=verdict.comments, severity=verdict.severity
        )

    async def _settled(self, task: Task, attempt: Attempt, review: ReviewResult) -> bool:
        """Whether a reviewed task is over, one way or the other."""
        comments = "\n".join(f"- {one}" for one in review.comments) or "- none"
        if review.approved:
            said = f"approved by {review.persona}\n{comments}"
            parts = {"Summary": attempt.summary or "", "Diff": attempt.diff or "", "Review": said}
            if attempt.denied:
                parts["Denied"] = "\n".join(attempt.denied)
            before = self.progress.first_tree(task.id) or attempt.tree
            await run_beside(self._setting.kept, task, before)
            await run_beside(self._hand_over, task, attempt, before)
            await self._record("finished", task, payload=_denied(attempt.denied), texts=_texts(task, **parts))
            return True
        rounds = self.progress.rounds_of(task.id)
        if rounds >= self._setting.rounds:
            reason = f"not approved in {rounds} rounds; the last review ({review.severity}):\n{comments}"
            # What went wrong is worth as much to the next one as what went well.
            before = self.progress.first_tree(task.id) or attempt.tree
            await run_beside(self._hand_over, task, attempt, before, failed=review)
            await self._record("failed", task, payload={"reason": reason})
            return True
        return False

    def _taught(self, state: AgentState, task: Task | None = None) -> AgentState:
        """The state with what the project knows about the work; without, if it cannot be found out."""
        learning, issue = self._setting.learning, state.issue
        if learning is None:
            return state
        try:
            section = learning.for_task(task) if task is not None else learning.for_issue(issue) if issue else None
        except FoveateError as error:
            self._session.note(DiagnosticRecorded(code="knowledge_failed", phase="compute", text=str(error)))
            return state
        return replace(state, sections=(section,)) if section is not None else state

    def _hand_over(self, task: Task, attempt: Attempt, before: str, *, failed: ReviewResult | None = None) -> None:
        """Leave what was learned to the project; a second time, after a kill, changes nothing."""
        if self._setting.learning is None:
            return
        changes = self._setting.states.changes(before, self._setting.states.take())
        try:
            done = self._setting.learning.hand_over(
                task, attempt.summary or "", changes, failed=failed, denied=attempt.denied
            )
        except FoveateError as error:
            self._session.note(DiagnosticRecorded(code="knowledge_failed", phase="ingest", text=str(error)))
            return
        if not done.repeated:
            taken = {"task": done.task_id, "added": list(done.added), "merged": list(done.merged)}
            self._session.note(HandoffIngested(payload=taken), time=self._setting.means.clock())

    async def _work(
        self,
        agent: Agent[Any],
        state: AgentState,
        name: str,
        *,
        tries: int = 1,
        on_end: Callable[[Sequence[Message]], None] = lambda _messages: None,
    ) -> Any:
        """Have an agent work in a session of its own; one that comes to no result is asked anew in another."""
        for number in range(1, _MOST_SESSIONS):
            own_name = f"{self.id}/{name}" if number == 1 else f"{self.id}/{name}+{number}"
            session = await run_beside(self._setting.open, own_name)
            try:
                if await run_beside(_gave_up, session):
                    continue
                if not session.context.message_count:
                    # Who works there and with which model, the agent says itself.
                    await run_beside(session.note, Tagged(tags={"run": self.id, "task": state.current_task_id or "-"}))
                return await agent.run(state, session)
            except (AgentError, BudgetError) as error:
                given_up = DiagnosticRecorded(code=_GAVE_UP, phase="agent", text=str(error))
                await run_beside(session.note, given_up)
                tries -= 1
                if not tries:
                    raise AgentError(f"{agent.label} came to no result: {error}") from error
            finally:
                await run_beside(on_end, session.messages)
                await run_beside(session.close)
        raise AgentError(f"{agent.label} was asked {_MOST_SESSIONS} times and came to no result; change the plan")

    def _check_cost(self) -> None:
        """Raised between two requests, so that none is paid for whose answer is lost."""
        most, spent = self._setting.max_cost, self.progress.spent
        if most is not None and spent >= most:
            raise CostLimitError(f"the run has cost ${spent:.4f}, and `--max-cost` is ${most:g}")

    async def _charge(self, view: CompiledContext, reply: Reply) -> None:
        cost = self._setting.cost(view, reply)
        if cost is not None:
            # Before the answer is kept: killed in between, the run asks again, and pays again.
            made = {"session": view.state.context.session, "call": view.number, "usd": cost}
            await self._record("charged", payload=made)

    async def _record(
        self,
        step: WorkStep,
        task: Task | None = None,
        *,
        payload: dict[str, Any] | None = None,
        texts: tuple[ContextSection, ...] = (),
    ) -> None:
        self._tell(await run_beside(self._written, step, task, payload=payload, texts=texts))

    def _written(
        self,
        step: WorkStep,
        task: Task | None = None,
        *,
        payload: dict[str, Any] | None = None,
        texts: tuple[ContextSection, ...] = (),
    ) -> WorkRecorded:
        about = task.id if task is not None else None
        body = WorkRecorded(step=step, task_id=about, payload=payload or {}, texts=texts)
        self._session.note(body, time=self._setting.means.clock())
        return body

    def _tell(self, *bodies: WorkRecorded) -> None:
        for body in bodies:
            self.progress = self.progress.after(body)
            self._setting.told(body)


def record_plan(session: Session, plan: TaskDAG) -> None:
    """Have a run go on with another plan, which has the state of what was begun."""
    session.record(WorkRecorded(step="planned", payload=msgspec.to_builtins(plan)), time=time.time())


def _denied(commands: Iterable[str]) -> dict[str, Any]:
    listed = list(commands)
    return {"denied": listed} if listed else {}


def _unverified(commands: Sequence[str]) -> str:
    listed = ", ".join(f"`{' '.join(one.split())}`" for one in commands)
    return f"Unverified: the user denied {listed}, so what it would have shown is not known."


def _gave_up(session: Session) -> bool:
    return any(isinstance(one.body, DiagnosticRecorded) and one.body.code == _GAVE_UP for one in session.events)


def _without_words(outcome: TaskOutcome) -> TaskOutcome:
    parts = {name: text for name, text in outcome.parts.items() if name != "summary"}
    return TaskOutcome(task_id=outcome.task_id, parts=parts)


def _texts(task: Task, **texts: str) -> tuple[ContextSection, ...]:
    return tuple(ContextSection(name=name, content=text, source=f"task:{task.id}") for name, text in texts.items())
