"""Evidence: the lines of messages that left the projection, findable by the entities in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, NamedTuple

from foveate.log.items import Item
from foveate.log.messages import Message, Text, ToolCall, ToolResult
from foveate.log.semantics import argument_texts
from foveate.views.entities import entities

# An entity that is everywhere is no news; the newest places of it are enough.
_PLACES: Final = 12
_REMEMBERED: Final = 2_048
# Names that no evicted line had for so long are not asked for any more.
_ENTITIES: Final = 20_000
_LONG: Final = 200
_SEGMENT: Final = re.compile(r".{1,160}(?=[\s,;])|.{1,160}")
_MAX_TEXT: Final = 400_000


class EvidenceLine(NamedTuple):
    """A line of a message with the entities in it."""

    order: int
    part: int
    text: str
    entities: tuple[str, ...]


class EvidenceIndex:
    """Where the entities of evicted messages stood, newest places first to be found."""

    __slots__ = ("_read", "frontier", "places_of", "staying")

    def __init__(self) -> None:
        # Of the messages before `frontier` only those `staying` are still shown as they were said.
        self.frontier = 0
        self.staying: frozenset[int] = frozenset()
        self.places_of: dict[str, list[tuple[int, int]]] = {}
        self._read: dict[int, list[EvidenceLine]] = {}

    def lines(self, message: Message, order: int) -> list[EvidenceLine]:
        """The lines of a message that name something."""
        found = self._read.get(order)
        if found is None:
            found = self._read[order] = list(evidence_lines(message, order))
        return found

    def add_evicted(self, before: list[Item], after: Iterable[Item], said: Callable[[int], Message], room: int) -> None:
        """Index the messages that stood in `before` and not in `after`, newest first, up to `room` characters."""
        staying = frozenset(item.order for item in after if not item.is_digest and item.fate == "verbatim")
        evicted = [
            item.order
            for item in before
            if not item.is_digest and item.order not in staying and not self.is_evicted(item.order)
        ]
        first = len(evicted)
        while first and room > 0:
            first -= 1
            room -= size_of(said(evicted[first]))
        self.staying = staying
        self.frontier = max([self.frontier, *(item.order + 1 for item in before)])
        for order in evicted[first:]:
            self._index(self.lines(said(order), order))
        # A memo of what was read lately; all of it would double the log.
        for order in list(islice(self._read, max(0, len(self._read) - _REMEMBERED))):
            del self._read[order]

    def _index(self, lines: list[EvidenceLine]) -> None:
        for line in lines:
            for entity in line.entities:
                # Behind all others: the first is the one longest not seen.
                places = self.places_of.pop(entity, [])
                places.append((line.order, line.part))
                del places[:-_PLACES]
                self.places_of[entity] = places
        for entity in list(islice(self.places_of, max(0, len(self.places_of) - _ENTITIES))):
            del self.places_of[entity]

    def is_evicted(self, order: int) -> bool:
        """Whether the message at a position of the log was evicted before."""
        return order < self.frontier and order not in self.staying

    def places(self, entity: str) -> list[tuple[int, int]]:
        """The newest places (message position, line) at which an evicted message names an entity."""
        return self.places_of.get(entity, [])


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
    if any(len(line) > _LONG for line in lines):
        lines = [segment for line in lines for segment in (_SEGMENT.findall(line) if len(line) > _LONG else [line])]
    return lines
