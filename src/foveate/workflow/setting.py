"""The setting of a run on this machine: store, directory, snapshots, tools."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from platformdirs import user_data_path

from foveate.agents import Answer, Driver, Means, Reply
from foveate.budget.charges import reply_cost
from foveate.budget.profiles import ModelProfile, known_profile
from foveate.compile.compiled import CompiledContext
from foveate.errors import ConfigError
from foveate.knowledge.base import Knowledge
from foveate.knowledge.project import project_of
from foveate.log.events import DiagnosticRecorded, WorkRecorded
from foveate.log.messages import ToolCall
from foveate.session import Session
from foveate.store import Store
from foveate.work.models import Task
from foveate.workflow.commits import commit, is_repository
from foveate.workflow.learning import Learning
from foveate.workflow.progress import Begun
from foveate.workflow.roles import Roles, agent_named
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

    def noted(self, agent: str, diagnostic: DiagnosticRecorded, /) -> None:
        """Something went wrong in an agent's session that it goes on after."""
        ...

    def wrote(self, text: str, /) -> None:
        """A model wrote a piece of text."""
        ...

    async def allows(self, command: str, /) -> bool:
        """Whether a command may be run."""
        ...


def setting_in(
    store: Store,
    run: str,
    begun: Begun,
    driver: Driver,
    watcher: Watcher,
    *,
    domains: Mapping[str, Sequence[str]] | None = None,
    environment: Sequence[str] = (),
    on_debug: Callable[[str], None] | None = None,
) -> Setting:
    """What a workflow needs on this machine.

    `domains` are those of its project, beside the ones that are known; `environment` are variables that commands may
    see, beside the ones that every program needs and those of the run. `on_debug` is told how each computed context
    came about.
    """
    repo = Path(begun.repo)
    if begun.commit and not is_repository(repo):
        raise ConfigError(f"`--commit` needs a git repository, and {begun.repo!r} is none; `git init`, or leave it out")
    folder = _folder(store)
    # A store inside the directory changes with every step, and is nobody's work; nor is what the run was begun with.
    without = [folder, *([store.file] if store.file is not None else []), *map(Path, begun.hidden)]
    snapshots = Snapshots(folder / f"{_safe(run)}.git", repo, without=without)
    profile = known_profile(driver.name)
    if begun.max_cost is not None:
        _refuse_without_price(profile)
    return Setting(
        open=lambda name: Session.open(store, name, budget=begun.budget, model=profile),
        states=snapshots,
        means=_means(begun, driver, watcher),
        writing=(
            Workspace(repo, allow=watcher.allows, without=without, environment=(*environment, *begun.environment)),
        ),
        reading=(Workspace(repo, writable=False, without=without),),
        roles=_roles(begun),
        rounds=begun.rounds,
        # Less than half of the budget, at some three characters a token.
        most_diff=max(2_000, int(begun.budget * 1.3)),
        told=watcher.told,
        kept=_keeper(begun, snapshots, (*environment, *begun.environment)),
        learning=Learning(
            knowledge=Knowledge(store, project_of(repo, begun.project or None)),
            run=run,
            domains=domains,
            on_debug=on_debug,
        ),
        cost=lambda view, reply: _cost(profile, view, reply),
        max_cost=begun.max_cost,
    )


def _means(begun: Begun, driver: Driver, watcher: Watcher) -> Means:
    return Means(
        driver=driver,
        most_steps=begun.steps,
        clock=time.time,
        on_text=watcher.wrote,
        on_call=watcher.called,
        on_answer=watcher.answered,
        on_diagnostic=watcher.noted,
    )


def _roles(begun: Begun) -> Roles:
    return Roles(
        architect=agent_named(begun.architect, "architect"),
        developer=agent_named(begun.developer, "developer"),
        reviewer=agent_named(begun.reviewer, "reviewer"),
    )


def _keeper(begun: Begun, snapshots: Snapshots, variables: Sequence[str]) -> Callable[[Task, str], None]:
    """What is done with a finished task: a commit, if the run makes any."""

    def keep(task: Task, before: str) -> None:
        if begun.commit:
            commit(Path(begun.repo), snapshots.changed(before, snapshots.take()), task, also=variables)

    return keep


def lock_of(store: Store, run: str) -> Path:
    """The file that whoever works on a run holds."""
    return _folder(store) / f"{_safe(run)}.lock"


def _folder(store: Store) -> Path:
    """Where states of directories are kept: beside the store, or with the user's data if that is a server."""
    return (store.file.parent if store.file is not None else user_data_path("foveate", appauthor=False)) / "work"


def _safe(run: str) -> str:
    """A name for files: readable, and of no other run."""
    readable = "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in run)
    return f"{readable[:40]}-{hashlib.sha256(run.encode()).hexdigest()[:10]}"


def _refuse_without_price(profile: ModelProfile) -> None:
    if profile.input_price is None or profile.output_price is None:
        raise ConfigError(
            f"`--max-cost` needs the model's price, and the price list has none of {profile.name!r}; "
            "name another `--model`, or leave `--max-cost` out"
        )


def _cost(profile: ModelProfile, view: CompiledContext, reply: Reply) -> float | None:
    """What a request cost, as the provider counted it; one that does not count is taken at our own count."""
    answered = reply.output_tokens
    if answered is None:
        answered = view.count_text(str(reply.message))
    return reply_cost(
        profile,
        read=view.tokens if reply.input_tokens is None else reply.input_tokens,
        cached=reply.cached_tokens or 0,
        written=reply.cache_write_tokens or 0,
        answered=answered,
    )
