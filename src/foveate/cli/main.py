"""The command `foveate`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Annotated

import typer

from foveate.cli.artifact import artifact_command
from foveate.cli.chat import chat_command
from foveate.cli.check import check_command
from foveate.cli.compile import compile_command
from foveate.cli.db import db_app
from foveate.cli.diff import diff_command
from foveate.cli.explain import explain_command
from foveate.cli.formats import formats_command
from foveate.cli.gateway import gateway_app
from foveate.cli.handing import handoff_app, journal_command, map_app
from foveate.cli.importing import import_command
from foveate.cli.knowledge import context_command, knowledge_app
from foveate.cli.mcp import mcp_app
from foveate.cli.policies import policies_command
from foveate.cli.recall import recall_command
from foveate.cli.replay import replay_command
from foveate.cli.run import run_command
from foveate.cli.search import search_command
from foveate.cli.serve import serve_command
from foveate.cli.sessions import sessions_command
from foveate.cli.show import show_command
from foveate.cli.source import reported
from foveate.cli.transcript import transcript_command
from foveate.cli.transfer import delete_command, export_command, fork_command
from foveate.cli.work import work_app
from foveate.cli.workflow import workflow_app

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

        with reported():
            typer.echo(f"foveate {version('foveate')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # noqa: ARG001  its callback has done the work
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before the command."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal that has no sign for a character shows another one, instead of nothing at all.
        sys.stdout.reconfigure(errors="replace")


_PANELS: dict[str, dict[str, Callable[..., None]]] = {
    "What a model sees": {
        "compile": compile_command,
        "explain": explain_command,
        "diff": diff_command,
        "check": check_command,
        "recall": recall_command,
        "replay": replay_command,
        "policies": policies_command,
        "formats": formats_command,
    },
    "Chats": {
        "chat": chat_command,
        "serve": serve_command,
    },
    "Sessions in a store": {
        "import": import_command,
        "sessions": sessions_command,
        "show": show_command,
        "transcript": transcript_command,
        "search": search_command,
        "artifact": artifact_command,
        "export": export_command,
        "fork": fork_command,
        "delete": delete_command,
    },
}
for _panel, _commands in _PANELS.items():
    for _name, _command in _commands.items():
        app.command(_name, rich_help_panel=_panel)(_command)
app.add_typer(mcp_app, name="mcp", rich_help_panel="Agents")
app.add_typer(workflow_app, name="workflow", rich_help_panel="Chats")
app.command("run", rich_help_panel="Agents", context_settings={"allow_interspersed_args": False}, no_args_is_help=True)(
    run_command
)
app.add_typer(gateway_app, name="gateway", rich_help_panel="Agents")
app.add_typer(work_app, name="work", rich_help_panel="Agents")
app.command("context", rich_help_panel="Agents")(context_command)
app.add_typer(knowledge_app, name="knowledge", rich_help_panel="Agents")
app.add_typer(handoff_app, name="handoff", rich_help_panel="Agents")
app.command("journal", rich_help_panel="Agents")(journal_command)
app.add_typer(map_app, name="map", rich_help_panel="Agents")
app.add_typer(db_app, name="db", rich_help_panel="Sessions in a store")
