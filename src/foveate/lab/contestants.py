"""Contestants: what takes part in a replay, fed a session message by message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from foveate.budget.profiles import ModelProfile
from foveate.lab.chat import Chat
from foveate.lab.result import PolicyKind
from foveate.log.messages import Message


class Measure(Protocol):
    """Says how many tokens chat messages have."""

    def of(self, message: Chat, /) -> int: ...

    def total(self, messages: Iterable[Chat], /) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a contestant is told when a session begins.

    Args:
        system: the system prompt, "" if there is none.
        tools: tool definitions that go along with every request.
        budget: the most tokens a request may have, tools and system prompt included; None for no limit.
        reserved: tokens of the budget that tools take.
        sizes: the tokens of messages.
        profile: prices and cache rules of the model.
        compactions: the recorded agent's own, as the number of messages before each and the text it put in their place.

    """

    system: str = ""
    tools: tuple[dict[str, Any], ...] = ()
    budget: int | None = None
    reserved: int = 0
    sizes: Measure
    profile: ModelProfile | None = None
    compactions: tuple[tuple[int, str], ...] = ()

    @property
    def room(self) -> int | None:
        """What the budget leaves for messages, the system prompt among them."""
        return None if self.budget is None else max(1, self.budget - self.reserved)

    def head(self) -> list[Chat]:
        """The system prompt as a message, if there is one."""
        return [{"role": "system", "content": self.system}] if self.system else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What came in since the last call, as chat messages and as messages of the log, one for one."""

    chats: Sequence[Chat]
    messages: Sequence[Message]
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A request, system prompt first, and what its maker knows of it.

    Args:
        chats: its messages.
        fates: tokens of the messages by what became of them; None if its maker does not know.
        marks: indices of messages that carry a cache mark; None leaves it to the cache.
        names: how the log calls each message, "" where it has no name there.
        recallable: places in the log of messages that the request names as something to be recalled.

    """

    chats: list[Chat]
    fates: dict[str, int] | None = None
    marks: tuple[int, ...] | None = None
    names: Sequence[str] = ()
    recallable: frozenset[int] = field(default_factory=frozenset)


Feed = Callable[[Step], Made]
"""Takes what came in, gives the request for the next call; a `BudgetError` refuses to make one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A policy by name; `start` begins a session.

    One that is not bounded knows no budget and is never held to it. The requests of one that `was_sent` are the
    recorded agent's own: what the log tells of their tokens counts, not what is simulated.
    """

    name: str
    kind: PolicyKind
    description: str
    start: Callable[[Opening], Feed]
    is_bounded: bool = True
    was_sent: bool = False
