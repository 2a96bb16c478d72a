"""`foveate mcp`: the tools of Foveate for any agent that speaks MCP."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foveate.cli.output import say
from foveate.cli.source import BAD_INPUT, reported
from foveate.cli.store import StorePlace, SystemPlace, opened
from foveate.errors import ConfigError
from foveate.private_files import create_private_file, keep_mode, make_private_folder

if TYPE_CHECKING:
    from foveate.lookup.answers import Lookup
    from foveate.lookup.clients import Client
    from foveate.lookup.questions import Answer

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
            # Clients wait for a server to start, which need not wait for SQLAlchemy.
            from foveate.lookup.answers import Lookup

            # For each question anew: the store may be made, moved or deleted while an agent runs.
            with opened(store, system, is_interactive=True) as found:
                yield Lookup(
                    store=found,
                    session=session or os.environ.get(SESSION_VARIABLE) or None,
                    project=(project or Path.cwd()).absolute(),
                )

        def answered(name: str, arguments: Mapping[str, Any], evidence: Collection[str]) -> tuple[str, bool]:
            # As above.
            from foveate.lookup.answering import answer

            return answer(lookup, name, arguments, evidence)

        serve(answered)


def _server() -> Callable[[Answer], None]:
    """What serves the tools, if the SDK is installed."""
    try:
        # Only this command needs the SDK, which is an extra.
        from foveate.integrations.mcp import serve
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"`foveate mcp` needs the package {error.name!r}, which is not installed; pip install 'foveate[mcp]'"
        ) from error
    return serve


ClientName = Annotated[str, typer.Argument(metavar="CLIENT", help="claude, codex, gemini or opencode.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@mcp_app.command("install")
def install_command(
    client: ClientName,
    yes: Yes = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Add the tools to the configuration of a client, for all projects; the change is shown first.

    Example: foveate mcp install claude
    """
    with reported():
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.lookup.clients import added, client_named

        # What could not be started is not written down.
        _server()
        chosen = client_named(client)
        command = [*_program(), "mcp", *_place(store, system)]
        _change(chosen, lambda text: added(chosen, text, command), yes=yes, done="added to")


@mcp_app.command("uninstall")
def uninstall_command(client: ClientName, yes: Yes = False) -> None:
    """Take the tools out of the configuration of a client again; the rest of it stays as it is.

    Example: foveate mcp uninstall claude
    """
    with reported():
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.lookup.clients import client_named, removed

        chosen = client_named(client)
        _change(chosen, lambda text: removed(chosen, text), yes=yes, done="taken out of")


def _program() -> list[str]:
    """How a client starts this program, from whatever folder it runs in."""
    found = shutil.which("foveate")
    return [str(Path(found).absolute())] if found is not None else [sys.executable, "-m", "foveate"]


def _place(store: str | None, system: str | None) -> list[str]:
    if store is not None:
        # A client starts the server in the folder of a project.
        return ["--store", store if "://" in store else str(Path(store).expanduser().absolute())]
    return ["--system", str(Path(system).expanduser().absolute())] if system is not None else []


def _change(client: Client, change: Callable[[str], str], *, yes: bool, done: str) -> None:
    """Change a configuration, once the user has seen how."""
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.lookup.clients import this_client

    path = this_client(client)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    after = change(before)
    names = (str(path), str(path))
    diff = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), *names)
    for line in diff:
        typer.echo(line if line.endswith("\n") else f"{line}\n", nl=False)
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigError("there is nobody to ask whether this change is meant; give `--yes` if it is")
        if not typer.confirm(f"Write this to {path}?", default=False, err=True):
            say("Nothing was changed.")
            raise typer.Exit(BAD_INPUT)
    _write(path, after)
    typer.echo(f"{done} {path}")


def _write(path: Path, text: str) -> None:
    """Put a text in the place of a file, whole or not at all; one that was made for it goes when nothing is left."""
    # What the configuration is a link to is what changes, not the link.
    target = path.resolve()
    if not text:
        target.unlink()
        return
    make_private_folder(target.parent)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with create_private_file(unfinished) as file:
            file.write(text.encode())
        keep_mode(unfinished, target)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
