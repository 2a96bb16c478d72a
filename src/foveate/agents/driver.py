"""The driver: what sends a compiled request to a model and brings its answer back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from foveate.errors import FoveateError
from foveate.wire.format import Request

OnText = Callable[[str], None]
"""Told each piece of text as the model writes it."""
LONGEST_PAUSE: Final = 60.0
"""If a provider asks for a longer pause than this, its request fails."""


class DriverError(FoveateError):
    """A model could not be asked, or did not answer; what was said before is in the log."""


class WindowError(DriverError):
    """A request was longer than the model's window."""


class PassingError(DriverError):
    """A request failed for a reason that passes: sent again, it may succeed. `pause` is how long to wait at least."""

    def __init__(self, message: str, *, pause: float = 0.0) -> None:
        super().__init__(message)
        self.pause = pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The form of an agent's result: a tool of the request, which the model calls once to finish."""

    name: str
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered: a message in any format that a session takes, and what the provider counted.

    `usage` is the provider's or framework's own object, and goes to `Session.report_usage` as it is. A driver that has
    none gives numbers: `input_tokens` are all that was counted as input, cached or not.
    """

    message: object
    usage: object = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    # Of the input, what the provider wrote to its cache, which some charge more for.
    cache_write_tokens: int | None = None


class Driver(Protocol):
    """One request to a model, and its answer; the loop around it is the agent's.

    One that also has `alias` says by what name the user chose the model.
    """

    @property
    def name(self) -> str:
        """The model that is asked."""
        ...

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: OnText | None = None) -> Reply:
        """Send a request as it is, once; `schema` names the tool that ends the work, if there is one.

        Raises `DriverError`: a `PassingError` if the loop should send it again, a `WindowError` if it is too long.
        """
        ...


def alias_of(driver: Driver) -> str:
    """The name by which the user chose a model: an alias of foveate.toml, or else the model's own name."""
    alias = getattr(driver, "alias", None)
    return alias if isinstance(alias, str) and alias else driver.name
