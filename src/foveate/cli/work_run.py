"""Runs of agents: how the commands begin them, go on with them, and find them in a store."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path

import msgspec
import typer

from foveate.cli.models import LOCAL, LOCAL_BUDGET, driver_for
from foveate.cli.output import say
from foveate.cli.source import BAD_INPUT
from foveate.cli.work_screen import Screen
from foveate.errors import ConfigError, FoveateError
from foveate.session import Session
from foveate.store import Store
from foveate.work import TaskDAG, load_design, load_issue, load_plan
from foveate.workflow.progress import Begun, Progress
from foveate.workflow.roles import Roles, agent_named
from foveate.workflow.running import Workflow
from foveate.workflow.setting import Surroundings, setting_in

_BUDGET = 32_000


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """The options that beginning and going on have in common."""

    roles: Roles
    budget: int | None
    rounds: int
    steps: int
    yes: bool
    commit: bool


def begun_with(
    issue: Path, design: Path | None, plan: Path | None, *, repo: Path, personas: list[str] | None
) -> tuple[Begun, TaskDAG | None]:
    """What a run begins with, and the plan if one is given."""
    given = load_plan(plan) if plan is not None else None
    if given is not None and not given.tasks:
        raise ConfigError(f"`--plan` {str(plan)!r} has no tasks; give it some, or leave it out")
    begun = Begun(
        issue=load_issue(issue),
        design=load_design(design) if design is not None else None,
        repo=str(_directory(repo)),
        personas=tuple(dict.fromkeys(personas or ["General"])),
    )
    return begun, given


def carry_out(
    store: Store,
    run: str,
    how: How,
    *,
    begun: Begun | None = None,
    plan: TaskDAG | None = None,
    model: str | None = None,
) -> None:
    """Begin a run, or go on with it, and show what happens; exit code 1 if it comes to no good end."""
    if begun is None and store.find(run) is None:
        raise ConfigError(f"there is no run {run!r}; see `foveate work list`")
    with Session.open(store, run) as session:
        known = begun or Progress.of(session.events).begun
        if known is None:
            raise ConfigError(f"{run!r} is a session but no run; see `foveate work list`")
        chosen = model or known.model
        if begun is not None:
            begun = known = msgspec.structs.replace(begun, model=chosen)
        screen = Screen(run, yes=how.yes)
        with driver_for(chosen) as driver:
            surroundings = Surroundings(
                store=store,
                run=run,
                repo=_directory(Path(known.repo)),
                budget=how.budget or (LOCAL_BUDGET if chosen == LOCAL else _BUDGET),
                rounds=how.rounds,
                steps=how.steps,
                roles=how.roles,
                commit=how.commit,
            )
            workflow = Workflow(session, setting_in(surroundings, driver, screen))
            if begun is not None:
                workflow.begin(begun, plan)
            screen.begin(workflow.progress)
            progress = _run(workflow)
    screen.end(progress)
    if progress.status != "completed":
        raise typer.Exit(BAD_INPUT)


def roles_named(architect: str, developer: str, reviewer: str) -> Roles:
    """The agents with some names."""
    return Roles(architect=agent_named(architect), developer=agent_named(developer), reviewer=agent_named(reviewer))


def unused_name(store: Store, title: str) -> str:
    """A name from the title that no session has."""
    words = re.findall(r"\w+", title.lower())[:6]
    base = "-".join(words) or "run"
    taken = {info.session_id for info in store.sessions()}
    return next(name for name in (base, *(f"{base}-{number}" for number in range(2, 10_000))) if name not in taken)


def runs_of(store: Store) -> list[tuple[str, Progress]]:
    """The runs of a store, newest first."""
    ids = [info.session_id for info in store.sessions() if info.tags.get("work") == "run"]
    return [(id, progress_of(store, id)) for id in ids]


def progress_of(store: Store, run: str) -> Progress:
    """How far a run has come."""
    progress = Progress.of(store.reader(store.session(run)).events())
    if progress.begun is None:
        raise ConfigError(f"{run!r} is a session but no run; see `foveate work list`")
    return progress


def counts(progress: Progress) -> dict[str, int]:
    """How many tasks there are, and how many are done."""
    tasks = progress.plan.tasks if progress.plan is not None else ()
    return {"tasks": len(tasks), "completed": sum(task.status == "completed" for task in tasks)}


def _run(workflow: Workflow) -> Progress:
    try:
        return asyncio.run(workflow.run())
    except KeyboardInterrupt:
        say(f"\nstopped; go on with `foveate work resume {workflow.id}`")
        raise typer.Exit(130) from None
    except FoveateError:
        say(f"what was done is kept; go on with `foveate work resume {workflow.id}`")
        raise


def _directory(path: Path) -> Path:
    if not path.is_dir():
        raise ConfigError(f"`--repo` {str(path)!r} is no directory; name the one to work in")
    return path.resolve()
