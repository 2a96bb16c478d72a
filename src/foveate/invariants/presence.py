"""Rules on what must be seen in every request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from foveate.log.items import Item

if TYPE_CHECKING:
    from foveate.invariants.rules import Facts


# A line with its digest around it; below that, even an open error yields to what must be sent.
ROOM_FOR_ERROR: Final = 200


def _as_said(item: Item | None, facts: Facts) -> bool:
    return item is not None and item.is_as_said and item.message.parts == facts.said(item.order).parts


ROOM_FOR_FRAMING: Final = 400


class _Standing:
    """A rule that appending cannot break: it is checked when the arrangement changes."""

    def cuts(self, items: Sequence[Item]) -> set[int]:
        """A cut is judged by what it takes away, not by where it is."""
        return set(range(len(items) + 1))


class FramingPresent(_Standing):
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


class PinnedVerbatim(_Standing):
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


class NewestInput(_Standing):
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


class ErrorsVisible(_Standing):
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
