"""What a project knows: nodes of the graph, entries of the map, handoffs, and the tasks of its journal."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

NodeType = Literal["task", "decision", "pattern", "gotcha", "insight"]
Priority = Literal["high", "medium", "low"]
Result = Literal["completed", "partial", "failed", "blocked"]
ChangeType = Literal["add", "modify", "delete", "refactor"]
Complexity = Literal["easy", "normal", "complex"]
TaskState = Literal["pending", "in_progress", "completed", "failed", "blocked", "skipped"]

_Name = Annotated[str, Meta(min_length=1)]

SUMMARY: Final = 100
"""The most characters of a summary that others are shown; more is kept, and cut where it is shown."""


class _Model(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    pass


class Node(_Model, frozen=True, kw_only=True):
    """One thing that somebody learned, decided or did."""

    id: _Name
    type: NodeType
    summary: _Name
    tags: tuple[str, ...] = ()
    file: str | None = None
    severity: Priority | None = None
    rationale: str | None = None
    created: str = ""
    connections: tuple[str, ...] = ()
    retired: bool = False


class MapEntry(_Model, frozen=True, kw_only=True):
    """A part of the code: what it is, where it stands, and what is to be known of it."""

    component: str
    location: _Name
    notes: str = ""


class FileCreated(_Model, frozen=True, kw_only=True):
    """A file that a task made."""

    path: _Name
    purpose: str = ""
    lines: str = "all"


class FileModified(_Model, frozen=True, kw_only=True):
    """A file that a task changed."""

    path: _Name
    lines: str = "all"
    change_type: ChangeType = "modify"
    description: str = ""


class Pattern(_Model, frozen=True, kw_only=True):
    """A way of doing things that others should follow."""

    pattern: _Name
    location: str = ""
    applies_to: tuple[str, ...] = ()
    id: str = ""


class Gotcha(_Model, frozen=True, kw_only=True):
    """Something that went wrong, or would."""

    issue: _Name
    mitigation: str = ""
    severity: Priority = "medium"
    discovered_in: str = ""
    id: str = ""


class FileForNext(_Model, frozen=True, kw_only=True):
    """A file that whoever comes next should read."""

    file: _Name
    reason: str = ""


class Question(_Model, frozen=True, kw_only=True):
    """Something that is not settled."""

    question: _Name
    context: str = ""
    recommendation: str = ""
    blocking: bool = False


class NextStep(_Model, frozen=True, kw_only=True):
    """Something that should be done next."""

    step: _Name
    priority: Priority = "medium"
    depends_on: tuple[str, ...] = ()


class Blocker(_Model, frozen=True, kw_only=True):
    """What stands in the way."""

    blocker: _Name
    impact: str = ""
    suggested_resolution: str = ""
    blocking_tasks: tuple[str, ...] = ()


class Written(_Model, frozen=True, kw_only=True):
    """What an agent writes when it hands over."""

    outcome: Result
    files_created: tuple[FileCreated, ...] = ()
    files_modified: tuple[FileModified, ...] = ()
    patterns_discovered: tuple[Pattern, ...] = ()
    gotchas: tuple[Gotcha, ...] = ()
    dependencies_for_next: tuple[FileForNext, ...] = ()
    open_questions: tuple[Question, ...] = ()
    suggested_next_steps: tuple[NextStep, ...] = ()
    blockers: tuple[Blocker, ...] = ()


class Handoff(Written, frozen=True, kw_only=True):
    """What an agent hands over when its task ends; `salvaged` from free text, not written as one."""

    salvaged: bool = False


class JournalTask(_Model, frozen=True, kw_only=True):
    """A task of the journal, with what came of it."""

    id: _Name
    name: str = ""
    status: TaskState = "pending"
    summary: str = ""
    dependencies: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    handoff: Handoff | None = None

    @property
    def standing(self) -> str:
        """How it stands, and what stands in its way, in a line for who waits for it."""
        blockers = (
            self.handoff.blockers if self.handoff is not None and self.status not in ("completed", "skipped") else ()
        )
        ways = (
            f"{one.blocker} → {one.suggested_resolution}" if one.suggested_resolution.strip() else one.blocker
            for one in blockers
        )
        said = " ".join("; ".join(ways).split())
        return f"{self.status}: {said[: 2 * SUMMARY]}" if said else self.status


class ContextTask(_Model, frozen=True, kw_only=True):
    """A task that a context is computed for."""

    id: str = ""
    name: str = ""
    objective: _Name
    acceptance_criteria: tuple[str, ...] = ()
    type: str = "implementation"
    complexity: Complexity = "normal"
    dependencies: tuple[str, ...] = ()
