"""A real browser for the tests of pages, cut off from any network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Visit:
    """One open page, with all it complained of and all it asked the network for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, path: Path) -> Page:
        """Open a file and wait until its plots are drawn."""
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-drawn]", timeout=30_000)
        return self.page

    def listen(self) -> None:
        """Keep a record of errors and refuse each request that leaves the machine."""
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.route("**/*", self._refused)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def _refused(self, route: Route) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            self.requests.append(route.request.url)
            route.abort()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a module; in CI a missing one is a failure."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        if os.environ.get("CI"):
            pytest.fail(f"no browser found: install one of {', '.join(NAMES)}")
        pytest.skip(f"no browser found: install one of {', '.join(NAMES)}")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def browser_page(browser: Browser) -> Iterator[Visit]:
    """A fresh page, 1280 wide, without network."""
    with _visiting(browser) as visit:
        yield visit


@pytest.fixture(scope="module")
def shared_page(browser: Browser) -> Iterator[Visit]:
    """A page like that for all tests of a module, which must leave it as it was."""
    with _visiting(browser) as visit:
        yield visit


@contextmanager
def _visiting(browser: Browser) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    visit = Visit(context.new_page())
    visit.listen()
    yield visit
    context.close()
