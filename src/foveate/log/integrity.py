"""Integrity: what is structurally wrong with a log, by code; nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from foveate.log.messages import Message, ToolResult, says_something

Code = Literal[
    "orphan_tool_return",
    "orphan_tool_call",
    "non_adjacent_tool_return",
    "duplicate_tool_call_id",
    "duplicate_tool_return",
    "duplicate_message_id",
    "empty_content",
    "invalid_message_payload",
]

CODES: Final[dict[Code, str]] = {
    "orphan_tool_return": "a result whose call is not in the log",
    "orphan_tool_call": "a call that never got a result",
    "non_adjacent_tool_return": "a result that does not follow its call at once",
    "duplicate_tool_call_id": "two calls with the same id",
    "duplicate_tool_return": "a second result for the same call",
    "duplicate_message_id": "two messages with the same id",
    "empty_content": "a message that says nothing",
    "invalid_message_payload": "a message of a shape that no role can have",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One defect: its code, where it is, and what it is about; positions count from 1."""

    code: Code
    position: int
    message: str
    text: str


_Found = Callable[[Code, str], Finding]


def findings(messages: Iterable[Message]) -> Iterator[Finding]:
    """The defects of a log in the order they show; calls without a result come last."""
    watch = _Watch()
    for position, message in enumerate(messages, start=1):
        yield from watch.take(position, message)
    yield from watch.unanswered()


class _Watch:
    """What was seen of a log so far."""

    def __init__(self) -> None:
        # By call id: where the newest call with it stands, in which message, and how many of its calls got a result.
        self._calls: dict[str, list[tuple[int, str]]] = {}
        self._answered: dict[str, int] = {}
        self._ids: set[str] = set()
        self._batch: set[str] = set()

    def take(self, position: int, message: Message) -> Iterator[Finding]:
        def found(code: Code, text: str) -> Finding:
            return Finding(code=code, position=position, message=message.id, text=text)

        if message.id:
            if message.id in self._ids:
                yield found("duplicate_message_id", f"another message is called {message.id!r}")
            self._ids.add(message.id)
        misfit = _misfit(message)
        if misfit is not None:
            yield found("invalid_message_payload", misfit)
        elif message.role == "tool":
            yield from self._result(message, found)
        else:
            yield from self._said(position, message, found)

    def unanswered(self) -> Iterator[Finding]:
        """The calls that never got a result."""
        waiting = [
            (position, name, call_id)
            for call_id, calls in self._calls.items()
            for position, name in calls[self._answered.get(call_id, 0) :]
        ]
        for position, name, call_id in sorted(waiting):
            yield Finding(
                code="orphan_tool_call", position=position, message=name, text=f"call {call_id!r} has no result"
            )

    def _said(self, position: int, message: Message, found: _Found) -> Iterator[Finding]:
        self._batch = set()
        for call in message.calls:
            if call.id in self._calls:
                yield found("duplicate_tool_call_id", f"another call has the id {call.id!r}")
            self._calls.setdefault(call.id, []).append((position, message.id))
            self._batch.add(call.id)
        if not any(says_something(part) for part in message.parts):
            yield found("empty_content", f"{message.role} message without content")

    def _result(self, message: Message, found: _Found) -> Iterator[Finding]:
        result = message.result
        call_id = result.call_id if result is not None else ""
        if call_id not in self._calls:
            yield found("orphan_tool_return", f"no call {call_id!r} was made")
            return
        if self._answered.get(call_id, 0) >= len(self._calls[call_id]):
            yield found("duplicate_tool_return", f"call {call_id!r} has a result already")
            return
        self._answered[call_id] = self._answered.get(call_id, 0) + 1
        if call_id not in self._batch:
            yield found("non_adjacent_tool_return", f"something was said between call {call_id!r} and its result")


def _misfit(message: Message) -> str | None:
    results = sum(isinstance(part, ToolResult) for part in message.parts)
    if message.role == "tool":
        return None if results == 1 else f"a tool message with {results} results instead of one"
    if results:
        return f"{message.role} message with a tool result in it"
    if message.calls and message.role != "assistant":
        return f"{message.role} message with a tool call in it"
    return None
