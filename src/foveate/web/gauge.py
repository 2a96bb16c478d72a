"""The gauge of a chat: how full its window was at the last call, and of what."""

from __future__ import annotations

from typing import NamedTuple

from foveate.budget.tokens import counter_for
from foveate.log.events import CallRecorded
from foveate.store import SessionInfo, Store
from foveate.store.housekeeping import call_summaries
from foveate.web.fates import COLOURS, FATES, colour
from foveate.web.links import to_call
from foveate.web.pages.call_tables import meter
from foveate.web.phrases import share
from foveate.web.pieces import Words, box, link


class Gauge(NamedTuple):
    """The last call in numbers: its tokens, of how many, and what they are."""

    call: int
    tokens: int
    limit: int | None
    parts: dict[str, int]


def gauge_of(store: Store, info: SessionInfo) -> Gauge | None:
    """The gauge of a session, from what was recorded of its last call; None if there was none."""
    last = call_summaries(store, info, offset=max(0, info.calls - 1), limit=1)
    if not last:
        return None
    one = last[0]
    framing = one.tokens - sum(size for _, size in one.fates.values())
    beside = min(framing, _sections(store, info, one.seq))
    parts = {"system": framing - beside, "sections": beside}
    for fate, (_, size) in one.fates.items():
        # A log is anybody's: a name that is none of ours has no colour of its own.
        name = fate if fate in COLOURS else "other"
        parts[name] = parts.get(name, 0) + size
    shown = {name: parts[name] for name in (*FATES, "dropped", "other") if parts.get(name, 0) > 0}
    return Gauge(one.number, one.tokens, one.budget, shown)


def show_gauge(session: str, gauge: Gauge) -> None:
    """The gauge as a bar, with what it is made of below."""
    with box("gauge"):
        meter(gauge.parts, gauge.limit or gauge.tokens)
        with box("legend"):
            of = f" of {gauge.limit:,} tokens, {share(gauge.tokens, gauge.limit)}" if gauge.limit else " tokens"
            link(f"{gauge.tokens:,}{of}", to_call(session, gauge.call)).props["title"] = "the last call"
            for name, size in gauge.parts.items():
                Words("span", f"{name} {size:,}").style(f"--fate: {colour(name)}")


def _sections(store: Store, info: SessionInfo, seq: int) -> int:
    """The tokens of what stood beside the history in a call."""
    for event in store.reader(info).events(seq, seq + 1):
        body = event.body
        if isinstance(body, CallRecorded):
            counter = counter_for(body.model)
            return sum(counter.count(f"## {one.name}\n{one.content}") for one in body.sections)
    return 0
