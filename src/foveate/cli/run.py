"""`foveate run`: one agent through a gateway of its own, with nothing left behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.gateway import HOST, Budget, ModeOption, gateway_over, settings_for
from foveate.cli.output import say
from foveate.cli.phrases import count
from foveate.cli.serve import listening
from foveate.cli.source import reported
from foveate.cli.store import StorePlace, SystemPlace
from foveate.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from foveate.api import Place
    from foveate.gateway import Gateway, GatewaySettings
    from foveate.store import Store

Command = Annotated[
    list[str], typer.Argument(metavar="-- AGENT [ARGUMENT]...", help="The agent as you start it otherwise.")
]


def run_command(
    command: Command,
    mode: ModeOption = "shadow",
    budget: Budget = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Run an agent with its requests going through Foveate, for this run alone.

    Knows claude, codex, gemini, opencode, qwen, copilot, pi, mini and aider.

    Example: foveate run --mode compile --budget 40000 -- claude
    """
    with reported():
        # Not on top: `--help` and other commands need not wait for it.
        from foveate.api import Place
        from foveate.gateway.launching import Wish, agent_of, launch

        agent = agent_of(command)
        if shutil.which(command[0]) is None:
            raise ConfigError(f"{command[0]!r} is not installed, or not on the PATH; install it, or give its path")
        with tempfile.TemporaryDirectory(prefix="foveate-run-") as folder, listening(HOST, 0) as listener:
            wish = Wish(command=tuple(command), environment=os.environ, folder=Path(folder))
            address = f"http://{HOST}:{listener.getsockname()[1]}/as/{agent}"
            started = launch(agent, wish, address)
            settings = settings_for(mode, budget, 0.2, **{str(name): url for name, url in started.upstreams.items()})
            with _serving(Place.found(store, system=system), settings, listener) as gateway:
                code = _run(started.command, {**os.environ, **started.environment})
        _tell(gateway, tuple(gateway.conversations.names))
    raise typer.Exit(code)


@contextmanager
def _serving(place: Place, settings: GatewaySettings, listener: socket.socket) -> Generator[Gateway]:
    """A gateway in a thread, for the time of a block."""
    import uvicorn

    # Not on top: `--help` and other commands need not wait for it.
    from foveate.api.guard import Guard
    from foveate.gateway import GatewayRoutes
    from foveate.gateway.routes import no_pages

    opened = _store(place)
    gateway = gateway_over(opened, place, settings)
    gateway.warm_up()
    app = Guard(GatewayRoutes(no_pages, gateway))
    # Nothing is printed: the terminal is the agent's.
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, date_header=False, timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
    thread.start()
    try:
        yield gateway
    finally:
        server.should_exit = True
        thread.join(30)
        if opened is not None:
            opened.close()


def _store(place: Place) -> Store | None:
    """The store; an agent runs without one if it cannot be had."""
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.store import Store
    from foveate.store.engine import INTERACTIVE_WAIT

    try:
        return Store(place.store, wait=INTERACTIVE_WAIT)
    except StoreError as error:
        say(f"nothing is recorded: {error}")
        return None


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the agent in this terminal; it gets the signals, and its exit code is ours."""
    # The terminal sends an interrupt to both; it is the agent's to heed.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        child = subprocess.Popen(  # noqa: S603  it is what the user asked for
            [shutil.which(command[0]) or command[0], *command[1:]], env=dict(environment)
        )
        ended = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        try:
            code = child.wait()
        finally:
            signal.signal(signal.SIGTERM, ended)
    finally:
        signal.signal(signal.SIGINT, before)
    return 128 - code if code < 0 else code


def _tell(gateway: Gateway, sessions: tuple[str, ...]) -> None:
    seen = gateway.seen
    if not seen["recorded"]:
        say("no request of the agent came by; nothing was recorded")
        return
    say(f"{count(seen['recorded'], 'request')} recorded as {', '.join(sessions)}; `foveate serve` shows them")
    if seen["fell back"]:
        say(f"{seen['fell back']} of them went out uncompiled; the sessions' logs say why")
