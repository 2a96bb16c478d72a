"""The driver: what sends a compiled request to a model and brings its answer back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from foveate.errors import FoveateError
from foveate.wire.format import Request

OnText = Callable[[str], None]
"""Told each piece of text as the model writes it."""


class DriverError(FoveateError):
    """A model could not be asked, or did not answer; what was said before is in the log."""


class WindowError(DriverError):
    """A request was longer than the model's window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The form of an agent's result: a tool of the request, which the model calls once to finish."""

    name: str
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered: a message in any format that a session takes, and what the provider counted."""

    message: object
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None


class Driver(Protocol):
    """One request to a model, and its answer; the loop around it is the agent's."""

    @property
    def name(self) -> str:
        """The model that is asked."""
        ...

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: OnText | None = None) -> Reply:
        """Send a request as it is; `schema` names the tool that ends the work, if there is one.

        Raises `DriverError`.
        """
        ...
