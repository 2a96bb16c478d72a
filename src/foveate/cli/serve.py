"""`foveate serve`: the web app and the HTTP API."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from foveate.cli.output import say
from foveate.cli.source import reported
from foveate.cli.store import StorePlace, SystemPlace
from foveate.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp

    from foveate.api import Place

_PORT = 8417
# Pages hold a connection for as long as they are open; who ends the server does not wait for them.
_PATIENCE = 2
_SHORT = 16


def serve_command(
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="The port; 0 takes one that is free.")] = _PORT,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; one that others reach needs a token.")
    ] = "127.0.0.1",
    vault: Annotated[
        str | None,
        typer.Option(
            "--vault",
            metavar="DIR",
            envvar="FOVEATE_VAULT",
            help="The folder of your notes and templates.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="The model that answers in the chat.", show_default=False)
    ] = None,
    token: Annotated[
        str | None,
        typer.Option("--token", envvar="FOVEATE_TOKEN", help="Access token visitors must enter.", show_default=False),
    ] = None,
    open: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open it in a browser. [default: if there is one]", show_default=False),
    ] = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Watch the window: serve the sessions of a store as a web app, and as an HTTP API under /api.

    Example: foveate serve --store agent.db --port 8417
    """
    with reported():
        # FastAPI takes longer to import than most commands take; `--help` must not wait for it.
        from foveate.api import Place
        from foveate.api.guard import check_token

        token = token or None
        check_token(host, token)
        place = Place.found(store, system=system, vault=vault, model=model)
        with listening(host, port) as listener:
            app = _made(place, token, host, is_named=store is not None)
            address = address_of(host, listener.getsockname()[1])
            _print(app, place, address, token)
            if open is True or (open is None and _has_browser()):
                # Without the token: lists of processes and histories would show it. The page asks for it.
                _open(address)
            run_server(app, listener)


def _made(place: Place, token: str | None, host: str, *, is_named: bool) -> FastAPI:
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.api import create_app
    from foveate.web import mounted

    try:
        return mounted(create_app(place, token=token, host=host), place)
    except (StoreError, ConfigError) as error:
        # Who did not name the place wonders where it comes from.
        raise type(error)(str(error) if is_named else f"{error} (place: {place.rule})") from error


def listening(host: str, port: int) -> socket.socket:
    """A socket that hears whoever comes from now on, even before they are answered."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"`--host` {host!r} is no address of this machine: {error}; leave it out") from error
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            # Elsewhere it would let two servers have the same port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise _no_port(host, port, error) from error
    return listener


def _no_port(host: str, port: int, error: OSError) -> ConfigError:
    if error.errno == errno.EADDRINUSE:
        return ConfigError(
            f"`--port` {port} is taken, maybe by another `foveate serve`; end that, or give another, such as {port + 1}"
            if port < 65_535
            else f"`--port` {port} is taken; end what uses it, or give another"
        )
    if error.errno == errno.EACCES:
        return ConfigError(f"`--port` {port} is not for every user; give one above 1023, such as {_PORT}")
    return ConfigError(f"cannot listen at `--host` {host!r}: {error.strerror or error}; leave it out")


def address_of(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host)  # noqa: S104  it is compared with
    return f"http://{shown or (f'[{host}]' if ':' in host else host)}:{port}/"


def _print(app: FastAPI, place: Place, address: str, token: str | None) -> None:
    typer.echo(f"Foveate is at {address}")
    typer.echo(f"sessions in {app.state.store} ({place.rule})")
    if token is not None:
        say("visitors need the token: the page asks for it, and programs send `Authorization: Bearer …`")
        if len(token) < _SHORT:
            say(f"the token is short and can be guessed; {_SHORT} or more random characters cannot")
    say("Ctrl-C ends it")
    # What starts it may wait for the address.
    sys.stdout.flush()


def _has_browser() -> bool:
    """Whether somebody sits in front of a screen: in a terminal without one, a browser would take the terminal."""
    has_screen = sys.platform != "linux" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    return sys.stdout.isatty() and has_screen


def _open(url: str) -> None:
    # Only who looks at it needs it.
    import webbrowser

    # Some browsers keep who starts them waiting.
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def run_server(app: ASGIApp, listener: socket.socket, *, dates: bool = True) -> None:
    # Not on top: `--help` and other commands need not wait for it.
    import uvicorn

    config = uvicorn.Config(
        app,
        log_level="warning",
        # It would show tokens that are part of an address.
        access_log=False,
        server_header=False,
        # An answer that is passed on has the date of whoever gave it.
        date_header=dates,
        # Any program on this machine may say whom it forwards for; guesses of a token are counted by who connects.
        proxy_headers=False,
        timeout_graceful_shutdown=_PATIENCE,
    )
    # The server ends in order, and most times passes on why.
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
    say("ended")
