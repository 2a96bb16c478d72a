"""Exchanges: a history that is dropped or masked from its old end, calls and results together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from foveate.lab.chat import Chat, calls_of, content_of


class Window:
    """The part of a session that a baseline still sends.

    Args:
        head: what stands before the history in every request.
        size: the tokens of a message.
        unmasked: how many of the newest tool outputs `mask` leaves alone.

    """

    def __init__(self, head: Sequence[Chat], size: Callable[[Chat], int], *, unmasked: int) -> None:
        self._head = list(head)
        self._size = size
        self._keep = unmasked
        self._exchanges: list[_Exchange] = []
        self._unmasked: list[tuple[_Exchange, str]] = []
        self._head_tokens = sum(map(size, self._head))
        self._masked_tokens = 0
        self.tokens = self._head_tokens

    def append(self, messages: Sequence[Chat]) -> None:
        """Take in messages; those no provider would accept in their place are left out."""
        for message in messages:
            if message["role"] == "tool":
                self._answer(message)
            elif _says_something(message) or calls_of(message):
                self._exchanges.append(_Exchange(_with_distinct_calls(message)))
                self.tokens += self._sized(self._exchanges[-1])

    def drop_to(self, limit: float) -> None:
        """Drop the oldest exchanges; the newest stays even if it alone is too large."""
        gone = 0
        while self.tokens > limit and gone < len(self._exchanges) - 1:
            exchange = self._exchanges[gone]
            self.tokens -= self._sized(exchange)
            self._masked_tokens -= sum(self._size(exchange.results[call_id]) for call_id in exchange.masked)
            gone += 1
        dropped = set(self._exchanges[:gone])
        self._exchanges = self._exchanges[gone:]
        self._unmasked = [entry for entry in self._unmasked if entry[0] not in dropped]

    def mask(self) -> None:
        """Put a note in the place of every tool output but the newest."""
        last = len(self._unmasked) - self._keep
        for exchange, call_id in self._unmasked[: max(0, last)]:
            old = exchange.results[call_id]
            lines = len(content_of(old).splitlines())
            self._replace(exchange, {**old, "content": f"[output omitted: {lines} lines]"})
            exchange.masked.add(call_id)
            self._masked_tokens += self._size(exchange.results[call_id])
        del self._unmasked[: max(0, last)]

    def request(self, *notes: Chat) -> list[Chat]:
        """The messages to send; `notes` stand before the history."""
        body = (message for exchange in self._exchanges for message in exchange.messages())
        return [*self._head, *notes, *body]

    def fates(self) -> dict[str, int]:
        """The tokens that are sent as they were said, and those of notes in the place of others."""
        masked = self._masked_tokens
        return {"verbatim": self.tokens - self._head_tokens - masked, "masked": masked}

    def _answer(self, message: Chat) -> None:
        call_id = message.get("tool_call_id", "")
        exchange = next((e for e in reversed(self._exchanges) if call_id in e.results), None)
        # A result whose call is gone, was never recorded or has a result cannot be sent.
        if exchange is not None and call_id not in exchange.answered:
            exchange.answered.add(call_id)
            self._replace(exchange, message)
            self._unmasked.append((exchange, call_id))

    def _replace(self, exchange: _Exchange, message: Chat) -> None:
        call_id = message["tool_call_id"]
        self.tokens += self._size(message) - self._size(exchange.results[call_id])
        exchange.results[call_id] = message

    def _sized(self, exchange: _Exchange) -> int:
        return sum(map(self._size, exchange.messages()))


@dataclass(slots=True, eq=False)
class _Exchange:
    """A message, or a response together with the results of its calls; kept or dropped whole."""

    opening: Chat
    results: dict[str, Chat] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    masked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for item in calls_of(self.opening):
            self.results[item["id"]] = {
                "role": "tool",
                "tool_call_id": item["id"],
                "content": "[no result recorded]",
            }

    def messages(self) -> list[Chat]:
        return [self.opening, *self.results.values()]


def _says_something(message: Chat) -> bool:
    content = message.get("content")
    has_media = isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") != "text" for part in content
    )
    return has_media or bool(content_of(message).strip())


def _with_distinct_calls(message: Chat) -> Chat:
    distinct = {item["id"]: item for item in calls_of(message)}
    if len(distinct) == len(calls_of(message)):
        return message
    return {**message, "tool_calls": list(distinct.values())}
