"""A server as people start it, and a browser that looks at it and lets nothing else be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Route

PATIENCE = 60_000


@dataclass
class Looking:
    """One page of the app in a browser, with all it complained of and all it asked others for."""

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def at(self, path: str) -> Page:
        """Open a page and wait until what it is about is there."""
        self.page.goto(self.address + path)
        self.settled()
        return self.page

    def settled(self) -> None:
        """Wait until nothing is on its way any more."""
        self.page.wait_for_selector("#content > *")
        self.page.wait_for_function("document.querySelectorAll('.waiting').length === 0")

    def see(self, selector: str, **options: Any) -> Locator:
        """What a selector finds, once it is there to be seen."""
        found = self.page.locator(selector, **options).first
        found.wait_for()
        return found

    def listen(self) -> None:
        """Keep a record of errors, and refuse each request that leaves the server."""
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.route("**/*", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def _asked(self, route: Route) -> None:
        url = route.request.url
        if url.startswith((self.address, "data:", "blob:")):
            route.continue_()
        else:
            self.elsewhere.append(url)
            route.abort()


@contextmanager
def looking(browser: Browser, address: str, **options: Any) -> Iterator[Looking]:
    """A fresh page of a server; it must have complained of nothing and asked nobody else."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    look = Looking(context.new_page(), address)
    look.listen()
    try:
        yield look
    finally:
        context.close()
    assert look.complaints == []
    assert look.elsewhere == []
