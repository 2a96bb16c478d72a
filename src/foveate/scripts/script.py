"""A script: what a workflow's file says, read and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from foveate.log.text import printable

Runs = int | Literal["all"]
Cache = Literal["session", "daily", "weekly"] | int
"""For how long an output is used again: as long as the session has it, a day, a week, or so many seconds."""
Tools = Literal["vault", "recall"]
WriteMode = Literal["append", "replace", "new"]
Scope = Literal["run", "session"]
"""How long a variable is known: until the run ends, or until it is given again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """Something that a step is shown; with `refs_only` its name alone, of a file with `properties` its front matter."""

    kind: Literal["file", "variable"]
    name: str
    required: bool = False
    refs_only: bool = False
    properties: bool = False
    head: int | None = None
    scope: Scope = "run"

    @property
    def label(self) -> str:
        """As it is written in the file."""
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where a step's answer goes: into the context of all later steps, a variable, or a file."""

    kind: Literal["context", "variable", "file"]
    name: str = ""
    scope: Scope = "run"

    @property
    def label(self) -> str:
        """As it is written in the file."""
        return f"{self.kind}:{self.name}" if self.name else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request to a model; of `model`, `helper` and `recent_runs`, None is what the step does not say."""

    name: str
    line: int
    text: str
    model: str | None = None
    # Nobody is asked: the inputs are the answer.
    copies: bool = False
    helper: str | None = None
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    tools: tuple[Tools, ...] = ()
    recent_runs: Runs | None = None
    cache: Cache | None = None
    header: str | None = None
    write_mode: WriteMode = "append"


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The steps of a file, in order, and what holds for all of them.

    `settings` are those of chats that the file has its own values for; `week_start` counts from Monday, which is 0.
    `owner` tells its sessions from those of a workflow of the same name in another vault.
    """

    name: str
    path: Path
    steps: tuple[Step, ...]
    description: str = ""
    instructions: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    week_start: int = 0
    notes: tuple[str, ...] = ()
    owner: str = ""

    @property
    def lasting(self) -> frozenset[str]:
        """The variables that a run begins with as they were last given."""
        return lasting(self.steps)

    def session_of(self, step: Step) -> str:
        """The session that has all runs of a step."""
        return f"workflow:{self.name}{self.owner}/{named(step)}"


def lasting(steps: Iterable[Step]) -> frozenset[str]:
    """The variables that one of these steps wants to be known for longer than a run."""
    wanted = [one.name for step in steps for one in step.inputs if one.scope == "session"]
    given = [one.name for step in steps for one in step.outputs if one.scope == "session"]
    return frozenset(wanted + given)


def named(step: Step) -> str:
    """The name of a step, as that of a session can end with it."""
    return printable(step.name).replace("/", "_")
