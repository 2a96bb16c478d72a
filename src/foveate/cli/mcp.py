"""`foveate mcp`: the tools of Foveate for any agent that speaks MCP."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.source import reported
from foveate.cli.store import StorePlace, SystemPlace, opened
from foveate.errors import ConfigError

if TYPE_CHECKING:
    from foveate.lookup.answers import Lookup
    from foveate.lookup.questions import OpenLookup

SESSION_VARIABLE = "FOVEATE_SESSION"

mcp_app = typer.Typer(
    invoke_without_command=True,
    help="Give agents tools to look up what they saw: recall, why, search, touched, fixed.",
)


@mcp_app.callback()
def mcp_command(
    context: typer.Context,
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            metavar="SESSION",
            help="The session that is meant (env FOVEATE_SESSION); else the one that asks, or the newest of PROJECT.",
            show_default=False,
        ),
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option("--project", metavar="DIR", help="The folder of the agent; else this one.", show_default=False),
    ] = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Serve the tools on standard input and output, as MCP clients start a server; it only reads.

    Example: foveate mcp --store agent.db
    """
    if context.invoked_subcommand is not None:
        return
    with reported():
        serve = _server()

        @contextmanager
        def lookup() -> Generator[Lookup, None, None]:
            # Behind SQLAlchemy, for which `--help` must not wait.
            from foveate.lookup.answers import Lookup

            # For each question anew: the store may be made, moved or deleted while an agent runs.
            with opened(store, system, is_interactive=True) as found:
                yield Lookup(
                    store=found,
                    session=session or os.environ.get(SESSION_VARIABLE) or None,
                    project=(project or Path.cwd()).absolute(),
                )

        serve(lookup)


def _server() -> Callable[[OpenLookup], None]:
    """What serves the tools, if the SDK is installed."""
    try:
        # Only this command needs the SDK, which is an extra.
        from foveate.integrations.mcp import serve
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"`foveate mcp` needs the package {error.name!r}, which is not installed; pip install 'foveate[mcp]'"
        ) from error
    return serve
