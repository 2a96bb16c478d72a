"""Runs of agents: how the commands begin them, go on with them, and find them in a store."""

from __future__ import annotations

import asyncio
import math
import os
import re
import shlex
from collections.abc import Callable, Mapping
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
from foveate.knowledge.debugging import debug_printer
from foveate.knowledge.project import project_of
from foveate.lab.config import Config, config_at
from foveate.session import Session
from foveate.store import SessionInfo, Store
from foveate.work import TaskDAG, load_design, load_issue, load_plan
from foveate.workflow.activity import describe_activity
from foveate.workflow.lock import held, is_held
from foveate.workflow.progress import BUDGET, Begun, Progress
from foveate.workflow.roles import agent_named
from foveate.workflow.running import CostLimitError, Workflow
from foveate.workflow.setting import lock_of, setting_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What beginning and going on have in common; None is as it was, or the default; `max_cost` may be infinite."""

    model: str | None = None
    budget: int | None = None
    rounds: int | None = None
    steps: int | None = None
    yes: bool | None = None
    commit: bool | None = None
    max_cost: float | None = None
    plan_only: bool | None = None
    architect: str | None = None
    developer: str | None = None
    reviewer: str | None = None
    environment: tuple[str, ...] | None = None

    def over(self, begun: Begun) -> Begun:
        """A beginning with what is given in place of what was."""
        given = {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}
        if self.model is not None:
            # The name that was chosen stays beside the model that it meant then, whatever it means later.
            meant = resolved_model(self.model)
            given |= {"model": meant, "model_alias": self.model if meant != self.model else ""}
        if self.max_cost is not None:
            given["max_cost"] = self.max_cost if math.isfinite(self.max_cost) else None
        changed = msgspec.structs.replace(begun, **given)
        for role in ("architect", "developer", "reviewer"):
            agent_named(getattr(changed, role), role)
        for name in self.environment or ():
            if name not in os.environ:
                raise ConfigError(f"`--env` {name!r} is no variable that is set; give its name, and set it before")
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
        budget=LOCAL_BUDGET if options.model and resolved_model(options.model) == LOCAL else BUDGET,
        hidden=tuple(map(str, files)),
        project=project_of(repo, project),
    )
    distinct = tuple({persona.casefold(): persona for persona in begun.personas}.values())
    return options.over(msgspec.structs.replace(begun, personas=distinct)), given


def resolved_model(name: str) -> str:
    """The model that a name means: that of an alias in foveate.toml, else itself."""
    return config_at().models.get(name, name)


def begin(store: Store, run: str, begun: Begun, plan: TaskDAG | None) -> None:
    """Begin a run and carry it out; exit code 1 if it comes to no good end."""
    if store.find(run) is not None:
        raise ConfigError(f"there is a session {run!r} already; choose another `--name`, or resume the run")
    _carry_out(store, run, begun, lambda workflow: workflow.begin(begun, plan))


def go_on(store: Store, run: str, options: Options) -> None:
    """Go on with a run; it is said what it was doing, and what of its options was never recorded."""
    progress = progress_of(store, run)
    known = progress.begun
    assert known is not None, "progress is only given of what was begun"  # noqa: S101
    begun = options.over(known)
    if missing := [name for name in begun.environment if name not in os.environ]:
        say(
            f"commands do without {', '.join(missing)}, which `--env` named when the run was begun and which is not "
            "set here; set it before, or drop it with `--no-env`"
        )
    if begun.yes is None:
        begun = msgspec.structs.replace(begun, yes=False)
        say(
            f"{run} was begun by version 0.1, which did not record `--yes` nor what its calls cost: you are asked "
            "before each command, and `--max-cost` counts from here on"
        )
    _carry_out(store, run, begun, lambda workflow: workflow.go_on(begun), left=described_run(store, run, progress))


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
    if store.find(run) is None:
        raise ConfigError(f"there is no run {run!r} in this store; `foveate work list` lists its runs")
    progress = _progress(store, run)
    if progress.begun is None:
        raise ConfigError(f"{run!r} is a session but no run; see `foveate work list`")
    return progress


def status_of(store: Store, run: str, progress: Progress) -> str:
    """Whether a run is over, being worked on, or was stopped on the way."""
    if progress.status != "running":
        return progress.status
    if is_held(lock_of(store, run)):
        return "running"
    return "planned" if progress.is_planned_only else "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedRun:
    """A run as it is shown: how far it has come, what its agents were doing, and their sessions."""

    name: str
    status: str
    progress: Progress
    doing: Mapping[str, str]
    sessions: tuple[SessionInfo, ...] = ()


def described_run(store: Store, run: str, progress: Progress) -> DescribedRun:
    """A run with all that is told of it."""
    return DescribedRun(
        name=run,
        status=status_of(store, run, progress),
        progress=progress,
        doing=describe_activity(store, run, progress),
        sessions=tuple(info for info in store.sessions() if info.tags.get("run") == run),
    )


def counts(progress: Progress) -> dict[str, int]:
    """How many tasks there are, and how many are done."""
    tasks = progress.plan.tasks if progress.plan is not None else ()
    return {"tasks": len(tasks), "completed": sum(task.status == "completed" for task in tasks)}


def named_outside(begun: Begun, nearest: Config) -> tuple[str, ...]:
    """The variables that the user's own foveate.toml names: one that agents, or whoever shared the code, cannot write.

    What a file in the repository names is not passed, which is said.
    """
    inside = _repository_around(Path(begun.repo))
    is_theirs = nearest.path is not None and nearest.path.is_relative_to(inside)
    outside = _config_above(inside) if is_theirs else nearest
    if refused := [name for name in nearest.environment if name not in (*outside.environment, *begun.environment)]:
        options = " ".join(f"--env {name}" for name in refused)
        say(
            f"{nearest.path} is in the repository, where agents can write, so the variables that it names are not "
            f"passed to commands; pass them with `{options}`, or name them in a foveate.toml above {inside}"
        )
    return outside.environment


def _progress(store: Store, run: str) -> Progress:
    return Progress.of(store.reader(store.session(run)).events())


def _carry_out(
    store: Store, run: str, begun: Begun, start: Callable[[Workflow], None], *, left: DescribedRun | None = None
) -> None:
    """Everything that can be refused is, before the store is written to."""
    _directory(Path(begun.repo))
    screen = Screen(run, yes=bool(begun.yes))
    with held(lock_of(store, run), run), driver_for(begun.model, alias=begun.model_alias) as driver:
        config = config_at(start=Path(begun.repo))
        setting = setting_in(
            store,
            run,
            begun,
            driver,
            screen,
            domains=config.domains,
            environment=named_outside(begun, config),
            on_debug=debug_printer(os.environ),
        )
        with Session.open(store, run) as session:
            workflow = Workflow(session, setting)
            start(workflow)
            screen.begin(workflow.progress, left.doing if left is not None else {})
            progress = _run(workflow)
    screen.end(progress)
    if progress.is_planned_only:
        return
    if progress.status != "completed":
        raise typer.Exit(BAD_INPUT)


def _repository_around(repo: Path) -> Path:
    """The outermost folder with a history that a directory is in; a home folder with one is still the user's place."""
    home, found = Path.home(), repo
    for folder in (repo, *repo.parents):
        if folder == home:
            break
        if (folder / ".git").exists():
            found = folder
    return found


def _config_above(folder: Path) -> Config:
    # Above the home folder, other people may write.
    return Config() if Path.home().is_relative_to(folder) else config_at(start=folder.parent)


def _run(workflow: Workflow) -> Progress:
    hint = f"`foveate work resume {shlex.quote(workflow.id)}`"
    try:
        return asyncio.run(workflow.run())
    except (KeyboardInterrupt, typer.Abort):
        say(f"\nstopped; go on with {hint}")
        raise typer.Exit(130) from None
    except CostLimitError as error:
        raise CostLimitError(
            f"{error}; what was done is kept; go on with `foveate work resume {shlex.quote(workflow.id)} --max-cost …`"
            ", a higher limit or `none`"
        ) from None
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
