"""The rules: what each asks of a request, what they need to know, and how they are asked together."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from foveate.log.items import Item
from foveate.log.messages import Message, Thinking, is_empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the rules must know besides the items; `room` are the tokens still free, by our own count like the items."""

    said: Callable[[int], Message]
    pins: dict[str, None] = field(default_factory=dict)
    newest_input: str | None = None
    first_input: str | None = None
    leading: int = 0
    open_errors: frozenset[str] = frozenset()
    known_ids: Container[str] = frozenset()
    tokens: int = 0
    limit: int | None = None
    room: int | None = None
    # What of the last turns this compile had to leave as it was.
    kept: frozenset[str] = frozenset()


class Invariant(Protocol):
    """One rule.

    `check` names what is broken; items before `start` were checked before and have not changed since.
    """

    @property
    def name(self) -> str: ...

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]: ...


class Pairing:
    """Providers refuse a request in which a call or a result stands alone."""

    name = "pairing"

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        """Follow the batches from `start`, which is never inside one."""
        waiting: dict[str, None] = {}
        for index in range(start, len(items)):
            message = items[index].message
            result = message.result
            if message.role == "tool":
                if result is None:
                    yield f"{items[index].id} is a tool message without a result"
                elif result.call_id not in waiting:
                    yield f"{items[index].id} answers {result.call_id!r}, which is not waiting"
                else:
                    del waiting[result.call_id]
                continue
            if waiting:
                yield f"{', '.join(waiting)} unanswered before {items[index].id}"
            waiting = {call.id: None for call in message.calls}
        if waiting:
            yield f"{', '.join(waiting)} unanswered at the end"


class IdsUnique:
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


class NothingEmpty:
    """A message that is not a tool result has content."""

    name = "nothing empty"

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        for index in range(start, len(items)):
            message = items[index].message
            if message.role != "tool" and is_empty(message):
                yield f"{items[index].id} has no content"


class ThinkingWhole:
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


class WithinBudget:
    """The request is within its budget."""

    name = "within budget"

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        if facts.limit is not None and facts.tokens > facts.limit:
            yield f"{facts.tokens} tokens in a budget of {facts.limit}"


def _was_said(part: Thinking, order: int, facts: Facts) -> bool:
    """Whether a message has a part, or one of the messages of the assistant right before it that only reason."""
    while part not in facts.said(order).parts:
        order -= 1
        if order < 0 or facts.said(order).role != "assistant" or not is_empty(facts.said(order)):
            return False
    return True


# A line with its digest around it; below that, even an open error yields to what must be sent.
ROOM_FOR_ERROR: Final = 200


def _as_said(item: Item | None, facts: Facts) -> bool:
    return item is not None and item.is_as_said and item.message.parts == facts.said(item.order).parts


ROOM_FOR_FRAMING: Final = 400


class FramingPresent:
    """Leading system messages are verbatim, and at least the beginning of the first request stands where room is."""

    name = "framing present"

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        if start:
            return
        present = {item.id: item for item in items}
        for order in range(facts.leading):
            message = facts.said(order)
            if message.text.strip() and not _as_said(present.get(message.id), facts):
                yield f"system message {message.id} is not shown verbatim"
        if any(item.fate == "summarised" and item.message.role == "system" for item in items):
            # The summary beside the instructions says what is asked for; in a chat of months that is not the first.
            return
        roomy = facts.room is None or facts.room >= ROOM_FOR_FRAMING
        if roomy and not facts.open_errors and facts.first_input is not None and facts.first_input not in present:
            yield f"the first request {facts.first_input} is not shown"


class PinnedVerbatim:
    """Pinned messages are shown as they were said."""

    name = "pinned verbatim"

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        if start or not facts.pins:
            return
        present = {item.id: item for item in items}
        for pin in facts.pins:
            item = present.get(pin)
            if item is None:
                yield f"{pin} is missing"
            elif item.fate != "repaired" and not _as_said(item, facts):
                yield f"{pin} is {item.fate}, not as it was said"


class NewestInput:
    """The newest user message is verbatim, with nothing of an older turn behind it."""

    name = "newest input"

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        if facts.newest_input is None:
            return
        oldest_behind: Item | None = None
        for index in range(len(items) - 1, -1, -1):
            if start and index < start:
                return
            item = items[index]
            if item.id == facts.newest_input:
                if not _as_said(item, facts):
                    yield f"{item.id} is {item.fate}, not as it was said"
                if oldest_behind is not None and oldest_behind.order < item.order:
                    yield f"{oldest_behind.id} is older than {item.id} but stands behind it"
                return
            if oldest_behind is None or item.order < oldest_behind.order:
                oldest_behind = item
        yield f"{facts.newest_input} is missing"


class ErrorsVisible:
    """A failed execution is visible until it is resolved: itself, or a line of a digest if there is room for one."""

    name = "errors visible"

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        if start or not facts.open_errors:
            return
        if facts.room is not None and facts.room < ROOM_FOR_ERROR:
            return
        shown = {item.id for item in items}
        shown.update(line.source for item in items for line in item.lines)
        for message_id in sorted(facts.open_errors - shown):
            yield f"open error {message_id} is not shown"


INVARIANTS: tuple[Invariant, ...] = (
    Pairing(),
    IdsUnique(),
    NothingEmpty(),
    ThinkingWhole(),
    FramingPresent(),
    PinnedVerbatim(),
    NewestInput(),
    ErrorsVisible(),
    WithinBudget(),
)


def broken(
    items: Sequence[Item], facts: Facts, start: int = 0, *, rules: Iterable[Invariant] = INVARIANTS
) -> tuple[str, ...]:
    """What is wrong with the items, each with the name of its rule."""
    return tuple(f"{rule.name}: {what}" for rule in rules for what in rule.check(items, facts, start))
