"""Learning: what a run takes from the project's knowledge, and what it leaves there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from foveate.knowledge.base import Knowledge
from foveate.knowledge.handoff import read_handoff
from foveate.knowledge.handoff_text import told_in
from foveate.knowledge.models import ContextTask, FileModified, JournalTask
from foveate.knowledge.render import context_section
from foveate.knowledge.signals import extract_signals
from foveate.knowledge.sources import context_of
from foveate.log.sections import ContextSection
from foveate.work.models import Issue, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """Knowledge of a project, for the tasks of a run; ids of tasks are those of the run, domains of the project."""

    knowledge: Knowledge
    run: str
    domains: Mapping[str, Sequence[str]] | None = None

    def for_issue(self, issue: Issue) -> ContextSection:
        """What whoever plans should know."""
        said = "\n".join(part for part in (issue.title, issue.description) if part.strip())
        return self._section(ContextTask(id=self.run, name=issue.title, objective=said, type="design"))

    def for_task(self, task: Task) -> ContextSection:
        """What whoever carries out a task should know."""
        return self._section(self._asked(task))

    def hand_over(self, task: Task, said: str, changed: Sequence[str]) -> None:
        """Take in what a finished task hands over: its words, and the files that it changed."""
        handoff = read_handoff(said).handoff
        named = {one.path for one in handoff.files_created} | {one.path for one in handoff.files_modified}
        about = task.description.strip().splitlines()[0]
        files = tuple(FileModified(path=path, description=about) for path in changed if path not in named)
        # A review has approved it, whatever the words say.
        handoff = msgspec.structs.replace(
            handoff, outcome="completed", files_modified=(*handoff.files_modified, *files)
        )
        done = JournalTask(
            id=self._id(task.id),
            name=about,
            status="completed",
            summary=told_in(said).summary,
            dependencies=tuple(map(self._id, task.dependencies)),
            # What was learned is found again by later tasks in the same field, whatever their words.
            tags=extract_signals(self._asked(task), domains=self.domains).domains,
            handoff=handoff,
        )
        self.knowledge.ingest(done, handoff, today=_today())

    def _asked(self, task: Task) -> ContextTask:
        return ContextTask(
            id=self._id(task.id),
            objective=" ".join([task.description, *(file.path for file in task.files)]),
            acceptance_criteria=task.acceptance_criteria,
            dependencies=tuple(map(self._id, task.dependencies)),
        )

    def _section(self, task: ContextTask) -> ContextSection:
        context = context_of(task, self.knowledge, today=_today(), domains=self.domains)
        section = context_section(context)
        # That nothing is known need not be said at every task.
        return section if context.says_something else msgspec.structs.replace(section, content="")

    def _id(self, task_id: str) -> str:
        return f"{self.run}:{task_id}"


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
