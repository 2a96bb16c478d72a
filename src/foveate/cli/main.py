"""The command `foveate`."""

from __future__ import annotations

from typing import Annotated

import typer

from foveate.cli.compile import compile_command
from foveate.cli.explain import explain_command

app = typer.Typer(
    name="foveate",
    help="A context compiler for LLM agents: what should the model see on this call?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(value: bool) -> None:
    if value:
        # Reading the installed metadata takes longer than most commands.
        from importlib.metadata import version

        typer.echo(f"foveate {version('foveate')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before the command."""


app.command("compile")(compile_command)
app.command("explain")(explain_command)
