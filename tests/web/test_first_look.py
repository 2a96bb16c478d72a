"""What somebody sees who has just started a server: no vault, no notes, one chat from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from bench.serving import serving
from playwright.sync_api import Browser

from tests.chat.script import reply
from tests.scripted_model import scripted_model
from tests.web.serving import Looking, looking

pytest_plugins = ["tests.browser"]

TOKEN = "correct-horse-battery-staple"  # noqa: S105  it opens nothing else


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server without a vault, whose first page was looked at and whose API was then chatted with."""
    folder = tmp_path_factory.mktemp("first")
    with scripted_model(reply) as model, pytest.MonkeyPatch.context() as patch:
        for name, value in {**model.environment, "FOVEATE_MODEL": "openai-chat:scripted"}.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        with serving(folder / "a.db", "--system", str(folder / "system")) as found:
            yield found


@pytest.fixture
def look(browser: Browser, address: str) -> Iterator[Looking]:
    with looking(browser, address) as found:
        found.at("/")
        if httpx.get(f"{address}/api/sessions/hello").status_code == 404:
            httpx.post(f"{address}/api/chats/hello/messages", json={"text": "Hi"}, timeout=60).raise_for_status()
        yield found


def test_a_chat_from_elsewhere_is_on_the_page_chat(look: Looking) -> None:
    """Chats of the API and the terminal are listed beside those of the page, and lead to it from their session."""
    page = look.at("/chat")
    assert "Hi" in page.inner_text("nav[aria-label=Chats]")
    look.at("/session?id=hello")
    assert look.see(".tabs a:has-text('Chat')").get_attribute("href") == "/chat?id=hello"


def test_settings_say_who_answers_and_how_large_the_store_is(look: Looking) -> None:
    """As the page Chat says it, and with what is not yet in the store's own file; options are set as code."""
    told = look.at("/settings").inner_text("#content")
    assert "openai-chat:scripted: FOVEATE_MODEL says so" in told
    assert "0.0 MB" not in told
    assert "`" not in told
    assert "--vault" in look.page.locator("dd code").all_inner_texts()


def test_what_cannot_be_shown_leads_on(look: Looking) -> None:
    """From a call that is not there to its session, from a session that is not there to all of them."""
    look.at("/call?id=hello&n=99")
    look.see(".ways a:has-text('Session hello')").click()
    look.see("h1:has-text('Hi')")
    look.at("/log?id=nowhere")
    assert look.page.locator(".ways a").all_inner_texts() == ["All sessions"]
    assert "`" not in look.see(".notice.bad").inner_text()


def test_the_lab_begins_with_the_session_that_has_most_calls(look: Looking) -> None:
    """And of one call it draws no charts, for there is nothing to be seen in them."""
    page = look.at("/lab")
    assert page.locator(".checks").first.locator("label:has(:checked)").all_inner_texts() == ["sample"]
    look.at("/lab?id=hello")
    page.click("button:has-text('Compare')")
    look.see("h2:has-text('1 session, 1 call')")
    assert page.locator(".nicegui-echart").count() == 0
    assert page.locator("text=There was one call only").count() == 2


def test_empty_places_name_the_command_in_its_own_type(look: Looking) -> None:
    look.at("/knowledge")
    assert look.see(".empty pre.command").inner_text().startswith("foveate knowledge add")
    above = look.page.locator(".head").bounding_box()
    card = look.page.locator(".empty").bounding_box()
    assert above is not None and card is not None
    assert card["y"] - above["y"] - above["height"] >= 15


def test_the_page_that_is_open_is_in_sight_in_the_bar(browser: Browser, address: str) -> None:
    """On 390 pixels the bar is scrolled to it, and fades out where there is more."""
    with looking(browser, address, viewport={"width": 390, "height": 844}) as look:
        for path, more in (("/", "right"), ("/lab", "both"), ("/settings", "left")):
            page = look.at(path)
            place = page.locator(".bar nav a[aria-current=page]").bounding_box()
            assert place is not None and place["x"] >= 0 and place["x"] + place["width"] <= 390
            assert page.get_attribute(".bar nav", "data-more") == more
            assert "gradient" in page.evaluate("getComputedStyle(document.querySelector('.bar nav')).maskImage")


def test_a_server_with_a_token_asks_for_it(browser: Browser, tmp_path: Path) -> None:
    """A person gets a field, is told what is wrong, and comes to the page that was wanted; a program gets JSON."""
    with serving(tmp_path / "a.db", "--token", TOKEN) as address:
        page = browser.new_page()
        page.goto(f"{address}/settings?x=%3Cscript%3E")
        page.fill("input[name=token]", "wrong")
        page.click("button")
        assert "That is not the token" in page.inner_text("body")
        page.fill("input[name=token]", TOKEN)
        page.click("button")
        page.wait_for_selector("h1:has-text('Settings')")
        assert page.url == f"{address}/settings?x=%3Cscript%3E"
        page.context.close()
        assert httpx.get(f"{address}/").json()["error"] == "this server wants its token"
        browsed = httpx.get(f"{address}/api/sessions", headers={"accept": "text/html"})
        assert browsed.status_code == 401 and browsed.headers["content-type"] == "application/json"
