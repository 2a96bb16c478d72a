"""The developer: one task, carried out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from foveate.agents.agent import Agent
from foveate.agents.strategy import ContextStrategy, below_headings, fenced, listed
from foveate.errors import ConfigError
from foveate.knowledge.handoff_text import written
from foveate.knowledge.models import Blocker, FileForNext, Gotcha, Handoff, NextStep, Pattern, Priority, Question
from foveate.knowledge.paths import paths_in
from foveate.log.quoting import flatten_text, label_text
from foveate.log.sections import ContextSection
from foveate.log.state import AgentState
from foveate.work.models import FileOperation, Task, TaskStep


class DeveloperContextStrategy(ContextStrategy):
    """The current task, its files and steps, and what a reviewer said of the last attempt; nothing else.

    The issue, other tasks and what other agents did or said stay out: a developer who needs them asks.
    """

    SYSTEM_PROMPT = (
        "You are a senior developer. You carry out one task: read what you need, write a test that fails, make it "
        "pass, run the tests, and stop when the acceptance criteria are met. Change nothing that the task does not "
        "ask for. Your work is reviewed by its diff. When you are done, say in a few sentences what you did, and hand "
        "over what you learned that developers of later tasks should know, what is not settled and what stood in your "
        "way; nothing if it is nothing."
    )
    ALLOWED_SECTIONS = frozenset({"Task", "Files", "Steps", "Review", "Computed Context"})

    def sections(self, state: AgentState) -> Iterator[ContextSection]:
        """The task is required."""
        task = self.get_current_task(state)
        if task is None:
            raise ConfigError(
                f"a developer needs a task; `current_task_id` is {state.current_task_id!r}, "
                "which is no task of the state's `plan`"
            )
        source = f"task:{task.id}"
        yield ContextSection(name="Task", content=_task(task), source=source, tier="stable")
        if task.files:
            files = "\n".join(_file(one) for one in task.files)
            yield ContextSection(name="Files", content=files, source=f"{source}:files", tier="stable")
        if task.steps:
            steps = "\n\n".join(_step(number, step) for number, step in enumerate(task.steps, 1))
            yield ContextSection(name="Steps", content=steps, source=f"{source}:steps", tier="stable")
        if state.review is not None and not state.review.approved:
            comments = listed(state.review.comments) or "- no reason given"
            said = f"Your last attempt is in the files; it was not approved ({state.review.severity}):\n{comments}"
            yield ContextSection(name="Review", content=said, source=f"{source}:review", tier="stable")


class Trap(msgspec.Struct, frozen=True, kw_only=True):
    """What goes wrong, and how to avoid it."""

    issue: str
    mitigation: str = ""
    severity: Priority = "medium"


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """What is not settled, and what you would do; `blocking` if others cannot go on without an answer."""

    question: str
    recommendation: str = ""
    blocking: bool = False


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """What stood in the way, and what would clear it away."""

    blocker: str
    suggested_resolution: str = ""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a developer did, and what others should know of it."""

    summary: str
    patterns: Annotated[tuple[str, ...], Meta(description="Ways to follow, each with the path where it shows.")] = ()
    gotchas: tuple[Trap, ...] = ()
    files_to_read: Annotated[tuple[str, ...], Meta(description="Paths.")] = ()
    open_questions: tuple[Doubt, ...] = ()
    blockers: tuple[Obstacle, ...] = ()
    next_steps: tuple[str, ...] = ()
    words: str = msgspec.field(default="", name="notes")

    @property
    def notes(self) -> str:
        """All that is handed over, as a text that has a handoff in it if there is something to hand over."""
        handoff = Handoff(
            outcome="completed",
            patterns_discovered=tuple(
                Pattern(pattern=one, location=next(iter(paths_in(one)), "")) for one in self.patterns if one.strip()
            ),
            gotchas=tuple(
                Gotcha(issue=one.issue, mitigation=one.mitigation, severity=one.severity)
                for one in self.gotchas
                if one.issue.strip()
            ),
            dependencies_for_next=tuple(FileForNext(file=one) for one in self.files_to_read if one.strip()),
            open_questions=tuple(
                Question(question=one.question, recommendation=one.recommendation, blocking=one.blocking)
                for one in self.open_questions
                if one.question.strip()
            ),
            suggested_next_steps=tuple(NextStep(step=one) for one in self.next_steps if one.strip()),
            blockers=tuple(
                Blocker(blocker=one.blocker, suggested_resolution=one.suggested_resolution)
                for one in self.blockers
                if one.blocker.strip()
            ),
        )
        said = [self.words, written(handoff) if handoff != Handoff(outcome="completed") else ""]
        return "\n\n".join(part for part in said if part.strip())


class Developer(Agent[Work]):
    """Carries out a task."""

    context_strategy = DeveloperContextStrategy
    name = "developer"
    result = Work


def _task(task: Task) -> str:
    criteria, asked = listed(task.acceptance_criteria), below_headings(task.description)
    return f"{asked}\n\nDone when:\n{criteria}" if criteria else asked


def _file(file: FileOperation) -> str:
    lines = f", lines {file.line_range[0]}–{file.line_range[1]}" if file.line_range is not None else ""
    return f"- {file.operation}: `{flatten_text(file.path)}`{lines}"


def _step(number: int, step: TaskStep) -> str:
    parts = [f"### Step {number}: {below_headings(step.description)}"]
    if step.code:
        parts.append(fenced(step.code))
    if step.command:
        parts.append(f"Run: `{step.command}`" if _is_plain(step.command) else f"Run:\n{fenced(step.command)}")
    if step.expected_output:
        parts.append(label_text("Expected", step.expected_output))
    return "\n".join(parts)


def _is_plain(command: str) -> bool:
    """Whether a command can stand within a line, between backticks."""
    return "`" not in command and command == flatten_text(command)
