"""Tools: what an agent may do besides answering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from foveate.log.messages import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool says to the model, and whether it did what it was asked."""

    text: str
    outcome: Outcome = "ok"


class Toolset(Protocol):
    """Some tools, each with its definition; whatever a model asks, it gets an answer."""

    @property
    def definitions(self) -> tuple[dict[str, Any], ...]:
        """The tools as OpenAI's chat API defines functions."""
        ...

    async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
        """Do what a call asks; what is wrong with it is said to the model, not raised."""
        ...
