"""Logging in and out in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bench.serving import serving
from playwright.sync_api import Browser

pytest_plugins = ["tests.browser"]

TOKEN = "correct-horse-battery-staple"  # noqa: S105  it opens nothing else


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("login") / "a.db", "--token", TOKEN) as found:
        yield found


def test_a_person_logs_in_and_out(browser: Browser, address: str) -> None:
    """The token is in no address; logging out is one click from every page, and ends what other tabs have open."""
    with browser.new_context() as context:
        page, seen = context.new_page(), list[str]()
        page.on("framenavigated", lambda frame: seen.append(frame.url))
        page.goto(f"{address}/settings?x=1")
        page.get_by_label("Access token").fill("wrong")
        page.click("button:has-text('Log in')")
        page.wait_for_selector("[role=alert]:has-text('That is not the token.')")
        page.get_by_label("Access token").fill(TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:has-text('Settings')")
        other = context.new_page()
        with other.expect_websocket() as opened:
            other.goto(f"{address}/templates")
        page.click(".bar button:has-text('Log out')")
        page.get_by_label("Access token").wait_for()
        if not opened.value.is_closed():
            opened.value.wait_for_event("close")
        other.reload()
        other.get_by_label("Access token").wait_for()

    assert seen[0] == f"{address}/settings?x=1" and f"{address}/login" in seen
    assert not [url for url in seen if TOKEN in url]
