"""What a client or framework is about to send: the whole history, and what stands around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from foveate.session.records import SystemPrompt
from foveate.threads.matching import item_key


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """A request before it is compiled.

    Attributes:
        format: the wire format of `items`, such as "anthropic".
        items: the whole history, as the framework has it.
        keys: one for each item; items with the same key are the same to the model.
        system, tools, response_format: sent along; they count against the budget.
        model: the name of the model that is asked.
        thread: the thread it belongs to; None lets its history tell.

    """

    format: str
    items: Sequence[Any]
    keys: tuple[str, ...]
    system: SystemPrompt | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    response_format: Mapping[str, Any] | None = None
    model: str | None = None
    thread: str | None = None
    framing_key: str = field(init=False)

    def __post_init__(self) -> None:
        framing = [self.system, list(self.tools), self.response_format, self.model]
        object.__setattr__(self, "framing_key", item_key(framing))

    def in_thread(self, name: str) -> HistoryRequest:
        """The request in a thread with a name."""
        return replace(self, thread=name)
