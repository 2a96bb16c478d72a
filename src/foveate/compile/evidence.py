"""Evidence: the lines of messages that left the projection, findable by the entities in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Final, NamedTuple, TypeVar

from foveate.compile.working_set import entities
from foveate.log.items import Item
from foveate.log.messages import Message, Text, ToolCall, ToolResult
from foveate.log.semantics import argument_texts

# An entity that is everywhere is no news; the newest places of it are enough.
_PLACES: Final = 12
_REMEMBERED: Final = 2_048
# Names that no evicted line had for so long are not asked for any more.
_ENTITIES: Final = 20_000
_LONG: Final = 200
_SEGMENT: Final = re.compile(r".{1,160}(?=[\s,;])|.{1,160}")
_MAX_TEXT: Final = 400_000

Place = tuple[int, int]
"""Where a line stands: the position of its message in the log, and its number there."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class EvidenceLine(NamedTuple):
    """A line of a message with the entities in it."""

    order: int
    part: int
    text: str
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceIndex:
    """Where the entities of evicted messages stood, newest places first to be found."""

    # Of the messages before `frontier` only those `staying` are still shown as they were said.
    frontier: int = 0
    staying: frozenset[int] = frozenset()
    places_of: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    # A memo of the lines of messages read lately, which nothing but the message decides: whoever reads one may add it.
    read: dict[int, tuple[EvidenceLine, ...]] = field(default_factory=dict, repr=False, compare=False)

    def lines(self, message: Message, order: int) -> tuple[EvidenceLine, ...]:
        """The lines of a message that name something."""
        found = self.read.get(order)
        if found is None:
            found = self.read[order] = tuple(evidence_lines(message, order))
        return found

    def with_evicted(
        self, before: Sequence[Item], after: Iterable[Item], said: Callable[[int], Message], room: int
    ) -> EvidenceIndex:
        """The index with the messages that stood in `before` and not in `after`, the newest `room` characters."""
        staying = frozenset(item.order for item in after if item.is_as_said)
        evicted = [
            item.order
            for item in before
            if not item.is_digest and item.order not in staying and not self.is_evicted(item.order)
        ]
        first = len(evicted)
        while first and room > 0:
            first -= 1
            room -= size_of(said(evicted[first]))
        lines = {order: self.lines(said(order), order) for order in evicted[first:]}
        return EvidenceIndex(
            frontier=max([self.frontier, *(item.order + 1 for item in before)]),
            staying=staying,
            places_of=_with_places(self.places_of, lines.values()) if lines else self.places_of,
            # Those of all messages would double the log.
            read=_newest(self.read.copy(), _REMEMBERED),
        )

    def without(self, order: int) -> EvidenceIndex:
        """The index without the lines of a message that says something else by now; they are read anew."""
        if order not in self.read:
            return self
        return replace(self, read={one: lines for one, lines in self.read.items() if one != order})

    def is_evicted(self, order: int) -> bool:
        """Whether the message at a position of the log was evicted before."""
        return order < self.frontier and order not in self.staying

    def places(self, entity: str) -> tuple[Place, ...]:
        """The newest places (message position, line) at which an evicted message names an entity."""
        return self.places_of.get(entity, ())


def _with_places(
    places_of: Mapping[str, tuple[Place, ...]], lines: Iterable[tuple[EvidenceLine, ...]]
) -> dict[str, tuple[Place, ...]]:
    places_by_entity = dict(places_of)
    for line in chain.from_iterable(lines):
        for entity in line.entities:
            # Behind all others: the first is the one longest not seen.
            places = places_by_entity.pop(entity, ())
            places_by_entity[entity] = (*places, (line.order, line.part))[-_PLACES:]
    return _newest(places_by_entity, _ENTITIES)


def _newest(entries: dict[Key, Value], most: int) -> dict[Key, Value]:
    for key in list(islice(entries, max(0, len(entries) - most))):
        del entries[key]
    return entries


def evidence_lines(message: Message, order: int) -> Iterable[EvidenceLine]:
    """The lines of a message that name something, in order."""
    for part, text in enumerate(text_lines(message)):
        if len(text) > 3:
            named = entities(text)
            # A line that is nothing but a name says nothing of it.
            if named and len(text.strip()) > len(named[0]) + 3:
                yield EvidenceLine(order, part, text, tuple(dict.fromkeys(named)))


def size_of(message: Message) -> int:
    """The characters of a message, words and calls."""
    size = 0
    for part in message.parts:
        match part:
            case Text(text=text) | ToolResult(text=text):
                size += len(text)
            case ToolCall(arguments=arguments):
                size += len(arguments)
            case _:
                continue
    return size


def text_lines(message: Message) -> list[str]:
    """A message as lines of text a reader would see; long lines are cut into segments."""
    lines: list[str] = []
    for part in message.parts:
        match part:
            case Text(text=text) | ToolResult(text=text):
                lines += text[:_MAX_TEXT].splitlines()
            case ToolCall(arguments=arguments):
                lines += argument_texts(arguments[:_MAX_TEXT]).splitlines()
            case _:
                continue
    if max(map(len, lines), default=0) > _LONG:
        lines = [segment for line in lines for segment in (_SEGMENT.findall(line) if len(line) > _LONG else [line])]
    return lines
