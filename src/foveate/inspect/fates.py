"""Fates as a store records them: the parts of a window, and what became of one message over all calls.

What became of every message in one call is in its `Explanation`, for every surface.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import select

from foveate.compiler.compiled import CompiledContext
from foveate.inspect.event_rows import event_rows, read_partly
from foveate.log.events import Kept, Placed, RecallRecorded, ReductionRecorded
from foveate.log.items import Item, Line
from foveate.log.partial import Fields, PartialReader
from foveate.store import SessionInfo, Store
from foveate.store.schema import context_summaries, events

PARTS: Final = (
    "system",
    "sections",
    "folded",
    "summarised",
    "recalled",
    "superseded",
    "masked",
    "trimmed",
    "repaired",
    "rewritten",
    "verbatim",
    "dropped",
    "other",
)
"""What a window is made of, in the order of a chart from the bottom up: what stands beside the history, then fates."""

_ITEM: Final[Fields] = {
    Placed: ("item",),
    Item: ("id", "fate", "by", "why", "covers", "lines"),
    Line: ("source", "order"),
}
_reductions: Final = PartialReader(ReductionRecorded, {ReductionRecorded: ("layout", "last", "behind"), **_ITEM})
_recalls: Final = PartialReader(RecallRecorded, {RecallRecorded: ("item",), **_ITEM})
_placed_ids: Final = PartialReader(
    ReductionRecorded, {ReductionRecorded: ("layout",), Placed: ("item",), Item: ("id",)}
)
_REDUCTIONS_AT_ONCE: Final = 40


def window_parts(fates: Mapping[str, tuple[int, int]], framing: int, sections: int) -> dict[str, int]:
    """The tokens of a window by what they are; fates that only another version knows are one part, "other"."""
    beside = min(framing, sections)
    parts = Counter({"system": framing - beside, "sections": beside})
    for fate, (_, size) in fates.items():
        parts[fate if fate in PARTS else "other"] += size
    return {name: parts[name] for name in PARTS if parts[name] > 0}


# --- the forms of one call -----------------------------------------------------------------------------------------


def calls_of_reduced_items(store: Store, info: SessionInfo, view: CompiledContext, number: int) -> dict[str, int]:
    """The call at which each reduced item of call `number` got its form, found from the newest reductions back."""
    wanted = {item.id for item in view.items if item.fate != "verbatim"}
    found: dict[str, int] = {}
    table = context_summaries
    with store.reading() as connection:
        query = select(table.c.seq).where(table.c.session == info.key, table.c.call == number)
        end = connection.scalar(query) or 0
    while wanted:
        rows = _reductions_before(store, info, end)
        for row in rows:
            layout = read_partly(info, row, _placed_ids).layout
            placed = wanted & {one.item.id for one in layout if not isinstance(one, Kept)}
            if placed:
                found |= dict.fromkeys(placed, _call_after(store, info, row.seq))
                wanted -= placed
            end = row.seq
        if len(rows) < _REDUCTIONS_AT_ONCE:
            break
    return found


def _reductions_before(store: Store, info: SessionInfo, end: int) -> Sequence[Any]:
    """The newest reductions before an event, newest first."""
    mine = (events.c.session == info.key) & (events.c.kind == "reduction_recorded") & (events.c.seq < end)
    query = select(events.c.seq).where(mine).order_by(events.c.seq.desc()).limit(_REDUCTIONS_AT_ONCE)
    with store.reading() as connection:
        numbers = list(connection.scalars(query))
    return event_rows(store, info, ("reduction_recorded",), events.c.seq.in_(numbers))[::-1]


def _call_after(store: Store, info: SessionInfo, seq: int) -> int:
    table = context_summaries
    query = select(table.c.call).where(table.c.session == info.key, table.c.seq > seq)
    with store.reading() as connection:
        return connection.scalar(query.order_by(table.c.seq).limit(1)) or 0


# --- of one message, in all calls ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FatePeriod:
    """Calls from `first` to `last` in which a message had one fate; `item` stands for it if it is not shown itself."""

    first: int
    last: int
    fate: str
    by: str = ""
    why: str = ""
    item: str = ""


def fate_history(store: Store, info: SessionInfo, message_id: str, position: int) -> list[FatePeriod]:
    """The fates of a message, oldest first, from the recorded reductions; empty if no call came after it."""
    with store.reading() as connection:
        said = connection.scalar(
            select(events.c.seq).where(events.c.session == info.key, events.c.position == position)
        )
        if said is None:
            return []
        table = context_summaries
        query = select(table.c.seq, table.c.call).where(table.c.session == info.key, table.c.seq > said)
        calls = [(row.seq, row.call) for row in connection.execute(query.order_by(table.c.seq))]
    if not calls:
        return []
    history = _FateHistory(message_id, position, store.reader(info).position, calls)
    for row in event_rows(store, info, ("reduction_recorded", "recall_recorded"), events.c.seq > said):
        if row.kind == "recall_recorded":
            history.take_recall(row.seq, read_partly(info, row, _recalls).item)
        else:
            history.take_reduction(row.seq, read_partly(info, row, _reductions))
    return list(history.periods())


class _FateHistory:
    """Follows a message through the reductions after it."""

    def __init__(
        self,
        message_id: str,
        position: int,
        position_of: Callable[[str], int | None],
        calls: Sequence[tuple[int, int]],
    ) -> None:
        self._id = message_id
        self._position = position
        self._position_of = position_of
        self._seqs = [seq for seq, _ in calls]
        self._calls = [call for _, call in calls]
        # The form from each call on; a recall holds for one call.
        self._changes: list[tuple[int, FatePeriod]] = [(0, _period("verbatim"))]
        self._recalls: list[tuple[int, FatePeriod]] = []
        # The digests in the window that stand for it.
        self._digests: dict[str, FatePeriod] = {}

    def take_recall(self, seq: int, item: Item) -> None:
        """Note that passages of messages were shown again."""
        place = bisect_right(self._seqs, seq)
        if place < len(self._calls) and any(line.source == self._id for line in item.lines):
            self._recalls.append((place, _period("recalled", item)))

    def take_reduction(self, seq: int, body: ReductionRecorded) -> None:
        """Note what a reduction made of the message."""
        place = bisect_right(self._seqs, seq)
        if place >= len(self._calls):
            return
        before = self._changes[-1][1]
        after = self._after(body, before)
        if after != before:
            self._changes.append((place, after))

    def periods(self) -> Iterator[FatePeriod]:
        """The periods in order."""
        ends = [place for place, _ in self._changes[1:]] + [len(self._calls)]
        found = [(first, end, one) for (first, one), end in zip(self._changes, ends, strict=True) if end > first]
        found += [(place, place + 1, one) for place, one in self._recalls]
        for first, end, one in sorted(found, key=lambda each: each[0]):
            yield FatePeriod(
                first=self._calls[first],
                last=self._calls[end - 1],
                fate=one.fate,
                by=one.by,
                why=one.why,
                item=one.item,
            )

    def _after(self, body: ReductionRecorded, before: FatePeriod) -> FatePeriod:
        """The form after a reduction; of several digests that stand for the message the last one counts."""
        digests: dict[str, FatePeriod] = {}
        for entry in body.layout:
            if isinstance(entry, Kept):
                if entry.id == self._id:
                    return before
                if entry.id in self._digests:
                    digests[entry.id] = self._digests[entry.id]
            elif entry.item.id == self._id:
                return _period(entry.item.fate, entry.item)
            elif any(first <= self._position <= last for first, last in entry.item.covers):
                digests[entry.item.id] = self._digested(entry.item)
        self._digests = digests
        if digests:
            return list(digests.values())[-1]
        last = self._position_of(body.last)
        if body.behind or last is None or last < self._position:
            # It stands outside what was rearranged, or was rewritten in place.
            return before
        return before if before.fate == "dropped" and not before.item else _period("dropped")

    def _digested(self, item: Item) -> FatePeriod:
        lines = sum(bool(line.source) and line.order == self._position for line in item.lines)
        why = f"{lines} of its lines stand in a digest" if lines > 1 else "a line of it stands in a digest"
        none = "no line of it was worth its tokens; it can be recalled"
        fate = "folded" if lines else "dropped"
        return FatePeriod(first=0, last=0, fate=fate, by=item.by, why=why if lines else none, item=item.id)


def _period(fate: str, item: Item | None = None) -> FatePeriod:
    by, why = (item.by, item.why) if item is not None else ("", "")
    return FatePeriod(first=0, last=0, fate=fate, by=by, why=why)
