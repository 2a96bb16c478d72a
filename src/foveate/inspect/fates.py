"""Fates as a store records them: the parts of a window, and what became of one message over all calls.

What became of every message in one call is in its `Explanation`, for every surface.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import select

from foveate.compile.compiled import CompiledContext
from foveate.compile.fates import MessageFate, Placements, RequestFates
from foveate.compile.timeline import Projector
from foveate.inspect.event_rows import event_rows, read_partly
from foveate.log.context import AgentContext, Log
from foveate.log.events import CallRecorded, Kept, Placed, RecallRecorded, ReductionRecorded
from foveate.log.items import Item
from foveate.log.partial import PartialReader
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

_placed_ids: Final = PartialReader(
    ReductionRecorded, {ReductionRecorded: ("layout",), Placed: ("item",), Item: ("id",)}
)
_REDUCTIONS_AT_ONCE: Final = 40
_FOLDED_AT_ONCE: Final = 1_000


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
    """The fates of a message, oldest first, as the account of each call has them; empty if no call came after it.

    The log is folded once, without counting tokens, and looked at where something can have become of the message.
    """
    with store.reading() as connection:
        mine = (events.c.session == info.key) & (events.c.position == position)
        said = connection.scalar(select(events.c.seq).where(mine))
    if said is None:
        return []
    reader = store.reader(info)
    context, projector = AgentContext(session=info.session_id, log=Log(archive=reader)), Projector(_Uncounted())
    placements = Placements(lambda one: projector.projection(context).position(one))
    periods: list[FatePeriod] = []
    is_due = True
    for event in reader.events(0, info.events):
        body = event.body
        placements.take(body)
        if isinstance(body, CallRecorded) and event.seq > said:
            if is_due or body.override is not None:
                mender = projector.projection(context).mender
                items = mender.projected if body.override is None else ()
                fates = RequestFates(items, mender.left_out, placements, only=position)
                period = _period(body.number, message_id, fates.of(message_id, position))
            else:
                period = periods[-1]
            _extend(periods, period, body.number)
            # What was sent stays as it was sent, until a reduction; an override sends nothing of it.
            is_due = body.override is not None
        is_due = is_due or isinstance(body, ReductionRecorded | RecallRecorded)
        context = context.with_recorded([event])
        if context.length % _FOLDED_AT_ONCE == 0:
            projector.projection(context)
            context.log.release(context.length)
    return periods


class _Uncounted:
    """Counts nothing: what became of a message does not depend on how many tokens it has."""

    name = "uncounted"

    def count(self, text: str) -> int:
        """No tokens."""
        return 0

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """No tokens, for each."""
        return [0] * len(texts)


def _period(call: int, message_id: str, found: MessageFate) -> FatePeriod:
    item = found.item.id if found.item is not None and found.item.id != message_id else ""
    return FatePeriod(first=call, last=call, fate=found.fate, by=found.by, why=found.why, item=item)


def _extend(periods: list[FatePeriod], period: FatePeriod, call: int) -> None:
    """Add a call to the last period, if the message has the same fate in it, else begin another one."""
    last = periods[-1] if periods else None
    if last is not None and replace(last, first=period.first, last=period.last) == period:
        periods[-1] = replace(last, last=call)
    else:
        periods.append(period)
