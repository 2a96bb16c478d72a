"""The journal in words: what stands in the way of tasks, and what they leave to others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foveate.knowledge.models import Blocker, JournalTask


def journal_lines(tasks: Sequence[JournalTask], blockers: Sequence[tuple[str, Blocker]]) -> Iterator[str]:
    """Blockers with all that is known of them, then questions and next steps of tasks; a line each."""
    for blocked, blocker in blockers:
        yield f"! {blocked}: {_line(blocker.blocker)}"
        for name, said in (
            ("impact", blocker.impact),
            ("resolution", blocker.suggested_resolution),
            ("tasks", ", ".join(blocker.blocking_tasks)),
        ):
            if said.strip():
                yield f"    {name}: {_line(said)}"
    for task in tasks:
        if task.handoff is None:
            continue
        for one in task.handoff.open_questions:
            advice = f" → {_line(one.recommendation)}" if one.recommendation.strip() else ""
            yield f"? {task.id}: {_line(one.question)}{' (blocking)' if one.blocking else ''}{advice}"
        for step in task.handoff.suggested_next_steps:
            after = f" (after {', '.join(step.depends_on)})" if step.depends_on else ""
            yield f"> {task.id}: {_line(step.step)} ({step.priority}){after}"


def _line(text: str) -> str:
    return " ".join(text.split())
