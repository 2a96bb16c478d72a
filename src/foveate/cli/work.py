"""`foveate work`: an issue, carried out by agents that each see their own view."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foveate.cli.knowledge import Project
from foveate.cli.models import ModelName, chosen_model, wanted_model
from foveate.cli.output import AsJson, print_json, print_table, say
from foveate.cli.phrases import shown
from foveate.cli.source import reported
from foveate.cli.store import StorePlace, SystemPlace, opened

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
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Run commands of the developer without asking for each.")]
Commit = Annotated[
    bool | None,
    typer.Option("--commit/--no-commit", help="Commit each approved task to the repository.", show_default="no"),
]
Architect = Annotated[str | None, typer.Option("--architect", metavar="AGENT", help="Who plans; `module:Class`.")]
Developer = Annotated[str | None, typer.Option("--developer", metavar="AGENT", help="Who carries out tasks.")]
Reviewer = Annotated[str | None, typer.Option("--reviewer", metavar="AGENT", help="Who reviews.")]
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
    yes: Yes = False,
    commit: Commit = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what each agent would see; no model is asked.")
    ] = False,
    architect: Architect = None,
    developer: Developer = None,
    reviewer: Reviewer = None,
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
            commit=commit,
            architect=architect,
            developer=developer,
            reviewer=reviewer,
        )
        begun, given = begun_with(issue, design, plan, repo=repo, personas=persona, options=options, project=project)
        if dry_run:
            print_views(begun, given, store, system)
            return
        chosen_model(options.model)
        with opened(store, system, create=True) as found:
            begin(found, name or unused_name(found, begun.issue.title), begun, given, yes=yes)


@work_app.command("resume")
def resume_command(
    run: RunId,
    model: ModelName = None,
    budget: Budget = None,
    rounds: Rounds = None,
    steps: Steps = None,
    yes: Yes = False,
    commit: Commit = None,
    architect: Architect = None,
    developer: Developer = None,
    reviewer: Reviewer = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Go on with a run that was stopped, killed or failed; options that are not given are as they were.

    Tasks that failed get another chance, with as many rounds.

    Example: foveate work resume fix-rounding --yes
    """
    with reported(), opened(store, system) as found:
        # Not on top: `--help` and other commands need not wait for agents.
        from foveate.cli.work_run import Options, go_on

        options = Options(
            model=model,
            budget=budget,
            rounds=rounds,
            steps=steps,
            commit=commit,
            architect=architect,
            developer=developer,
            reviewer=reviewer,
        )
        go_on(found, run, options, yes=yes)


@work_app.command("show")
def show_command(run: RunId, as_json: AsJson = False, store: StorePlace = None, system: SystemPlace = None) -> None:
    """Show how far a run has come: its tasks, their rounds, and the sessions of its agents.

    Example: foveate work show fix-rounding
    """
    with reported(), opened(store, system) as found:
        # Not on top: `--help` and other commands need not wait for agents.
        from foveate.cli.work_run import progress_of, status_of
        from foveate.cli.work_views import as_data, print_progress

        progress = progress_of(found, run)
        sessions = [info for info in found.sessions() if info.tags.get("run") == run]
        if as_json:
            print_json(as_data(run, status_of(found, run, progress), progress, sessions))
        else:
            print_progress(run, status_of(found, run, progress), progress, sessions)


@work_app.command("list")
def list_command(as_json: AsJson = False, store: StorePlace = None, system: SystemPlace = None) -> None:
    """List the runs of a store.

    Example: foveate work list
    """
    with reported(), opened(store, system) as found:
        # Not on top: `--help` and other commands need not wait for agents.
        from foveate.cli.work_run import counts, runs_of, status_of

        runs = [(run, progress, status_of(found, run, progress)) for run, progress in runs_of(found)]
        if as_json:
            print_json([{"run": run, "status": status, **counts(progress)} for run, progress, status in runs])
            return
        if not runs:
            say("no runs yet; begin one with `foveate work run ISSUE.md`")
            return
        rows = []
        for run, progress, status in runs:
            title = progress.begun.issue.title if progress.begun is not None else ""
            done = counts(progress)
            rows.append([shown(run), status, f"{done['completed']}/{done['tasks']}", shown(title)])
        print_table({"run": "name", "status": "name", "tasks": "number", "issue": "words"}, rows)
