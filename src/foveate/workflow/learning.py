"""Learning: what a run takes from the project's knowledge, and what it leaves there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec.structs import replace

from foveate.knowledge.base import Knowledge
from foveate.knowledge.handoff import read_handoff
from foveate.knowledge.handoff_text import first_sentence, told_in, words_of
from foveate.knowledge.ingestion import Ingested
from foveate.knowledge.models import Blocker, ChangeType, ContextTask, FileModified, Handoff, JournalTask
from foveate.knowledge.render import context_section, debug_report
from foveate.knowledge.signals import extract_signals
from foveate.knowledge.sources import context_of
from foveate.log.sections import ContextSection
from foveate.work.models import Issue, ReviewResult, Task
from foveate.workflow.speaking import in_sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """Knowledge of a project, for the tasks of a run; ids of tasks are those of the run, domains of the project."""

    knowledge: Knowledge
    run: str
    domains: Mapping[str, Sequence[str]] | None = None
    # Told how each context came about, if somebody wants to know.
    on_debug: Callable[[str], None] | None = None

    def for_issue(self, issue: Issue) -> ContextSection:
        """What whoever plans should know."""
        said = "\n".join(part for part in (issue.title, issue.description) if part.strip())
        return self._section(ContextTask(id=self.run, name=issue.title, objective=said, type="design"))

    def for_task(self, task: Task) -> ContextSection:
        """What whoever carries out a task should know."""
        return self._section(self._asked(task))

    def hand_over(
        self,
        task: Task,
        said: str,
        changes: Mapping[str, ChangeType],
        *,
        failed: ReviewResult | None = None,
        denied: Sequence[str] = (),
    ) -> Ingested:
        """Take in what a task hands over: its words, the files that it changed, and the review it `failed` at.

        That commands were `denied` comes first: later tasks stand on what nobody has tried.
        """
        about = first_sentence(task.description) or task.id
        handoff = read_handoff(said).handoff if said.strip() else Handoff(outcome="completed")
        handoff = _with_files(handoff, changes, about)
        # The review decides, whatever the words say.
        handoff = _approved(handoff) if failed is None else _refused(handoff, failed)
        done = JournalTask(
            id=self._id(task.id),
            name=about,
            summary=f"{_not_run(denied)}{told_in(said, handoff).summary}",
            dependencies=tuple(map(self._id, task.dependencies)),
            # What was learned is found again by later tasks in the same field, whatever their words.
            tags=extract_signals(self._asked(task), domains=self.domains).domains,
        )
        return self.knowledge.ingest(done, handoff, today=_today())

    def _asked(self, task: Task) -> ContextTask:
        return ContextTask(
            id=self._id(task.id),
            objective=" ".join([task.description, *(file.path for file in task.files)]),
            acceptance_criteria=task.acceptance_criteria,
            dependencies=tuple(map(self._id, task.dependencies)),
        )

    def _section(self, task: ContextTask) -> ContextSection:
        context = context_of(task, self.knowledge, today=_today(), domains=self.domains)
        if self.on_debug is not None:
            self.on_debug(f"context of {task.id or 'the task'}\n{debug_report(context)}")
        section = context_section(context)
        # That nothing is known need not be said at every task.
        return section if context.says_something else replace(section, content="")

    def _id(self, task_id: str) -> str:
        return f"{self.run}:{task_id}"


def _with_files(handoff: Handoff, changes: Mapping[str, ChangeType], about: str) -> Handoff:
    """The handoff with all files that were changed; one that is gone is gone, whatever the words say of it."""
    gone = {path for path, change in changes.items() if change == "delete"}
    created = tuple(one for one in handoff.files_created if one.path not in gone)
    modified = tuple(one for one in handoff.files_modified if one.path not in gone)
    named = {one.path for one in created} | {one.path for one in modified}
    more = tuple(
        FileModified(path=path, change_type=change, description=about)
        for path, change in changes.items()
        if path not in named
    )
    return replace(handoff, files_created=created, files_modified=(*modified, *more))


def _not_run(denied: Sequence[str]) -> str:
    listed = ", ".join(f"`{' '.join(command.split())[:80]}`" for command in denied[:3])
    more = f" and {len(denied) - 3} more commands" if len(denied) > 3 else ""
    return f"Unverified, as the user denied {listed}{more}. " if denied else ""


def _approved(handoff: Handoff) -> Handoff:
    return replace(handoff, outcome="completed")


def _refused(handoff: Handoff, review: ReviewResult) -> Handoff:
    """What of a handoff is worth keeping though its work is not: no way to follow, but all that went wrong."""
    asked = "; ".join(comment.strip() for comment in review.comments if comment.strip())
    blocker = Blocker(
        blocker=f"not approved by {review.persona} ({review.severity}): {asked or 'no reason given'}",
        impact="what the task asks for is not there",
        suggested_resolution="do what the review asks for, or change the task",
    )
    return replace(handoff, outcome="failed", patterns_discovered=(), blockers=(blocker, *handoff.blockers))


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def describe_work(said: str) -> str:
    """What a developer says of its work, in sentences: its words, and of what it hands over how much that is."""
    words = in_sentences(words_of(said))
    handoff = read_handoff(said).handoff if said.strip() else None
    handed = (
        (
            ("pattern", handoff.patterns_discovered),
            ("warning", handoff.gotchas),
            ("file to read", handoff.dependencies_for_next),
            ("open question", handoff.open_questions),
            ("blocker", handoff.blockers),
            ("next step", handoff.suggested_next_steps),
        )
        if handoff is not None and not handoff.salvaged
        else ()
    )
    counts = [f"{len(some)} {name if len(some) == 1 else _plural(name)}" for name, some in handed if some]
    sentence = f"It hands over {', '.join(counts)}." if counts else ""
    # All of it may stand in a fence, as a handoff does, and yet be none.
    return " ".join(part for part in (words, sentence) if part) or in_sentences(said) or "nothing was said"


def _plural(name: str) -> str:
    return "files to read" if name == "file to read" else f"{name}s"
