"""A chat in a real browser while another process has locked the store: nothing is lost, and nothing has to be done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.serving import serving
from playwright.sync_api import Browser

from foveate.log.events import DiagnosticRecorded, Event
from foveate.web.held import Held, notice_of
from tests.scripted_model import scripted_model, text
from tests.store.locking import locked
from tests.web.serving import Looking, looking

pytest_plugins = ["tests.browser"]

LOCKED = (
    "Saved to a file for now: another process has locked the store. It will be written as soon as the store is free."
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("locked")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """A server whose chats are answered by a script."""
    with scripted_model(lambda payload: text(f"answer {len(payload['messages'])}")) as model:
        environment = {**model.environment, "FOVEATE_MODEL": "openai-chat:scripted"}
        with serving(folder / "a.db", "--system", str(folder / "system"), environment=environment) as address:
            yield address


@pytest.fixture
def look(browser: Browser, address: str) -> Iterator[Looking]:
    with looking(browser, address) as found:
        yield found


def say(look: Looking, words: str) -> None:
    """Type something, press Enter, and wait until it is answered."""
    page = look.page
    before = page.locator(".turn.assistant").count()
    page.fill(".composer textarea", words)
    page.keyboard.press("Enter")
    look.see(f".turn.assistant >> nth={before}")
    page.wait_for_function("!document.querySelector('.typing')")
    page.wait_for_timeout(1_500)


def shown(look: Looking) -> tuple[str, str, int, list[str]]:
    """What is in the box, what the head and the list say of the chat, how many turns there are, and all notices."""
    page = look.page
    listed = page.inner_text(".chats a[aria-current=page] .soft").partition(" ·")[0]
    assert page.inner_text(".head .lede").partition(" ·")[0] == listed
    notices = [one.strip() for one in page.locator(".notice").all_inner_texts()]
    return page.input_value(".composer textarea"), listed, page.locator(".turn").count(), notices


@pytest.mark.parametrize("is_new", [False, True], ids=["old", "new"])
def test_what_is_said_during_a_lock_is_counted_and_not_given_back(look: Looking, folder: Path, is_new: bool) -> None:
    """The box stays empty, counts go on, one notice says where it is, and that it was written once it was."""
    page = look.at(f"/chat?id=locked-{is_new}")
    if not is_new:
        say(look, "before")
    first = 0 if is_new else 2
    with locked(f"sqlite:///{folder / 'a.db'}"):
        for turn in (1, 2):
            say(look, f"during {turn}")
            box, listed, turns, notices = shown(look)
            assert (box, listed, turns) == ("", f"{first + 2 * turn} messages", first + 2 * turn)
            assert notices == [LOCKED]
        page.reload()
        look.settled()
        page.wait_for_timeout(1_000)
        assert shown(look) == ("", f"{first + 4} messages", first + 4, notices)
    look.see(".notice:has-text('Now saved.')")
    assert shown(look)[:3] == ("", f"{first + 4} messages", first + 4)
    say(look, "after")
    assert shown(look) == ("", f"{first + 6} messages", first + 6, [])
    page.reload()
    look.settled()
    assert shown(look) == ("", f"{first + 6} messages", first + 6, [])


@pytest.mark.parametrize(
    ("said", "is_on_disk", "expected"),
    [
        (
            "store a.db is full: database or disk is full; make room",
            True,
            "Saved to a file for now: the disk of the store is full. It will be written as soon as there is room on it.",
        ),
        (
            "store a.db is gone; mount it",
            True,
            "Saved to a file for now: store a.db is gone. It will be written as soon as the store can be written.",
        ),
        (
            "store a.db is locked by another process; wait",
            False,
            (
                "Not saved yet: another process has locked the store, and no file could be written either. "
                "Keep the server running until the store is free."
            ),
        ),
    ],
)
def test_a_notice_names_the_reason_and_what_will_happen(said: str, is_on_disk: bool, expected: str) -> None:
    """In words that ask for nothing that need not be done."""
    body = DiagnosticRecorded(code="store_failed", phase="record", text=said)
    held = Held((Event(session="s", seq=0, body=body),), is_on_disk)

    assert " ".join(notice_of(held)) == expected
    assert notice_of(Held()) == ("", "")
