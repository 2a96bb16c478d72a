"""Difference: what one call shows that another does not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from nicegui.element import Element

from foveate.compile.difference import Change, Difference
from foveate.errors import ConfigError
from foveate.web.desk import Desk, Seen
from foveate.web.frame import back_from, framed, headed, loaded
from foveate.web.links import to_call, to_log, to_session
from foveate.web.phrases import counted, tokens
from foveate.web.pieces import Words, box, button, chip, empty, link, notice, say
from foveate.web.replaying import Lens

_FIRST: Final = 40


def difference_page(desk: Desk, session: str, numbers: tuple[int, int], lens: Lens | None) -> None:
    """Build the page."""
    first, second = sorted(numbers)

    async def fetch() -> tuple[Seen, Difference]:
        if first == second:
            raise ConfigError(f"both calls are {first}; compare a call with another one")
        seen = await desk.seen(session, lens)
        return seen, await asyncio.to_thread(seen.difference, first, second)

    with framed("Sessions"):
        loaded(
            fetch,
            lambda found: _show(*found),
            "Computing both requests again",
            back=partial(back_from, desk.store, session),
        )


def _show(seen: Seen, made: Difference) -> None:
    session, lens = seen.info.session_id, seen.lens
    crumbs = [("Sessions", "/"), (seen.info.title or session, to_session(session, lens))]
    grown = made.tokens_after - made.tokens_before
    lede = f"{made.tokens_before:,} → {made.tokens_after:,} tokens, {'+' if grown >= 0 else '−'}{abs(grown):,}"
    with headed(f"Call {made.first:,} → call {made.second:,}", lede, crumbs), box("row"):
        link(f"Call {made.first:,}", to_call(session, made.first, lens), "button")
        link(f"Call {made.second:,}", to_call(session, made.second, lens), "button")
    with box("stack"):
        same = (
            f"{counted(made.shared, 'message')} and {tokens(made.shared_tokens)} tokens at the beginning are the same."
        )
        if made.broke_at is None:
            notice(
                f"{same} The later call only goes on where the earlier one ended.",
                "tip",
                strong="The cached prefix held.",
            )
        else:
            notice(f"{same} {made.why}.", "warn", strong=f"The cached prefix broke at {made.broke_at}.")
        for title, changes in (("Entered", made.entered), ("Left", made.left), ("Changed its form", made.changed)):
            _changes(title, changes, session, lens)
        if not (made.entered or made.left or made.changed):
            empty("No difference", "Both requests show the same messages in the same form.")


def _changes(title: str, changes: Sequence[Change], session: str, lens: Lens | None) -> None:
    if not changes:
        return
    before, after = sum(one.tokens_before for one in changes), sum(one.tokens_after for one in changes)
    with box("card"):
        with box("title"):
            Words("h2", title)
            say(f"{counted(len(changes), 'message')}, {tokens(before)} → {tokens(after)} tokens", "soft small")
        with box("scroll") as place:
            _listed(place, changes, _FIRST, session, lens)


def _listed(place: Element, changes: Sequence[Change], most: int, session: str, lens: Lens | None) -> None:
    place.clear()
    columns = (
        ("Message", ""),
        ("Role", "hide-narrow"),
        ("Form", ""),
        ("Tokens", "number"),
        ("Text", ""),
        ("Why", "hide-narrow"),
    )
    with place:
        with box("list", "table"):
            with box(tag="thead"), box(tag="tr"):
                for name, kind in columns:
                    Words("th", name, kind)
            with box(tag="tbody"):
                for one in changes[:most]:
                    _row(one, session, lens)
        if len(changes) > most:
            with box("row").style("justify-content: center; padding: 10px"):
                button(f"Show all {len(changes):,}", partial(_listed, place, changes, len(changes), session, lens))


def _row(change: Change, session: str, lens: Lens | None) -> None:
    forms = [fate for fate in (change.before, change.after) if fate is not None]
    sizes = [
        f"{size:,}"
        for fate, size in ((change.before, change.tokens_before), (change.after, change.tokens_after))
        if fate is not None
    ]
    with box(tag="tr"):
        with box(tag="td"):
            link(change.id, to_log(session, change.id, lens), "mono")
        Words("td", change.role, "hide-narrow soft")
        with box(tag="td"), box("row").style("gap: 4px"):
            for fate in dict.fromkeys(forms):
                chip(fate, fate=fate)
        Words("td", " → ".join(sizes), "number")
        Words("td", change.preview, "small").style("overflow-wrap: anywhere; min-width: 180px")
        Words("td", change.why, "small soft hide-narrow").style("overflow-wrap: anywhere; max-width: 340px")
