"""`foveate workflow`: steps in a Markdown file, carried out by a model one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foveate.cli.chat import Vault
from foveate.cli.models import ModelName
from foveate.cli.source import reported
from foveate.cli.store import StorePlace, SystemPlace

workflow_app = typer.Typer(
    help="Have the steps of a Markdown file carried out, one after the other.", no_args_is_help=True
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A Markdown file; each heading `##` in it is a step.")]


@workflow_app.command("run")
def run_command(
    file: File,
    vault: Vault = None,
    model: ModelName = None,
    step: Annotated[
        str | None,
        typer.Option("--step", metavar="NAME", help="Only this step; earlier ones give what they gave last time."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print the request of each step; no model is asked.")
    ] = False,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="TOKENS", min=500, help="The most input tokens of a request.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="Also show steps with a helper what this project knows."),
    ] = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Carry out the steps of a file; files are read and written in the vault, or else in the working directory.

    Example: foveate workflow run daily.md --vault ~/notes --model anthropic:claude-sonnet-4-5
    """
    with reported():
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.cli.workflow_run import carry_out, print_previews

        given = {"model": model, "budget": budget, "project": project}
        if dry_run:
            print_previews(file, vault, given, store=store, system=system, only=step)
        elif not carry_out(file, vault, given, store=store, system=system, only=step):
            raise typer.Exit(1)


@workflow_app.command("check")
def check_command(file: File, vault: Vault = None, system: SystemPlace = None) -> None:
    """Read a file and list its steps, or everything that is wrong with it.

    Example: foveate workflow check daily.md
    """
    with reported():
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.cli.workflow_run import print_check

        print_check(file, vault, system=system)
