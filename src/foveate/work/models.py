"""Issue, design, tasks and reviews."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from foveate.errors import ConfigError

Operation = Literal["create", "modify", "test"]
TaskStatus = Literal["pending", "in_progress", "completed", "failed"]
Severity = Literal["low", "medium", "high", "critical"]

SEVERITIES: Final[tuple[Severity, ...]] = ("low", "medium", "high", "critical")

_Name = Annotated[str, Meta(min_length=1)]
_Line = Annotated[int, Meta(ge=1)]


class _Model(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    pass


class Issue(_Model, frozen=True, kw_only=True):
    """What somebody wants done."""

    title: str = ""
    description: str = ""
    id: str = ""


class Design(_Model, frozen=True, kw_only=True):
    """How it is to be built; fields that are empty are left out of every view."""

    title: str = ""
    goal: str = ""
    architecture: str = ""
    tech_stack: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    data_flow: str = ""
    error_handling: str = ""
    testing_strategy: str = ""
    conventions: str = ""
    relevant_files: tuple[str, ...] = ()


class TaskStep(_Model, frozen=True, kw_only=True):
    """A few minutes of work."""

    description: _Name
    code: str | None = None
    command: str | None = None
    expected_output: str | None = None


class FileOperation(_Model, frozen=True, kw_only=True):
    """A file that a task touches, and what it does to it."""

    operation: Operation
    path: _Name
    line_range: tuple[_Line, _Line] | None = None

    def __post_init__(self) -> None:
        if self.line_range is not None and self.line_range[1] < self.line_range[0]:
            raise ConfigError(f"`line_range` ends at {self.line_range[1]}, before it begins at {self.line_range[0]}")


class Task(_Model, frozen=True, kw_only=True):
    """One piece of a plan, small enough for one agent; its id names sessions and references."""

    id: Annotated[str, Meta(pattern=r"^[\w][\w.:-]{0,59}$", max_length=60)]
    description: _Name
    status: TaskStatus = "pending"
    dependencies: tuple[str, ...] = ()
    files: tuple[FileOperation, ...] = ()
    steps: tuple[TaskStep, ...] = ()
    acceptance_criteria: tuple[str, ...] = ()
    commit_message: str | None = None


class ReviewResult(_Model, frozen=True, kw_only=True):
    """What a reviewer thinks of a change."""

    persona: str
    approved: bool
    comments: tuple[str, ...] = ()
    severity: Severity = "low"


class TaskOutcome(_Model, frozen=True, kw_only=True):
    """What came of a task, in named parts that others may ask for; none of it is shown to them unasked."""

    task_id: str
    summary: str = ""
    parts: dict[str, str] = {}


def combined(reviews: Sequence[ReviewResult]) -> ReviewResult:
    """The verdict of several reviewers: approved if all approve, the worst severity, each comment with its persona."""
    if not reviews:
        raise ConfigError("a verdict needs at least one review")
    if len(reviews) == 1:
        return reviews[0]
    return ReviewResult(
        persona=", ".join(review.persona for review in reviews),
        approved=all(review.approved for review in reviews),
        comments=tuple(f"[{review.persona}] {comment}" for review in reviews for comment in review.comments),
        severity=max(reviews, key=lambda review: SEVERITIES.index(review.severity)).severity,
    )
