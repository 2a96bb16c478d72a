"""Runs of agents: how the commands begin them, go on with them, and find them in a store."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import typer

from foveate.agents import PERSONAS
from foveate.agents.reviewer import known_persona
from foveate.cli.output import say
from foveate.cli.source import BAD_INPUT
from foveate.cli.work_screen import Screen
from foveate.errors import ConfigError, FoveateError
from foveate.integrations.models import LOCAL, LOCAL_BUDGET, driver_for
from foveate.knowledge.project import project_of
from foveate.lab.config import config_at
from foveate.session import Session
from foveate.store import Store
from foveate.work import TaskDAG, load_design, load_issue, load_plan
from foveate.workflow.lock import held, is_held
from foveate.workflow.progress import BUDGET, Begun, Progress
from foveate.workflow.roles import agent_named
from foveate.workflow.running import Workflow
from foveate.workflow.setting import lock_of, setting_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What beginning and going on have in common; None is as it was, or the default."""

    model: str | None = None
    budget: int | None = None
    rounds: int | None = None
    steps: int | None = None
    commit: bool | None = None
    architect: str | None = None
    developer: str | None = None
    reviewer: str | None = None

    def over(self, begun: Begun) -> Begun:
        """A beginning with what is given in place of what was."""
        given = {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}
        changed = msgspec.structs.replace(begun, **given)
        for role in ("architect", "developer", "reviewer"):
            agent_named(getattr(changed, role), role)
        return changed


def begun_with(
    issue: Path,
    design: Path | None,
    plan: Path | None,
    *,
    repo: Path,
    personas: list[str] | None,
    options: Options,
    project: str | None = None,
) -> tuple[Begun, TaskDAG | None]:
    """What a run begins with, and the plan if one is given; all that can be wrong with it is found here."""
    given = load_plan(plan) if plan is not None else None
    if given is not None and not given.tasks:
        raise ConfigError(f"`--plan` {str(plan)!r} has no tasks; give it some, or leave it out")
    files = [path.resolve() for path in (issue, design, plan) if path is not None]
    begun = Begun(
        issue=load_issue(issue),
        design=load_design(design) if design is not None else None,
        repo=str(_directory(repo)),
        personas=tuple(_persona(name) for name in personas or ["General"]),
        budget=LOCAL_BUDGET if options.model == LOCAL else BUDGET,
        hidden=tuple(map(str, files)),
        project=project_of(repo, project),
    )
    distinct = tuple({persona.casefold(): persona for persona in begun.personas}.values())
    return options.over(msgspec.structs.replace(begun, personas=distinct)), given


def begin(store: Store, run: str, begun: Begun, plan: TaskDAG | None, *, yes: bool) -> None:
    """Begin a run and carry it out; exit code 1 if it comes to no good end."""
    if store.find(run) is not None:
        raise ConfigError(f"there is a session {run!r} already; choose another `--name`, or resume the run")
    _carry_out(store, run, begun, lambda workflow: workflow.begin(begun, plan), yes=yes)


def go_on(store: Store, run: str, options: Options, *, yes: bool) -> None:
    """Go on with a run."""
    if store.find(run) is None:
        raise ConfigError(f"there is no run {run!r}; see `foveate work list`")
    known = progress_of(store, run).begun
    assert known is not None, "progress is only given of what was begun"  # noqa: S101
    begun = options.over(known)
    _carry_out(store, run, begun, lambda workflow: workflow.go_on(begun), yes=yes)


def unused_name(store: Store, title: str) -> str:
    """A name from the title that no session has."""
    words = re.findall(r"\w+", title.lower())[:6]
    base = "-".join(words)[:60] or "run"
    taken = {info.session_id for info in store.sessions()}
    return next(name for name in (base, *(f"{base}-{number}" for number in range(2, 10_000))) if name not in taken)


def runs_of(store: Store) -> list[tuple[str, Progress]]:
    """The runs of a store, newest first."""
    found = [info.session_id for info in store.sessions() if info.tags.get("work") == "run"]
    return [(run, progress) for run in found if (progress := _progress(store, run)).begun is not None]


def progress_of(store: Store, run: str) -> Progress:
    """How far a run has come."""
    progress = _progress(store, run)
    if progress.begun is None:
        raise ConfigError(f"{run!r} is a session but no run; see `foveate work list`")
    return progress


def status_of(store: Store, run: str, progress: Progress) -> str:
    """Whether a run is over, being worked on, or was stopped on the way."""
    if progress.status != "running":
        return progress.status
    return "running" if is_held(lock_of(store, run)) else "stopped"


def counts(progress: Progress) -> dict[str, int]:
    """How many tasks there are, and how many are done."""
    tasks = progress.plan.tasks if progress.plan is not None else ()
    return {"tasks": len(tasks), "completed": sum(task.status == "completed" for task in tasks)}


def _progress(store: Store, run: str) -> Progress:
    return Progress.of(store.reader(store.session(run)).events())


def _carry_out(store: Store, run: str, begun: Begun, start: Callable[[Workflow], None], *, yes: bool) -> None:
    """Everything that can be refused is, before the store is written to."""
    _directory(Path(begun.repo))
    screen = Screen(run, yes=yes)
    with held(lock_of(store, run), run), driver_for(begun.model) as driver:
        setting = setting_in(store, run, begun, driver, screen, domains=config_at(start=Path(begun.repo)).domains)
        with Session.open(store, run) as session:
            workflow = Workflow(session, setting)
            start(workflow)
            screen.begin(workflow.progress)
            progress = _run(workflow)
    screen.end(progress)
    if progress.status != "completed":
        raise typer.Exit(BAD_INPUT)


def _run(workflow: Workflow) -> Progress:
    hint = f"`foveate work resume {shlex.quote(workflow.id)}`"
    try:
        return asyncio.run(workflow.run())
    except (KeyboardInterrupt, typer.Abort):
        say(f"\nstopped; go on with {hint}")
        raise typer.Exit(130) from None
    except FoveateError:
        say(f"what was done is kept; go on with {hint}")
        raise


def _persona(name: str) -> str:
    persona = known_persona(name)
    if not persona or len(persona) > 40 or "/" in persona or not persona.isprintable():
        raise ConfigError(f"`--persona` {name!r} is no name; give some words, such as {', '.join(PERSONAS)}")
    return persona


def _directory(path: Path) -> Path:
    if not path.is_dir():
        raise ConfigError(f"`--repo` {str(path)!r} is no directory; name the one to work in")
    return path.resolve()
