"""`foveate work`: an issue, carried out by agents that each see their own view."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foveate.cli.models import ModelName, chosen_model
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
        # Not on top: `--help` and other commands need not wait for agents.
        from foveate.cli.work_run import How, begun_with, carry_out, roles_named, unused_name
        from foveate.cli.work_views import print_views

        roles = roles_named(architect, developer, reviewer)
        begun, given = begun_with(issue, design, plan, repo=repo, personas=persona)
        if dry_run:
            print_views(begun, given, roles, budget or 32_000)
            return
        chosen = chosen_model(model)
        with opened(store, system, create=True) as found:
            how = How(roles=roles, budget=budget, rounds=rounds, steps=steps, yes=yes, commit=commit)
            carry_out(found, name or unused_name(found, begun.issue.title), how, begun=begun, plan=given, model=chosen)


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
        # Not on top: `--help` and other commands need not wait for agents.
        from foveate.cli.work_run import How, carry_out, roles_named

        roles = roles_named(architect, developer, reviewer)
        how = How(roles=roles, budget=budget, rounds=rounds, steps=steps, yes=yes, commit=commit)
        carry_out(found, run, how, model=model)


@work_app.command("show")
def show_command(run: RunId, as_json: AsJson = False, store: StorePlace = None, system: SystemPlace = None) -> None:
    """Show how far a run has come: its tasks, their rounds, and the sessions of its agents.

    Example: foveate work show fix-rounding
    """
    with reported(), opened(store, system) as found:
        # Not on top: `--help` and other commands need not wait for agents.
        from foveate.cli.work_run import progress_of
        from foveate.cli.work_views import as_data, print_progress

        progress = progress_of(found, run)
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
        # Not on top: `--help` and other commands need not wait for agents.
        from foveate.cli.work_run import counts, runs_of

        runs = runs_of(found)
        if as_json:
            print_json([{"run": run, "status": progress.status, **counts(progress)} for run, progress in runs])
            return
        if not runs:
            say("no runs yet; begin one with `foveate work run ISSUE.md`")
            return
        rows = []
        for run, progress in runs:
            title = progress.begun.issue.title if progress.begun is not None else ""
            done = counts(progress)
            rows.append([shown(run), progress.status, f"{done['completed']}/{done['tasks']}", shown(title)])
        print_table({"run": "name", "status": "name", "tasks": "number", "issue": "words"}, rows)
