"""`foveate compile`: the request that a model would get."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from foveate.cli.output import AsJson, print_json, print_text
from foveate.cli.source import FormatName, Lenient, OfSource, Sample, Source, material, reported
from foveate.cli.store import StorePlace, SystemPlace
from foveate.cli.views import Budget, Config, How, Model, PolicyName, last_view, view_before
from foveate.compile.compiled import CompiledContext
from foveate.wire.formats import FORMATS


class Target(StrEnum):
    """What `compile` can print."""

    openai = "openai"
    openai_compatible = "openai-compatible"
    openai_responses = "openai-responses"
    anthropic = "anthropic"
    gemini = "gemini"
    pydantic_ai = "pydantic-ai"
    langchain = "langchain"
    text = "text"
    json = "json"


To = Annotated[
    Target | None,
    typer.Option(
        "--to",
        "-t",
        help="The format of a provider or framework; text: to read; json: with numbers. [default: openai]",
        show_default=False,
    ),
]
Replay = Annotated[
    bool | None,
    typer.Option(
        "--replay/--at-once",
        help="Compile before each recorded response, as the agent did, or once. [default: once; with a step, each]",
        show_default=False,
    ),
]


def compile_command(
    source: Source = None,
    budget: Budget = None,
    to: To = None,
    model: Model = None,
    policy: PolicyName = None,
    at: Annotated[
        int | None,
        typer.Option("--at", metavar="STEP", min=1, help="The request that this response answered; else the next one."),
    ] = None,
    replay: Replay = None,
    as_json: AsJson = False,
    session: OfSource = None,
    format: FormatName = "auto",
    lenient: Lenient = False,
    sample: Sample = False,
    config: Config = None,
    store: StorePlace = None,
    system: SystemPlace = None,
) -> None:
    """Print the request that a model would get for these messages, within a budget.

    Nothing is written: a session of a store stays as it is.

    Example: foveate compile chat.json --budget 8000 --to text
    """
    with (
        reported(),
        material(
            source, sample=sample, session=session, format=format, lenient=lenient, store=store, system=system
        ) as found,
    ):
        how = How(budget=budget, model=model, policy=policy, config=config)
        if at is None:
            view = last_view(found, how, replay=replay is True)
        else:
            view = view_before(found, how, at, replay=replay is not False)
        numbers = {
            "call": view.number,
            "strategy": view.strategy,
            "tokens": view.tokens,
            "budget": view.budget.limit if view.budget is not None else None,
            "predicted_cached": view.predicted_cached,
            "payload_sha256": view.payload_sha256,
        }
        print_request(view, to, numbers, as_json=as_json)


def print_request(view: CompiledContext, to: Target | None, numbers: dict[str, Any], *, as_json: bool = False) -> None:
    """Print a request as it was asked for; `numbers` go along in JSON."""
    match to:
        case Target.text if not as_json:
            print_text(view.to("text"))
        case Target.text | Target.json | None if as_json or to is Target.json:
            print_json({**numbers, "messages": view.to("openai")})
        case _:
            format = FORMATS[(to or Target.openai).value]
            # Plain data: what is printed needs no framework.
            request = format.lower(view.request)
            print_json({**numbers, "format": format.name, "request": request} if as_json else request)
