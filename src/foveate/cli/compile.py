"""`foveate compile`: the request that a model would get."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from foveate.cli.output import print_json
from foveate.cli.source import Budget, Model, PolicyName, Replay, Sample, Source, compiled, reported
from foveate.compiler.compiled import CompiledContext


class Target(StrEnum):
    """What `compile` can print."""

    openai = "openai"
    text = "text"
    json = "json"


def compile_command(
    source: Source = None,
    budget: Budget = None,
    to: Annotated[
        Target, typer.Option("--to", "-t", help="openai: the messages; text: to read; json: with numbers.")
    ] = Target.openai,
    model: Model = None,
    policy: PolicyName = None,
    sample: Sample = False,
    replay: Replay = False,
) -> None:
    """Print the request that a model would get for these messages, within a budget.

    Example: foveate compile chat.json --budget 8000 --to text
    """
    with reported():
        view = compiled(source, sample=sample, budget=budget, model=model, policy=policy, replay=replay)
        numbers = {
            "call": view.number,
            "strategy": view.strategy,
            "tokens": view.tokens,
            "budget": view.budget.limit if view.budget is not None else None,
            "predicted_cached": view.predicted_cached,
            "payload_sha256": view.payload_sha256,
        }
        print_request(view, to, numbers)


def print_request(view: CompiledContext, to: Target, numbers: dict[str, Any]) -> None:
    """Print a request as it was asked for; `numbers` go along in JSON."""
    match to:
        case Target.text:
            typer.echo(view.to("text"))
        case Target.openai:
            print_json(view.to("openai"))
        case Target.json:
            print_json({**numbers, "messages": view.to("openai")})
