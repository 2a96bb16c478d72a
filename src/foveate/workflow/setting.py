"""The setting of a run on this machine: store, directory, snapshots, tools."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from platformdirs import user_data_path

from foveate.agents import Answer, Driver, Means
from foveate.errors import ConfigError
from foveate.log.events import WorkRecorded
from foveate.log.messages import ToolCall
from foveate.session import Session
from foveate.store import Store
from foveate.work.models import Task
from foveate.workflow.commits import commit, is_repository
from foveate.workflow.roles import Roles
from foveate.workflow.running import Setting
from foveate.workflow.snapshots import Snapshots
from foveate.workflow.workspace import Workspace


class Watcher(Protocol):
    """Who watches a run, and is asked before commands are run."""

    def told(self, body: WorkRecorded, /) -> None:
        """A step was made."""
        ...

    def called(self, agent: str, call: ToolCall, /) -> None:
        """An agent calls a tool."""
        ...

    def answered(self, agent: str, call: ToolCall, answer: Answer, /) -> None:
        """A tool answered."""
        ...

    def wrote(self, text: str, /) -> None:
        """A model wrote a piece of text."""
        ...

    async def allows(self, command: str, /) -> bool:
        """Whether a command may be run."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where a run works, and its limits."""

    store: Store
    run: str
    repo: Path
    budget: int
    rounds: int = 3
    steps: int = 40
    roles: Roles = field(default_factory=Roles)
    commit: bool = False


def setting_in(surroundings: Surroundings, driver: Driver, watcher: Watcher) -> Setting:
    """What a workflow needs, made from its surroundings."""
    repo = surroundings.repo
    if surroundings.commit and not is_repository(repo):
        raise ConfigError(f"`--commit` needs a git repository, and {str(repo)!r} is none; `git init`, or leave it out")
    file = surroundings.store.file
    # A store inside the directory changes with every step, and is nobody's work.
    snapshots = Snapshots(_kept_in(file, surroundings.run), repo, without=[file] if file is not None else [])

    def keep(task: Task, before: str) -> None:
        if surroundings.commit:
            commit(repo, snapshots.changed(before, snapshots.take()), task)

    return Setting(
        open=lambda name: Session.open(surroundings.store, name, budget=surroundings.budget, policy="default"),
        files=snapshots,
        means=Means(
            driver=driver,
            most_steps=surroundings.steps,
            clock=time.time,
            on_text=watcher.wrote,
            on_call=watcher.called,
            on_answer=watcher.answered,
        ),
        writing=(Workspace(repo, allow=watcher.allows),),
        reading=(Workspace(repo, allow=watcher.allows, writable=False),),
        roles=surroundings.roles,
        rounds=surroundings.rounds,
        told=watcher.told,
        kept=keep,
    )


def _kept_in(file: Path | None, run: str) -> Path:
    """Where the snapshots of a run are kept: beside its store, or with the user's data if that is a server."""
    folder = file.parent if file is not None else user_data_path("foveate", appauthor=False)
    safe = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in run)
    return folder / "work" / f"{safe}.git"
