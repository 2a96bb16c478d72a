"""Models of a command: which one is meant, and what asks it."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from foveate.errors import ConfigError

if TYPE_CHECKING:
    from foveate.agents.driver import Driver

LOCAL: Final = "local"
VARIABLE: Final = "FOVEATE_MODEL"
# What the small local model can read at once, and what is left of it for the request.
LOCAL_WINDOW: Final = 8192
LOCAL_BUDGET: Final = 6_500

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


@contextmanager
def driver_for(name: str) -> Generator[Driver, None, None]:
    """What asks a model; a local one runs as long as it is needed."""
    try:
        # Frameworks take seconds to import, and only some commands need them.
        from foveate.integrations.pydantic_ai import PydanticAIDriver, local_model_driver
    except ImportError as error:
        raise ConfigError(f"agents need {error.name}, which is not installed; pip install 'foveate[work]'") from error
    if name != LOCAL:
        yield PydanticAIDriver(name)
        return
    # It says itself what is missing, if something is.
    from foveate.integrations.llama_cpp import start

    # Half of the processors: with all of them it gets slower as soon as anything else runs.
    running = start(window=LOCAL_WINDOW, threads=max(1, (os.cpu_count() or 1) // 2))
    yield local_model_driver(running.address, running.name)
