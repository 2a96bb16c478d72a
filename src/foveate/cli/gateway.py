"""`foveate gateway`: the providers' protocols on this machine, for agents that only know an address."""

from __future__ import annotations

import logging
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foveate.cli.output import AsJson, Kind, print_json, print_table, say
from foveate.cli.serve import address_of, listening, run_server
from foveate.cli.source import reported
from foveate.cli.store import StorePlace, SystemPlace, opened
from foveate.errors import ConfigError, FoveateError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from foveate.api import Place
    from foveate.gateway import Gateway, GatewaySettings
    from foveate.store import Store

PORT = 8418
HOST = "127.0.0.1"
BUDGETS = (20_000, 40_000, 80_000, 160_000)
gateway_app = typer.Typer(
    help="Let any agent send its requests through Foveate: to look at, or reduced to a budget.",
    invoke_without_command=True,
)
Port = Annotated[int, typer.Option("--port", min=0, max=65_535, help="The port; 0 takes one that is free.")]
AnthropicUrl = Annotated[
    str | None, typer.Option("--anthropic", metavar="URL", help="Where Anthropic's requests go.", show_default=False)
]
OpenaiUrl = Annotated[
    str | None, typer.Option("--openai", metavar="URL", help="Where OpenAI's requests go.", show_default=False)
]
GeminiUrl = Annotated[
    str | None, typer.Option("--gemini", metavar="URL", help="Where Gemini's requests go.", show_default=False)
]
ModeOption = Annotated[
    str,
    typer.Option(
        "--mode",
        metavar="shadow|compile|off",
        help="Record and pass on; or send what Foveate compiles; or only pass on.",
    ),
]
Budget = Annotated[
    int | None,
    typer.Option(
        "--budget", "-b", help="The most input tokens of a request. [default: the model's window]", show_default=False
    ),
]
Patience = Annotated[
    float, typer.Option("--patience", metavar="SECONDS", help="How long a request waits to be compiled.")
]
SessionName = Annotated[str, typer.Argument(metavar="SESSION", help="As `foveate gateway status` names it.")]


@gateway_app.callback()
def gateway_command(
    context: typer.Context,
    port: Port = PORT,
    anthropic: AnthropicUrl = None,
    openai: OpenaiUrl = None,
    gemini: GeminiUrl = None,
    mode: ModeOption = "shadow",
    budget: Budget = None,
    patience: Patience = 0.2,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Pass agents' requests on to their providers; each session shows live in the web app at the same address.

    Example: foveate gateway --mode compile --budget 40000
    """
    if context.invoked_subcommand is not None:
        return
    with reported():
        # FastAPI takes longer to import than most commands take; `--help` must not wait for it.
        from foveate.api import Place

        settings = settings_for(mode, budget, patience, anthropic=anthropic, openai=openai, gemini=gemini)
        place = Place.found(store, system=system)
        with listening(HOST, port) as listener:
            app, gateway = app_with_pages(place, settings)
            gateway.warm_up()
            # Uvicorn takes an upgrade that was refused, as Codex's is, for one that was forgotten.
            logging.getLogger("uvicorn.error").addFilter(lambda said: "handshake" not in said.getMessage())
            _print(gateway, place, address_of(HOST, listener.getsockname()[1]))
            run_server(app, listener, dates=False)


def settings_for(mode: str, budget: int | None, patience: float, **upstreams: str | None) -> GatewaySettings:
    """The settings that options mean."""
    # Not on top: `--help` and other commands need not wait for it.
    from foveate.gateway import GatewaySettings, Upstreams

    given = {name: url for name, url in upstreams.items() if url}
    known: Any = mode
    return GatewaySettings(mode=known, budget=budget, patience=patience, upstreams=Upstreams(**given))


def app_with_pages(place: Place, settings: GatewaySettings) -> tuple[FastAPI, Gateway]:
    """The web app over a store, with a gateway in it."""
    from starlette.middleware import Middleware

    # Not on top: `--help` and other commands need not wait for it.
    from foveate.api import create_app
    from foveate.gateway import GatewayRoutes
    from foveate.web import mounted

    app = create_app(place, host=HOST)
    gateway = gateway_over(app.state.store, place, settings)
    app.state.gateway = gateway
    mounted(app, place)
    # Innermost: the guard has looked at the request by then.
    app.user_middleware.append(Middleware(GatewayRoutes, gateway=gateway))
    return app, gateway


def gateway_over(store: Store | None, place: Place, settings: GatewaySettings) -> Gateway:
    """A gateway over a store; where its secret cannot be kept, items are matched until the process ends."""
    import secrets

    from platformdirs import user_data_path

    # Not on top: `--help` and other commands need not wait for it.
    from foveate.gateway import Gateway
    from foveate.gateway.gateway import secret_folder
    from foveate.gateway.matching import secret_in

    folder = secret_folder(place.store) or user_data_path("foveate", appauthor=False)
    try:
        secret = secret_in(folder)
    except (OSError, ValueError) as error:
        say(f"no key can be kept in {folder} ({error}): after a restart sessions begin anew")
        secret = secrets.token_bytes(32)
    return Gateway(settings, store, secret)


def _print(gateway: Gateway, place: Place, address: str) -> None:
    settings = gateway.settings
    budget = f", at most {settings.budget:,} tokens a request" if settings.budget else ""
    typer.echo(f"Foveate's gateway is at {address}")
    typer.echo(f"mode {settings.mode}{budget}; sessions in {place.store} ({place.rule})")
    base = address.rstrip("/")
    say(f"Claude Code: ANTHROPIC_BASE_URL={base}   others: `foveate run -- AGENT`")
    say(f"sessions as they go on: {base}/gateway")
    say("Ctrl-C ends it")
    # What starts it may wait for the address.
    sys.stdout.flush()


@gateway_app.command("status")
def status_command(
    session: Annotated[
        str | None, typer.Argument(metavar="SESSION", help="What its calls would take at other budgets.")
    ] = None,
    port: Port = PORT,
    budgets: Annotated[
        list[int] | None,
        typer.Option("--budget", "-b", min=1, help="For a session: a budget; several times.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Tell what the gateway that runs does; of a session, what its recorded calls would take at other budgets.

    Example: foveate gateway status
    """
    with reported():
        if session is None:
            _show_status(ask("GET", port, ""), as_json=as_json)
        else:
            _show_budgets(session, budgets or list(BUDGETS), store, system, as_json=as_json)


def _show_status(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    budget = f", at most {found['budget']:,} tokens a request" if found["budget"] else ""
    typer.echo(f"mode {found['mode']}{budget}")
    typer.echo(", ".join(f"{name} {count}" for name, count in found["counts"].items()))
    numbers = ("calls", "raw_tokens", "sent_tokens", "compiled_tokens")
    rows = [
        [one["session"], one["mode"], *("" if one[name] is None else f"{one[name]:,}" for name in numbers)]
        for one in found["sessions"]
    ]
    if rows:
        kinds: dict[str, Kind] = dict.fromkeys(("calls", "raw", "sent", "compiled"), "number")
        print_table({"session": "name", "mode": "name", **kinds}, rows)


def _show_budgets(session: str, budgets: list[int], store: str | None, system: str | None, *, as_json: bool) -> None:
    # Not on top: `--help` must not wait for SQLAlchemy.
    from foveate.gateway.what_if import at_budgets

    with opened(store, system) as found:
        outcomes = at_budgets(found, session, budgets)
    if as_json:
        print_json([asdict(one) for one in outcomes])
        return
    columns: dict[str, Kind] = dict.fromkeys(
        ("budget", "sent in all", "largest", "rewrites", "cost", "not possible"), "number"
    )
    rows = [
        [
            f"{one.budget:,}",
            f"{one.tokens:,}",
            f"{one.largest:,}",
            f"{one.rewrites}",
            f"{one.cost:,.0f}",
            f"{one.impossible}",
        ]
        for one in outcomes
    ]
    print_table(columns, rows)
    say("cost in plain input tokens: cache reads and writes as the model's provider charges them")


@gateway_app.command("off")
def off_command(session: SessionName, port: Port = PORT) -> None:
    """Pass a session's requests on as they are from now on, whatever the gateway's mode.

    Example: foveate gateway off claude-code-9a7a8db4ce1847563
    """
    _switch(session, "off", port)


@gateway_app.command("on")
def on_command(session: SessionName, port: Port = PORT) -> None:
    """Take a session back into the gateway's mode.

    Example: foveate gateway on claude-code-9a7a8db4ce1847563
    """
    _switch(session, "on", port)


def _switch(session: str, what: str, port: int) -> None:
    with reported():
        found = ask("POST", port, f"/sessions/{session}/{what}")
        typer.echo(f"{found['session']}: {found['mode']}")


def ask(method: str, port: int, path: str, *, timeout: float = 30.0) -> dict[str, Any]:
    """The answer of the gateway that runs at a port."""
    import httpx

    try:
        with httpx.Client(trust_env=False, timeout=timeout) as client:
            response = client.request(method, f"http://{HOST}:{port}/api/gateway{path}")
        response.raise_for_status()
        found = response.json()
    except (httpx.HTTPError, ValueError) as error:
        raise ConfigError(
            f"no gateway answers at `--port` {port} ({type(error).__name__}); start one with `foveate gateway`"
        ) from error
    if not isinstance(found, dict):
        raise FoveateError(f"what answers at `--port` {port} is no gateway")
    return found
