"""The command `foveate`."""

from __future__ import annotations

from typing import Annotated

import typer

from foveate.cli.artifact import artifact_command
from foveate.cli.compile import compile_command
from foveate.cli.db import db_app
from foveate.cli.explain import explain_command
from foveate.cli.search import search_command
from foveate.cli.sessions import sessions_command
from foveate.cli.show import show_command
from foveate.cli.transcript import transcript_command
from foveate.cli.transfer import delete_command, export_command, fork_command, import_command

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
for _name, _command in (
    ("sessions", sessions_command),
    ("show", show_command),
    ("transcript", transcript_command),
    ("search", search_command),
    ("artifact", artifact_command),
    ("export", export_command),
    ("import", import_command),
    ("fork", fork_command),
    ("delete", delete_command),
):
    app.command(_name, rich_help_panel="Sessions in a store")(_command)
app.add_typer(db_app, name="db", rich_help_panel="Sessions in a store")
