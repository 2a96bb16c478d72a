"""The gateway: sessions as they go on, each with what was sent and what Foveate would have sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from nicegui import ui

from foveate.gateway.gateway import Gateway
from foveate.gateway.status import status_of
from foveate.web.frame import framed, headed
from foveate.web.links import to_session
from foveate.web.pieces import Words, box, empty, facts, link, say

_SECONDS: Final = 2.0
_COLUMNS: Final = ("Session", "Mode", "Calls", "As the agent sent it", "As it was sent", "As Foveate has it")


def gateway_page(gateway: Gateway | None) -> None:
    """Build the page."""
    with framed("Gateway"):
        headed("Gateway", "Sessions of agents whose requests pass here, the newest call of each in tokens.")
        if gateway is None:
            empty("No gateway runs in this server", "Agents reach one at its own address.", command="foveate gateway")
            return
        place = box("stack")
        refresh = _refreshed(place, gateway)
        refresh()
        ui.timer(_SECONDS, refresh)


def _refreshed(place: Any, gateway: Gateway) -> Callable[[], None]:
    shown: dict[str, Any] = {}

    def refresh() -> None:
        found = status_of(gateway)
        if found == shown:
            return
        shown.clear()
        shown.update(found)
        place.clear()
        with place:
            _show(found)

    return refresh


def _show(found: dict[str, Any]) -> None:
    budget = f"{found['budget']:,} tokens a request" if found["budget"] else "the window of the model"
    with box("card padded"):
        counts = ", ".join(f"{count} {name}" for name, count in found["counts"].items())
        facts([("Mode", found["mode"]), ("Budget", budget), ("Requests", counts)])
    if not found["sessions"]:
        empty("No request has come by yet", "Start an agent through the gateway.", command="foveate run -- claude")
        return
    with box("card"), box("scroll"), box("list", "table"):
        with box(tag="thead"), box(tag="tr"):
            for name in _COLUMNS:
                Words("th", name)
        with box(tag="tbody"):
            for one in reversed(found["sessions"]):
                _row(one)
    say("A session's page shows each call; with a policy and a budget chosen there, as it would be.", "soft small")


def _row(one: dict[str, Any]) -> None:
    with box(tag="tr"):
        with box(tag="td"):
            link(one["session"], to_session(one["session"]), "mono")
        Words("td", one["mode"])
        for name in ("calls", "raw_tokens", "sent_tokens", "compiled_tokens"):
            Words("td", "" if one[name] is None else f"{one[name]:,}", "number")
