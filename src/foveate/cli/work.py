"""`foveate work`: an issue, carried out by agents that each see their own view."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from foveate.cli.knowledge import Project
from foveate.cli.models import ModelName, chosen_model, wanted_model
from foveate.cli.output import AsJson, print_json, print_table, say
from foveate.cli.phrases import shown
from foveate.cli.source import reported
from foveate.cli.store import StorePlace, SystemPlace, opened
from foveate.errors import ConfigError
from foveate.named_files import read_named_text

work_app = typer.Typer(help="Have an issue carried out by agents that each see their own view.", no_args_is_help=True)

Repo = Annotated[
    Path, typer.Option("--repo", metavar="DIR", help="The directory to work in; nothing outside is touched.")
]
Budget = Annotated[
    int | None,
    typer.Option("--budget", metavar="TOKENS", min=500, help="The most tokens of a request.", show_default="32000"),
]
Rounds = Annotated[
    int | None,
    typer.Option("--rounds", min=1, help="How often a task is tried before it is given up.", show_default="3"),
]
Steps = Annotated[
    int | None,
    typer.Option("--steps", min=1, help="How many requests an agent may make for one thing.", show_default="40"),
]
Yes = Annotated[
    bool | None,
    typer.Option(
        "--yes/--ask", "-y", help="Run commands of the developer without asking for each.", show_default="ask"
    ),
]
MaxCost = Annotated[
    str | None,
    typer.Option(
        "--max-cost",
        metavar="USD|none",
        help="Stop between two requests once the run has cost this much; `none` lifts the limit.",
        show_default="no limit",
    ),
]
Commit = Annotated[
    bool | None,
    typer.Option("--commit/--no-commit", help="Commit each approved task to the repository.", show_default="no"),
]
Architect = Annotated[str | None, typer.Option("--architect", metavar="AGENT", help="Who plans; `module:Class`.")]
Developer = Annotated[str | None, typer.Option("--developer", metavar="AGENT", help="Who carries out tasks.")]
Reviewer = Annotated[str | None, typer.Option("--reviewer", metavar="AGENT", help="Who reviews.")]
Env = Annotated[
    list[str] | None,
    typer.Option(
        "--env", metavar="NAME", help="A variable that commands may see; several can be given.", show_default=False
    ),
]
NoEnv = Annotated[bool, typer.Option("--no-env", help="Pass none of the variables that `--env` named before.")]
PlanOnly = Annotated[bool, typer.Option("--plan-only", help="Stop once there is a plan, to look at it or change it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only print what each agent would see; no model is asked.")]
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
    rounds: Rounds = None,
    steps: Steps = None,
    yes: Yes = None,
    commit: Commit = None,
    max_cost: MaxCost = None,
    plan_only: PlanOnly = False,
    dry_run: DryRun = False,
    architect: Architect = None,
    developer: Developer = None,
    reviewer: Reviewer = None,
    env: Env = None,
    project: Project = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Plan an issue, carry out its tasks, review each; resumable, and every call can be looked at.

    Example: foveate work run ISSUE.md --repo . --model anthropic:claude-sonnet-4-5
    """
    with reported():
        # Not on top: `--help` and other commands need not wait for agents.
        from foveate.cli.work_run import Options, begin, begun_with, unused_name
        from foveate.cli.work_views import print_views

        options = Options(
            model=wanted_model(model),
            budget=budget,
            rounds=rounds,
            steps=steps,
            yes=bool(yes),
            commit=commit,
            max_cost=_most(max_cost),
            plan_only=plan_only,
            architect=architect,
            developer=developer,
            reviewer=reviewer,
            environment=tuple(env) if env else None,
        )
        _refuse_plan_only(plan if plan_only else None)
        begun, given = begun_with(issue, design, plan, repo=repo, personas=persona, options=options, project=project)
        if dry_run:
            print_views(begun, given, store, system)
            return
        chosen_model(options.model)
        with opened(store, system, create=True) as found:
            begin(found, name or unused_name(found, begun.issue.title), begun, given)


def _most(max_cost: str | None) -> float | None:
    """The dollars that a limit says, without end for `none`."""
    if max_cost is None:
        return None
    if max_cost.strip().lower() == "none":
        return math.inf
    try:
        dollars = float(max_cost)
    except ValueError:
        dollars = math.nan
    if not (0 < dollars < math.inf):
        raise ConfigError(
            f"`--max-cost` {max_cost!r} is no amount of dollars above 0; give one, such as 2.50, or `none` for no limit"
        )
    return dollars


def _refuse_plan_only(plan: Path | None) -> None:
    if plan is not None:
        raise ConfigError("`--plan-only` stops after the architect's plan, and `--plan` gives one; leave one out")


@work_app.command("resume")
def resume_command(
    run: RunId,
    model: ModelName = None,
    budget: Budget = None,
    rounds: Rounds = None,
    steps: Steps = None,
    yes: Yes = None,
    commit: Commit = None,
    max_cost: MaxCost = None,
    architect: Architect = None,
    developer: Developer = None,
    reviewer: Reviewer = None,
    env: Env = None,
    no_env: NoEnv = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Go on with a run that was stopped, killed or failed; options that are not given are as they were.

    Tasks that failed get another chance, with as many rounds.

    Example: foveate work resume fix-rounding --max-cost 2.50
    """
    with reported(), opened(store, system) as found:
        # Not on top: `--help` and other commands need not wait for agents.
        from foveate.cli.work_run import Options, go_on

        if env and no_env:
            raise ConfigError("`--env` names variables in place of all earlier ones, `--no-env` none; give one of them")
        options = Options(
            model=model,
            budget=budget,
            rounds=rounds,
            steps=steps,
            yes=yes,
            commit=commit,
            max_cost=_most(max_cost),
            architect=architect,
            developer=developer,
            reviewer=reviewer,
            environment=tuple(env) if env else () if no_env else None,
        )
        go_on(found, run, options)


@work_app.command("plan")
def plan_command(
    run: RunId,
    edit: Annotated[bool, typer.Option("--edit", help="Change it in your editor ($VISUAL or $EDITOR).")] = False,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Go on with the plan in this file; - for standard input."),
    ] = None,
    as_json: AsJson = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Print the plan of a run as YAML, or change it; tasks that were begun stay as they are.

    Example: foveate work plan fix-rounding --edit
    """
    with reported(), opened(store, system) as found:
        # Not on top: `--help` and other commands need not wait for agents.
        from foveate.cli.work_plan import change_plan, edited_plan, plan_of, print_plan

        if edit and source is not None:
            raise ConfigError("`--edit` and `--from` both say what the plan is; give one")
        if source is not None:
            change_plan(found, run, read_named_text(source, standard_input=True), str(source))
        elif edit:
            edited_plan(found, run)
        else:
            print_plan(plan_of(found, run), as_json=as_json)


@work_app.command("show")
def show_command(run: RunId, as_json: AsJson = False, store: StorePlace = None, system: SystemPlace = None) -> None:
    """Show how far a run has come: its tasks, their rounds, and the sessions of its agents.

    Example: foveate work show fix-rounding
    """
    with reported(), opened(store, system) as found:
        # Not on top: `--help` and other commands need not wait for agents.
        from foveate.cli.work_run import described_run, progress_of
        from foveate.cli.work_views import as_data, print_progress

        shown_run = described_run(found, run, progress_of(found, run))
        if as_json:
            print_json(as_data(shown_run))
        else:
            print_progress(shown_run)


@work_app.command("list")
def list_command(as_json: AsJson = False, store: StorePlace = None, system: SystemPlace = None) -> None:
    """List the runs of a store.

    Example: foveate work list
    """
    with reported(), opened(store, system) as found:
        # Not on top: `--help` and other commands need not wait for agents.
        from foveate.cli.work_run import counts, described_run, runs_of

        runs = [described_run(found, run, progress) for run, progress in runs_of(found)]
        if as_json:
            print_json(
                [{"run": one.name, "status": one.status, **counts(one.progress), "doing": one.doing} for one in runs]
            )
            return
        if not runs:
            say("no runs yet; begin one with `foveate work run ISSUE.md`")
            return
        rows = []
        for one in runs:
            title = one.progress.begun.issue.title if one.progress.begun is not None else ""
            done = counts(one.progress)
            doing = "; ".join(f"{task}: {what}" for task, what in one.doing.items())
            rows.append(
                [shown(one.name), one.status, f"{done['completed']}/{done['tasks']}", shown(title), shown(doing)]
            )
        print_table({"run": "name", "status": "name", "tasks": "number", "issue": "words", "doing": "words"}, rows)
