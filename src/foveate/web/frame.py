"""The frame: what stands around every page, and what is shown while it comes or if it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Final, TypeVar

from nicegui import ui
from nicegui.element import Element

from foveate.api.failures import failure_of
from foveate.api.guard import LOGGED_IN
from foveate.chat.opening import is_chat
from foveate.errors import FoveateError
from foveate.store import SessionInfo, Store
from foveate.web.links import to_chat, to_log, to_next, to_session
from foveate.web.pieces import Words, box, button, link, notice, prose, waiting
from foveate.web.replaying import Lens

T = TypeVar("T")

PAGES: Final = {
    "Sessions": "/",
    "Chat": "/chat",
    "Templates": "/templates",
    "Lab": "/lab",
    "Knowledge": "/knowledge",
    "Work": "/work",
    "Settings": "/settings",
}
"""The pages that the bar leads to, by name."""


def dressed() -> None:
    """Have all pages wear the theme."""
    assets = files("foveate.web").joinpath("assets")
    ui.add_head_html(f"<script>{assets.joinpath('theme.js').read_text('utf-8')}</script>", shared=True)
    for name in ("theme.css", "chat.css"):
        ui.add_head_html(f"<style>{assets.joinpath(name).read_text('utf-8')}</style>", shared=True)


@contextmanager
def framed(active: str) -> Generator[Element, None, None]:
    """A page with the bar above it; what is made inside stands in its middle."""
    link("Skip to content", "#content", "skip")
    with box("bar", "header"):
        with link("", "/", "brand"):
            box(tag="i")
            Words("span", "Foveate")
        with box(tag="nav") as nav:
            nav.props["aria-label"] = "Pages"
            for name, target in PAGES.items():
                shown = link(name, target)
                if name == active:
                    shown.props["aria-current"] = "page"
        box("grow")
        switch = button("◐", kind="quiet")
        switch.props["aria-label"] = "Switch between light and dark"
        switch.props["title"] = "Light or dark"
        switch.on("click", js_handler="() => foveate.switchTheme()")
        _logout()
    with box("content", "main") as main:
        main.props["id"] = "content"
        yield main


def _logout() -> None:
    """A button to log out, for who has logged in."""
    request = ui.context.client.request
    if request.scope.get(LOGGED_IN):
        # A form, not a link: no other site can make a browser send it.
        with ui.element("form").props("method=post action=/logout"):
            Words("button", "Log out", "button")


def headed(title: str, lede: str = "", crumbs: Sequence[tuple[str, str]] = ()) -> Element:
    """The head of a page; what is put into it stands at its right."""
    with box("head") as head, box():
        if crumbs:
            with box("crumbs", "nav"):
                for name, target in crumbs:
                    with box(tag="span"):
                        link(name, target)
        Words("h1", title)
        if lede:
            prose("p", lede, "lede")
    return head


def session_tabs(info: SessionInfo, active: str, lens: Lens | None) -> None:
    """The pages about one session."""
    session = info.session_id
    pages = {
        "Timeline": to_session(session, lens),
        "Log": to_log(session, lens=lens),
        "Next call": to_next(session, lens),
    }
    if active == "Chat" or is_chat(info):
        pages["Chat"] = to_chat(session)
    with box("tabs", "nav") as nav:
        nav.props["aria-label"] = "Of this session"
        for name, target in pages.items():
            shown = link(name, target)
            if name == active:
                shown.props["aria-current"] = "page"


def loaded(
    fetch: Callable[[], Awaitable[T]],
    show: Callable[[T], object],
    text: str = "Loading",
    *,
    status: Callable[[], str] = str,
    back: Callable[[], Sequence[tuple[str, str]]] = tuple,
) -> Element:
    """A place that fills itself once the page is open; until then it says that it is on its way, and its status.

    If it fails, `back` are the places that one can go on from, with their addresses.
    """
    with box() as place:
        words = waiting(text)
        telling = ui.timer(0.7, lambda: words.set_text(status() or text))

    async def fill() -> None:
        try:
            found = await fetch()
            telling.cancel()
            place.clear()
            with place:
                show(found)
        except Exception as error:
            telling.cancel()
            place.clear()
            with place:
                failed(error)
                _ways(await asyncio.to_thread(back))
            if not isinstance(error, FoveateError):
                # A defect: whoever reads the server's log must find it there.
                raise

    ui.timer(0, fill, once=True)
    return place


def back_from(store: Store, session: str) -> list[tuple[str, str]]:
    """Where to go on from a page of a session that cannot be shown: to the session if it is there, and to all."""
    info = store.find(session)
    here = [(f"Session {session[:30]}", to_session(session))] if info is not None else []
    return [*here, ("All sessions", "/")]


def _ways(back: Sequence[tuple[str, str]]) -> None:
    if back:
        with box("row ways"):
            for name, target in back:
                link(name, target, "button")


def failed(error: Exception) -> None:
    """Say what went wrong, and what to do about it."""
    if isinstance(error, FoveateError):
        said = failure_of(error)
        remedy = f"{said.remedy[:1].upper()}{said.remedy[1:]}." if said.remedy else ""
        notice(remedy, "bad", strong=f"{said.error[:1].upper()}{said.error[1:]}.")
        return
    notice(
        f"{type(error).__name__}: {error}. The server's log says more; please report it.",
        "bad",
        strong="This is a defect of Foveate.",
    )
