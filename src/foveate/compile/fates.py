"""Fates: what became of a message of the log in one request, by which pass, at which call, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from foveate.log.events import Body, CallRecorded, Placed, ReductionRecorded
from foveate.log.items import Fate, Item, Line

# Of a message that left with a digest that stood for it, and of 0.1's reductions.
_LAST_RESORT: Final = "truncate"


class MessageFate(NamedTuple):
    """What became of one message.

    `item` shows it or stands for it. Where it only stands for it, `lines` are what it has of the message. `call` is the
    one at which that was decided.
    """

    fate: Fate
    by: str
    why: str
    call: int | None = None
    item: Item | None = None
    lines: tuple[Line, ...] | None = None


class _Evicting(NamedTuple):
    """A reduction that took items out: the ids that it kept, the place up to which it went, the pass for each item."""

    call: int
    kept: set[str]
    last: int
    by: dict[str, str]


class Placements:
    """At which call each item was placed, and at which one an item was left behind, event by event."""

    def __init__(self, position: Callable[[str], int | None]) -> None:
        self.calls: dict[str, int] = {}
        self._position = position
        self._evicting: list[_Evicting] = []
        self._waiting: list[ReductionRecorded] = []

    def take(self, body: Body) -> None:
        """Take the next event."""
        if isinstance(body, ReductionRecorded):
            self._waiting.append(body)
        elif isinstance(body, CallRecorded):
            self.close(body.number)

    def close(self, call: int) -> None:
        """Know that the reductions since the last call were made for this one."""
        for reduction in self._waiting:
            if not reduction.behind:
                # What is done behind something that stays takes nothing out.
                self._evicting.append(self._taken_out(reduction, call))
            self.calls.update((one.item.id, call) for one in reduction.layout if isinstance(one, Placed))
        self._waiting = []

    def left_behind(self, message_id: str, order: int) -> tuple[int | None, str]:
        """The call at which a message that nothing stands for was dropped, and the pass that did it."""
        return next(
            (
                (one.call, one.by.get(message_id, one.by[""]))
                for one in self._evicting
                if one.last >= order and message_id not in one.kept
            ),
            (None, _LAST_RESORT),
        )

    def _taken_out(self, reduction: ReductionRecorded, call: int) -> _Evicting:
        last = self._position(reduction.last)
        # Which items it took, 0.1 did not say.
        by = {"": next(iter(reduction.dropped), _LAST_RESORT)}
        by.update((one, name) for name, ids in reduction.dropped.items() for one in ids)
        kept = {entry.item.id if isinstance(entry, Placed) else entry.id for entry in reduction.layout}
        return _Evicting(call, kept, last if last is not None else -1, by)


class RequestFates:
    """What became of the messages of a log in a request with some items, of which mending left some messages out.

    With `only`, the place of a message, it can be asked about that one alone.
    """

    def __init__(
        self, items: Sequence[Item], left_out: Mapping[str, str], placements: Placements, *, only: int | None = None
    ) -> None:
        self._left_out = left_out
        self._placements = placements
        self._shown = {item.id: item for item in items}
        self._recalled = {line.source: item for item in items if item.fate == "recalled" for line in item.lines}
        self._digests: dict[int, Item] = {}
        for item in items:
            for first, last in item.covers:
                if only is None:
                    self._digests.update(dict.fromkeys(range(first, last + 1), item))
                elif first <= only <= last:
                    self._digests[only] = item
        self._lines: dict[str, dict[str, list[Line]]] = {}

    def of(self, message_id: str, order: int) -> MessageFate:
        """What became of the message at a place of the log."""
        shown, digest = self._shown.get(message_id), self._digests.get(order)
        if shown is not None:
            call = self._placements.calls.get(shown.id) if shown.fate != "verbatim" else None
            return MessageFate(shown.fate, shown.by, shown.why, call, shown)
        if message_id in self._left_out:
            return MessageFate("dropped", "repair", self._left_out[message_id])
        recalled = self._recalled.get(message_id)
        if recalled is not None and (digest is None or message_id not in self._lines_of(digest)):
            lines = tuple(line for line in recalled.lines if line.source == message_id)
            return MessageFate("recalled", recalled.by, recalled.why, None, recalled, lines)
        if digest is not None:
            return self._folded(message_id, digest)
        call, by = self._placements.left_behind(message_id, order)
        return MessageFate("dropped", by, "no room; can be recalled", call)

    def _folded(self, message_id: str, digest: Item) -> MessageFate:
        known = self._lines_of(digest)
        lines = tuple(known.get(message_id, ()))
        call = self._placements.calls.get(digest.id)
        if lines:
            # Quoted lines are the work of distilling, the others of whoever made the digest.
            by = "distil" if all(line.kind == "evidence" for line in lines) else digest.by
            return MessageFate("folded", by, f"{len(lines)} line(s) of it stand in a digest", call, digest, lines)
        if any(line.kind == "summary" for line in known.get("", ())):
            return MessageFate("summarised", digest.by, "a summary stands for it", call, digest, ())
        why = "no line of it was worth its tokens; can be recalled"
        return MessageFate("dropped", digest.by, why, call, digest, ())

    def _lines_of(self, digest: Item) -> dict[str, list[Line]]:
        """The lines of a digest by the message they came from."""
        found = self._lines.get(digest.id)
        if found is None:
            found = self._lines[digest.id] = {}
            for line in digest.lines:
                found.setdefault(line.source, []).append(line)
        return found
