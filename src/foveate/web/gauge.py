"""The gauge of a chat: how full its window was at the last call, and of what."""

from __future__ import annotations

from typing import NamedTuple

from foveate.inspect.calls import last_call, section_tokens
from foveate.inspect.fates import window_parts
from foveate.store import SessionInfo, Store
from foveate.web.fates import colour
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
    last = last_call(store, info)
    if last is None:
        return None
    sections = section_tokens(store, info, [last]).get(last.number, 0)
    return Gauge(last.number, last.tokens, last.budget, window_parts(last.fates, last.framing_tokens, sections))


def show_gauge(session: str, gauge: Gauge) -> None:
    """The gauge as a bar, with what it is made of below."""
    with box("gauge"):
        meter(gauge.parts, gauge.limit or gauge.tokens)
        with box("legend"):
            of = f" of {gauge.limit:,} tokens, {share(gauge.tokens, gauge.limit)}" if gauge.limit else " tokens"
            link(f"{gauge.tokens:,}{of}", to_call(session, gauge.call)).props["title"] = "the last call"
            for name, size in gauge.parts.items():
                Words("span", f"{name} {size:,}").style(f"--fate: {colour(name)}")
