"""Rules on single messages and on sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from foveate.log.items import Item
from foveate.log.messages import Media, Opaque, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from foveate.invariants.rules import Facts


class _Anywhere:
    def cuts(self, items: Sequence[Item]) -> set[int]:
        """A cut cannot break this rule."""
        return set(range(len(items) + 1))


class IdsUnique(_Anywhere):
    """No two items and no two calls of a request share an id."""

    name = "ids unique"

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        seen: set[str] = set()
        for index in range(start, len(items)):
            item = items[index]
            for one in (item.id, *(f"call {call.id}" for call in item.message.calls)):
                if one in seen or one in facts.known_ids:
                    yield f"{one!r} occurs twice"
                seen.add(one)


class NothingEmpty(_Anywhere):
    """A message that is not a tool result has content."""

    name = "nothing empty"

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        for index in range(start, len(items)):
            message = items[index].message
            if message.role != "tool" and not any(_content(part) for part in message.parts):
                yield f"{items[index].id} has no content"


class ThinkingWhole(_Anywhere):
    """Thinking blocks are untouched or removed whole: their signature binds the text.

    Reasoning that came as messages of its own stands with what the assistant said next.
    """

    name = "thinking whole"

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        for index in range(start, len(items)):
            item = items[index]
            shown = [part for part in item.message.parts if isinstance(part, Thinking)]
            if shown and any(not _was_said(part, item.order, facts) for part in shown):
                yield f"{item.id} shows thinking that was never said"


class WithinBudget(_Anywhere):
    """The request is within its budget."""

    name = "within budget"

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        if facts.limit is not None and facts.tokens > facts.limit:
            yield f"{facts.tokens} tokens in a budget of {facts.limit}"


def _was_said(part: Thinking, order: int, facts: Facts) -> bool:
    """Whether a message has a part, or one of the messages of the assistant right before it that only reason."""
    while part not in facts.said(order).parts:
        order -= 1
        if order < 0 or facts.said(order).role != "assistant" or any(_content(one) for one in facts.said(order).parts):
            return False
    return True


def _content(part: object) -> bool:
    match part:
        case Text(text=text):
            return bool(text.strip())
        case ToolCall() | Media() | Opaque() | ToolResult():
            return True
        case _:
            return False
