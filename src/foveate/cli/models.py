"""Models of a command: which one is meant."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from foveate.errors import ConfigError
from foveate.integrations.models import LOCAL, VARIABLE

ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="A model as pydantic-ai names it, such as anthropic:claude-sonnet-4-5, or `local` (env FOVEATE_MODEL).",
        show_default=False,
    ),
]


def wanted_model(name: str | None) -> str | None:
    """The model that is given, or that the environment names."""
    return name or os.environ.get(VARIABLE) or None


def chosen_model(name: str | None) -> str:
    """The model that is meant; an error if there is none."""
    chosen = wanted_model(name)
    if not chosen:
        raise ConfigError(
            f"no model was chosen; give `--model`, such as openai:gpt-5.1 (its key in the environment), or "
            f"`--model {LOCAL}` for the small model on this machine, or set {VARIABLE}"
        )
    return chosen
