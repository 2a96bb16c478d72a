"""Biography: which calls saw a message, and in which form, from the reductions that were recorded since it was said."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlalchemy import select

from foveate.store import SessionInfo, Store
from foveate.store.schema import context_summaries, events

_KINDS: Final = ("reduction_recorded", "recall_recorded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Calls from `first` to `last` in which a message had one form; `item` stands for it if it is not shown itself."""

    first: int
    last: int
    fate: str
    by: str = ""
    why: str = ""
    item: str = ""


def seen_by(store: Store, info: SessionInfo, message_id: str, position: int) -> list[Stretch]:
    """The life of a message, oldest first; empty if no call came after it."""
    with store.reading() as connection:
        said = connection.scalar(
            select(events.c.seq).where(events.c.session == info.key, events.c.position == position)
        )
        if said is None:
            return []
        table = context_summaries
        query = select(table.c.seq, table.c.call).where(table.c.session == info.key, table.c.seq > said)
        calls = [(row.seq, row.call) for row in connection.execute(query.order_by(table.c.seq))]
        mine = (events.c.session == info.key) & (events.c.seq > said) & events.c.kind.in_(_KINDS)
        rows = connection.execute(
            select(events.c.seq, events.c.kind, events.c.body).where(mine).order_by(events.c.seq)
        ).all()
    if not calls:
        return []
    reader = store.reader(info)
    life = _Life(message_id, position, reader.position, calls)
    for row in rows:
        life.take(row)
    return list(life.stretches())


class _Item(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    fate: str = "verbatim"
    by: str = ""
    why: str = ""
    covers: tuple[tuple[int, int], ...] = ()
    lines: tuple[_Line, ...] = ()


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    source: str = ""
    order: int = 0


class _Kept(msgspec.Struct, frozen=True, tag="kept"):
    id: str


class _Placed(msgspec.Struct, frozen=True, tag="placed"):
    item: _Item


class _Reduced(msgspec.Struct, frozen=True, kw_only=True):
    layout: tuple[_Kept | _Placed, ...]
    last: str


class _Recalled(msgspec.Struct, frozen=True, kw_only=True):
    item: _Item


_reduced: Final = msgspec.json.Decoder(_Reduced).decode
_recalled: Final = msgspec.json.Decoder(_Recalled).decode


class _Life:
    """Follows a message through the reductions since it was said."""

    def __init__(self, message_id: str, position: int, places: Any, calls: Sequence[tuple[int, int]]) -> None:
        self._id = message_id
        self._position = position
        self._places = places
        self._seqs = [seq for seq, _ in calls]
        self._calls = [call for _, call in calls]
        # What is shown from which call on.
        self._turns: list[tuple[int, Stretch]] = [(0, _stretch("verbatim"))]
        self._recalls: list[tuple[int, Stretch]] = []
        # The digests in the window that stand for it.
        self._digests: dict[str, Stretch] = {}

    def take(self, row: Any) -> None:
        place = bisect_right(self._seqs, row.seq)
        if place >= len(self._calls):
            return
        if row.kind == "recall_recorded":
            item = _recalled(row.body).item
            if any(line.source == self._id for line in item.lines):
                self._recalls.append((place, _stretch("recalled", item)))
            return
        before = self._turns[-1][1]
        after = self._after(_reduced(row.body), before)
        if after != before:
            self._turns.append((place, after))

    def stretches(self) -> Iterator[Stretch]:
        ends = [place for place, _ in self._turns[1:]] + [len(self._calls)]
        found = [(first, end, one) for (first, one), end in zip(self._turns, ends, strict=True) if end > first]
        found += [(place, place + 1, one) for place, one in self._recalls]
        for first, end, one in sorted(found, key=lambda each: each[0]):
            yield Stretch(
                first=self._calls[first],
                last=self._calls[end - 1],
                fate=one.fate,
                by=one.by,
                why=one.why,
                item=one.item,
            )

    def _after(self, body: _Reduced, before: Stretch) -> Stretch:
        """The form a message has after a reduction; of several digests that stand for it the last one counts."""
        digests: dict[str, Stretch] = {}
        for entry in body.layout:
            match entry:
                case _Kept(id=kept) if kept == self._id:
                    return before
                case _Kept(id=kept) if kept in self._digests:
                    digests[kept] = self._digests[kept]
                case _Placed(item=item) if item.id == self._id:
                    return _stretch(item.fate, item)
                case _Placed(item=item) if self._is_covered(item):
                    digests[item.id] = self._covered(item)
                case _:
                    continue
        self._digests = digests
        if digests:
            return list(digests.values())[-1]
        last = self._places(body.last)
        if last is None or last < self._position:
            # It stands behind what was rearranged.
            return before
        return before if before.fate == "dropped" and not before.item else _stretch("dropped")

    def _covered(self, item: _Item) -> Stretch:
        lines = sum(bool(line.source) and line.order == self._position for line in item.lines)
        why = f"{lines} of its lines stand in a digest" if lines > 1 else "a line of it stands in a digest"
        none = "no line of it was worth its tokens; it can be recalled"
        return Stretch(
            first=0, last=0, fate="folded" if lines else "dropped", by=item.by, why=why if lines else none, item=item.id
        )

    def _is_covered(self, item: _Item) -> bool:
        return any(first <= self._position <= last for first, last in item.covers)


def _stretch(fate: str, item: _Item | None = None) -> Stretch:
    by, why = (item.by, item.why) if item is not None else ("", "")
    return Stretch(first=0, last=0, fate=fate, by=by, why=why)
