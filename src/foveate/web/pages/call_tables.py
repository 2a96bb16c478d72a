"""The calls of a session in tables: what the chart shows, for those who would rather read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nicegui import ui
from nicegui.element import Element

from foveate.inspect.call_history import HistoryEntry
from foveate.inspect.calls import Reduction
from foveate.web.chart import TRIGGERS, trigger_colour
from foveate.web.desk import Seen
from foveate.web.fates import colour
from foveate.web.links import to_call
from foveate.web.phrases import money, share, tokens
from foveate.web.pieces import Words, box, button, chip, entry, link, say

_LISTED: Final = 30


def compactions(seen: Seen) -> None:
    """The calls that were compacted, and why."""
    made = [(call, one) for call in seen.history.entries for one in call.call.reductions]
    if not made:
        return
    with box("card"):
        with box("title"):
            Words("h2", "Compactions")
            say("Everything else was sent as the call before, and more.", "soft small")
        with box("scroll") as place:
            _listed(place, seen, made, _LISTED)


def _listed(place: Element, seen: Seen, made: Sequence[tuple[HistoryEntry, Reduction]], most: int) -> None:
    place.clear()
    with place:
        with box("list", "table"):
            with box(tag="thead"), box(tag="tr"):
                for name, kind in (
                    ("Call", "number"),
                    ("Because", ""),
                    ("History", "number"),
                    ("Reason", ""),
                    ("Passes", "hide-narrow"),
                ):
                    Words("th", name, kind)
            with box(tag="tbody"):
                for call, one in list(made)[:most]:
                    _compaction(seen, call, one)
        if len(made) > most:
            with box("row").style("justify-content: center; padding: 10px"):
                button(f"Show all {len(made):,}", lambda: _listed(place, seen, made, len(made)))


def _compaction(seen: Seen, call: HistoryEntry, one: Reduction) -> None:
    with box(tag="tr"):
        with box("number", "td"):
            link(f"{call.number:,}", to_call(seen.info.session_id, call.number, seen.lens))
        with box(tag="td"):
            shown = Words("span", one.trigger, "chip dot").style(f"--fate: {trigger_colour(one.trigger)}")
            shown.props["title"] = TRIGGERS.get(one.trigger, ("", ""))[1]
        Words("td", f"{tokens(one.before)} → {tokens(one.after)}", "number")
        Words("td", one.reason)
        Words("td", ", ".join(one.passes), "hide-narrow soft")


def calls_table(seen: Seen) -> None:
    """All calls in numbers, some at a time."""
    with box("card"):
        with box("title"):
            Words("h2", "Calls")
            box("grow")

            def opened(given: str) -> None:
                if given.strip().isdigit():
                    ui.navigate.to(to_call(seen.info.session_id, seen.history.nearest(int(given)).number, seen.lens))

            entry("Go to call", "", opened, width="110px", number=True)
        with box("scroll") as place:
            _page_of_calls(place, seen, 0)


def _page_of_calls(place: Element, seen: Seen, first: int) -> None:
    calls = seen.history.entries
    columns = (
        ("Call", "number"), ("Turn", "number hide-narrow"), ("Tokens", "number"), ("Window", ""),
        ("Cached", "number"), ("Cost", "number hide-narrow"), ("Compaction", ""),
    )  # fmt: skip
    place.clear()
    with place:
        with box("list", "table"):
            with box(tag="thead"), box(tag="tr"):
                for name, kind in columns:
                    Words("th", name, kind)
            with box(tag="tbody"):
                for call in calls[first : first + _LISTED]:
                    _call_row(seen, call)
        if len(calls) > _LISTED:
            with box("row").style("justify-content: center; padding: 10px"):
                earlier = button("Earlier", lambda: _page_of_calls(place, seen, first - _LISTED), "quiet")
                say(f"{first + 1:,}–{min(first + _LISTED, len(calls)):,} of {len(calls):,}", "soft small")
                later = button("Later", lambda: _page_of_calls(place, seen, first + _LISTED), "quiet")
            for made, off in ((earlier, first == 0), (later, first + _LISTED >= len(calls))):
                if off:
                    made.props["disabled"] = True


def _call_row(seen: Seen, call: HistoryEntry) -> None:
    with box(tag="tr"):
        with box("number", "td"):
            link(f"{call.number:,}", to_call(seen.info.session_id, call.number, seen.lens))
        Words("td", f"{call.call.turn:,}", "number hide-narrow soft")
        Words("td", f"{call.call.tokens:,}", "number")
        with box(tag="td").style("min-width: 120px; width: 30%"):
            meter(call.parts, call.call.budget or call.call.tokens)
        Words("td", share(call.sent.cached, call.sent.tokens), "number")
        Words("td", money(call.sent.cost, seen.history.unit), "number hide-narrow")
        with box(tag="td"):
            for one in call.call.reductions:
                chip(one.trigger, "dot").style(f"--fate: {trigger_colour(one.trigger)}")


def meter(parts: dict[str, int], whole: int, kind: str = "") -> None:
    """A bar of what a window is made of, as wide as its budget."""
    with box(f"meter {kind}") as bar:
        bar.props["role"] = "img"
        bar.props["aria-label"] = ", ".join(f"{name} {size:,} tokens" for name, size in parts.items())
        for name, size in parts.items():
            piece = box().style(
                f"width: {100 * size / max(whole, sum(parts.values()), 1):.3f}%; background: {colour(name)}"
            )
            piece.props["title"] = f"{name}: {size:,} tokens"
