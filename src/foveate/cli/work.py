"""`foveate work`: an issue, carried out by agents that each see their own view."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foveate.cli.models import LOCAL, LOCAL_BUDGET, ModelName, chosen_model, driver_for
from foveate.cli.output import AsJson, print_json, print_table, say
from foveate.cli.phrases import count, shown
from foveate.cli.source import BAD_INPUT, reported
from foveate.cli.store import StorePlace, SystemPlace, opened
from foveate.errors import ConfigError

if TYPE_CHECKING:
    from foveate.store import Store
    from foveate.workflow.progress import Begun, Progress
    from foveate.workflow.roles import Roles

work_app = typer.Typer(help="Have an issue carried out by agents that each see their own view.", no_args_is_help=True)

Repo = Annotated[
    Path, typer.Option("--repo", metavar="DIR", help="The directory to work in; nothing outside is touched.")
]
Budget = Annotated[
    int | None,
    typer.Option("--budget", metavar="TOKENS", min=500, help="The most tokens of a request.", show_default="32000"),
]
Rounds = Annotated[int, typer.Option("--rounds", min=1, help="How often a task is tried before it is given up.")]
Steps = Annotated[int, typer.Option("--steps", min=1, help="How many requests an agent may make for one thing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Run commands of the developer without asking for each.")]
Commit = Annotated[bool, typer.Option("--commit", help="Commit each approved task to the repository.")]
Architect = Annotated[str, typer.Option("--architect", metavar="AGENT", help="Who plans.")]
Developer = Annotated[str, typer.Option("--developer", metavar="AGENT", help="Who carries out tasks.")]
Reviewer = Annotated[str, typer.Option("--reviewer", metavar="AGENT", help="Who reviews.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The name of a run; `foveate work list` lists them.")]


@work_app.command("run")
def run_command(
    issue: Annotated[Path, typer.Argument(metavar="ISSUE", help="What is to be done: Markdown, YAML or JSON.")],
    repo: Repo = Path(),
    model: ModelName = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="A plan of your own, instead of the architect's.")
    ] = None,
    design: Annotated[Path | None, typer.Option("--design", metavar="FILE", help="How it is to be built.")] = None,
    persona: Annotated[
        list[str] | None,
        typer.Option("--persona", metavar="NAME", help="A reviewer: General, Security, …; several must all approve."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="RUN", help="The name of the run.")] = None,
    budget: Budget = None,
    rounds: Rounds = 3,
    steps: Steps = 40,
    yes: Yes = False,
    commit: Commit = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what each agent would see; no model is asked.")
    ] = False,
    architect: Architect = "architect",
    developer: Developer = "developer",
    reviewer: Reviewer = "reviewer",
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Plan an issue, carry out its tasks, review each; resumable, and every call can be looked at.

    Example: foveate work run ISSUE.md --repo . --model anthropic:claude-sonnet-4-5
    """
    with reported():
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.work import load_design, load_issue, load_plan
        from foveate.workflow.progress import Begun

        given = load_plan(plan) if plan is not None else None
        begun = Begun(
            issue=load_issue(issue),
            design=load_design(design) if design is not None else None,
            repo=str(_directory(repo)),
            model="none" if dry_run else chosen_model(model),
            personas=tuple(dict.fromkeys(persona or ["General"])),
        )
        roles = _roles(architect, developer, reviewer)
        if dry_run:
            from foveate.cli.work_views import print_views

            print_views(begun, given, roles, budget or 32_000)
            return
        with opened(store, system, create=True) as found:
            run_id = name or _unused(found, begun.issue.title)
            how = _How(roles, budget, rounds, steps, yes=yes, commit=commit)
            _carry_out(found, run_id, how, begun=begun, plan=given)


@work_app.command("resume")
def resume_command(
    run: RunId,
    model: ModelName = None,
    budget: Budget = None,
    rounds: Rounds = 3,
    steps: Steps = 40,
    yes: Yes = False,
    commit: Commit = False,
    architect: Architect = "architect",
    developer: Developer = "developer",
    reviewer: Reviewer = "reviewer",
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Go on with a run that was stopped, killed or failed on the way.

    Example: foveate work resume fix-rounding --yes
    """
    with reported(), opened(store, system) as found:
        how = _How(_roles(architect, developer, reviewer), budget, rounds, steps, yes=yes, commit=commit)
        _carry_out(found, run, how, model=model)


@work_app.command("show")
def show_command(run: RunId, as_json: AsJson = False, store: StorePlace = None, system: SystemPlace = None) -> None:
    """Show how far a run has come: its tasks, their rounds, and the sessions of its agents.

    Example: foveate work show fix-rounding
    """
    with reported(), opened(store, system) as found:
        from foveate.cli.work_views import as_data, print_progress

        progress = _progress(found, run)
        sessions = [info for info in found.sessions() if info.session_id.startswith(f"{run}/")]
        if as_json:
            print_json(as_data(run, progress, sessions))
        else:
            print_progress(run, progress, sessions)


@work_app.command("list")
def list_command(as_json: AsJson = False, store: StorePlace = None, system: SystemPlace = None) -> None:
    """List the runs of a store.

    Example: foveate work list
    """
    with reported(), opened(store, system) as found:
        runs = [(run, _progress(found, run)) for run in _runs(found)]
        if as_json:
            print_json([{"run": run, "status": progress.status, **_counts(progress)} for run, progress in runs])
        elif not runs:
            say("no runs yet; begin one with `foveate work run ISSUE.md`")
        else:
            rows = [
                [
                    shown(run),
                    progress.status,
                    f"{_counts(progress)['completed']}/{_counts(progress)['tasks']}",
                    shown(progress.begun.issue.title if progress.begun is not None else ""),
                ]
                for run, progress in runs
            ]
            print_table({"run": "name", "status": "name", "tasks": "number", "issue": "words"}, rows)


class _How:
    """The options that running and resuming have in common."""

    def __init__(self, roles: Roles, budget: int | None, rounds: int, steps: int, *, yes: bool, commit: bool) -> None:
        self.roles = roles
        self.budget = budget
        self.rounds = rounds
        self.steps = steps
        self.yes = yes
        self.commit = commit


def _carry_out(
    store: Store, run: str, how: _How, *, begun: Begun | None = None, plan: Any = None, model: str | None = None
) -> None:
    from foveate.cli.work_screen import Screen
    from foveate.session import Session
    from foveate.workflow.progress import Progress
    from foveate.workflow.running import Workflow
    from foveate.workflow.setting import Surroundings, setting_in

    if begun is None and not any(info.session_id == run for info in store.sessions()):
        raise ConfigError(f"there is no run {run!r}; see `foveate work list`")
    with Session.open(store, run) as session:
        known = begun or Progress.of(session.events).begun
        if known is None:
            raise ConfigError(f"{run!r} is a session but no run; see `foveate work list`")
        chosen = model or known.model
        screen = Screen(run, yes=how.yes)
        with driver_for(chosen) as driver:
            surroundings = Surroundings(
                store=store,
                run=run,
                repo=_directory(Path(known.repo)),
                budget=how.budget or (LOCAL_BUDGET if chosen == LOCAL else 32_000),
                rounds=how.rounds,
                steps=how.steps,
                roles=how.roles,
                commit=how.commit,
            )
            workflow = Workflow(session, setting_in(surroundings, driver, screen))
            if begun is not None:
                workflow.begin(begun, plan)
            screen.begin(workflow.progress)
            try:
                progress = asyncio.run(workflow.run())
            except KeyboardInterrupt:
                say(f"\nstopped; go on with `foveate work resume {run}`")
                raise typer.Exit(130) from None
            except Exception:
                say(f"what was done is kept; go on with `foveate work resume {run}`")
                raise
    screen.end(progress)
    if progress.status != "completed":
        raise typer.Exit(BAD_INPUT)


def _roles(architect: str, developer: str, reviewer: str) -> Roles:
    from foveate.workflow.roles import Roles, agent_named

    return Roles(architect=agent_named(architect), developer=agent_named(developer), reviewer=agent_named(reviewer))


def _directory(path: Path) -> Path:
    if not path.is_dir():
        raise ConfigError(f"`--repo` {str(path)!r} is no directory; name the one to work in")
    return path.resolve()


def _unused(store: Store, title: str) -> str:
    """A name from the title that no session has."""
    words = re.findall(r"\w+", title.lower())[:6]
    base = "-".join(words) or "run"
    taken = {info.session_id for info in store.sessions()}
    return next(name for name in (base, *(f"{base}-{number}" for number in range(2, 10_000))) if name not in taken)


def _runs(store: Store) -> list[str]:
    """The sessions that tell of a run."""
    return [info.session_id for info in store.sessions() if info.tags.get("work") == "run"]


def _progress(store: Store, run: str) -> Progress:
    from foveate.workflow.progress import Progress

    return Progress.of(store.reader(store.session(run)).events())


def _counts(progress: Progress) -> dict[str, int]:
    tasks = progress.plan.tasks if progress.plan is not None else ()
    return {"tasks": len(tasks), "completed": sum(task.status == "completed" for task in tasks)}
