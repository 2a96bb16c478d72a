"""Chats and templates in a real browser, with a model that follows a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from bench.serving import serving
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser

from foveate.api import Place
from foveate.api.room import Room
from foveate.chat.templates import PLACEHOLDERS
from foveate.inspect.log_state import read_log_state
from foveate.session import Session
from foveate.store import Store
from foveate.web.opened import manner_of
from foveate.web.pages.templates import MEANINGS
from foveate.web.talks import Talk, Talks
from foveate.web.turns import first_of_turns, parts_of, turns_between
from tests.scripted_model import Payload, ScriptedModel, ScriptError, call, scripted_model, text
from tests.web.serving import Looking, looking
from tests.web.sessions import HOSTILE

pytest_plugins = ["tests.browser"]

NOTE = "Lentil curry for eight."


@dataclass
class Chatting:
    """A server whose chats are answered by a script, its vault, and what the script was asked."""

    address: str
    vault: Path
    model: ScriptedModel
    gate: threading.Event = field(default_factory=threading.Event)

    @property
    def templates(self) -> Path:
        return self.vault / "AssistantMD" / "ContextTemplates"

    def got(self, path: str, body: Any = None, method: str = "GET") -> Any:
        answer = httpx.request(method, f"{self.address}/api{path}", json=body, timeout=30)
        return answer.raise_for_status().json()


@pytest.fixture(scope="module")
def chatting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chatting]:
    """A server with a vault; "wait" is answered once the gate is open, "menu" after a look into a note."""
    folder = tmp_path_factory.mktemp("chat")
    vault = folder / "notes"
    vault.mkdir()
    (vault / "menu.md").write_text(NOTE, encoding="utf-8")
    gate, broken = threading.Event(), threading.Event()
    broken.set()

    def reply(payload: Payload) -> dict[str, Any]:
        last = payload["messages"][-1]
        said = last["content"] if isinstance(last["content"], str) else last["content"][0]["text"]
        if last["role"] == "tool":
            return text(f"The note says:\n```md\n{said}\n```\nThat is all.")
        if "wait" in said:
            assert gate.wait(30)
        if "strike" in said and broken.is_set():
            broken.clear()
            raise ScriptError("the provider is on strike")
        if "menu" in said:
            return call("read_file", path="menu.md", number=len(payload["messages"]))
        return text(HOSTILE if "harm" in said else f"You said {said[:40]}")

    with scripted_model(reply) as model, pytest.MonkeyPatch.context() as patch:
        for name, value in {**model.environment, "FOVEATE_MODEL": "openai-chat:scripted"}.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        options = ("--vault", str(vault), "--system", str(folder / "system"))
        with serving(folder / "a.db", *options) as address:
            yield Chatting(address, vault, model, gate)


@pytest.fixture
def look(browser: Browser, chatting: Chatting) -> Iterator[Looking]:
    with looking(browser, chatting.address) as found:
        yield found


def say(look: Looking, words: str, *, answered: bool = True) -> None:
    """Type something, press Enter, and wait until it is answered."""
    page = look.page
    before = page.locator(".turn.user").count()
    page.fill(".composer textarea", words)
    page.keyboard.press("Enter")
    look.see(f".turn.user >> nth={before}")
    if answered:
        page.wait_for_function("!document.querySelector('.typing')")
        look.see(".composer textarea:focus")


def test_an_endless_chat_with_a_template(look: Looking, chatting: Chatting) -> None:
    """A chat is begun, made endless by a template, and what the model saw is one click away; the gauge goes along."""
    page = look.at("/chat?id=party")
    assert "openai-chat:scripted answers" in page.inner_text("#content")
    look.see("h2:has-text('Say something')")
    say(look, "I plan a dinner for eight. Bruno must never get peanuts.")
    assert page.inner_text(".turn.assistant .said") == "You said I plan a dinner for eight. Bruno must ne"
    assert "of 16,000 tokens" in page.inner_text(".gauge")
    page.check(".switch input")
    look.see(".controls select:not([disabled])")
    page.select_option(".controls select", "coding")
    look.see(".controls a[href='/templates?name=coding']")
    for number in range(5):
        say(look, f"Thing {number} to remember: " + "the table is long. " * 30)

    # What the next call is made of is up to the template: it is endless now, and says so.
    calls = chatting.got("/sessions/party/calls")["calls"]
    assert "endless:coding" in calls[-1]["strategy"]
    assert "sections" in page.inner_text(".gauge .legend")
    page.locator(".turn.assistant footer a").last.click()
    look.see("h1:has-text('Call 6')")
    look.settled()
    assert "do not try again what failed before" in page.inner_text(".request"), (
        "the template's own instructions are sent"
    )
    page.go_back()
    look.see(".tabs a[aria-current=page]:has-text('Chat')")
    with page.expect_download() as download:
        page.click("a:has-text('Download transcript')")
    assert download.value.suggested_filename == "party.md"
    assert "Bruno must never get peanuts" in download.value.path().read_text(encoding="utf-8")
    look.at("/session?id=party")
    page.click(".tabs a:has-text('Chat')")
    look.see(".turn.user:has-text('Thing 4')")


def test_a_tool_call_is_folded_and_opens(look: Looking) -> None:
    """Tool traffic is one line that opens; code in an answer stands in a block of its own."""
    page = look.at("/chat?id=tools")
    say(look, "What is on the menu?")
    step = look.see(".step summary")

    assert step.inner_text().split() == ["→", "read_file", "path:", "menu.md"]
    assert not page.locator(".step pre").first.is_visible()
    step.click()
    assert NOTE in look.see(".step pre").inner_text()
    assert NOTE in page.inner_text(".turn .code pre")
    assert page.locator(".turn.assistant .said p").all_inner_texts() == ["The note says:", "That is all."]


def test_a_template_that_is_gone_is_said_and_costs_no_answer(look: Looking, chatting: Chatting) -> None:
    """When the template of a chat is removed, the answer comes all the same, with a banner that says what happened."""
    chatting.got("/context/templates/mine", {"text": "{{ topic }}"}, "PUT")
    chatting.got("/chats/gone/mode", {"endless": True, "template": "mine"}, "PUT")
    (chatting.templates / "mine.md").unlink()
    page = look.at("/chat?id=gone")
    assert "mine (is gone)" in page.inner_text(".controls select")
    say(look, "Hello")
    banner = look.see(".notice.warn")

    assert "template load" in banner.inner_text() and "no template 'mine'" in banner.inner_text()
    assert "mine" in banner.locator(".mono").inner_text()
    assert page.inner_text(".turn.assistant .said") == "You said Hello"
    banner.locator("button").click()
    banner.wait_for(state="detached")

    page.select_option(".controls select", "chat")
    look.see(".controls a[href='/templates?name=chat']")
    (chatting.templates / "other.md").write_text("{{ topic }}", encoding="utf-8")
    look.at("/chat?id=gone")
    (chatting.templates / "other.md").unlink()
    page.select_option(".controls select", "other")
    assert "no template 'other'" in look.see(".problems .notice.bad").inner_text().lower()
    page.wait_for_function("document.querySelector('.controls select')?.value === 'chat'")


def test_a_failed_answer_can_be_asked_for_again(look: Looking) -> None:
    """What failed is shown and what was said is kept: in the log, or else in the box; another try brings the answer."""
    page = look.at("/chat?id=strike")
    page.fill(".composer textarea", "Are you on strike?")
    page.keyboard.press("Enter")
    assert "the provider is on strike" in look.see(".notice.bad").inner_text()
    page.reload()
    look.settled()
    page.click("button:has-text('Try again')")
    look.see(".turn.assistant:has-text('You said Are you on strike?')")
    page.wait_for_function("!document.querySelector('.typing')")
    assert page.locator(".notice.bad").count() == 0
    assert page.locator(".turn.user").count() == 1

    look.at("/chat?id=%09")
    page.fill(".composer textarea", "words without a place")
    page.keyboard.press("Enter")
    assert "is no name" in look.see(".notice.bad").inner_text()
    page.wait_for_function("document.querySelector('.composer textarea').value === 'words without a place'")


def test_a_reload_in_the_middle_of_an_answer_loses_nothing(look: Looking, chatting: Chatting) -> None:
    """Whoever comes back sees what was said, that it is being answered, and then the answer; a draft is kept."""
    page = look.at("/chat?id=slow")
    say(look, "Hello")
    page.fill(".composer textarea", "line one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("wait for it")
    page.keyboard.press("Enter")
    look.see(".typing:has-text('being answered…')")
    page.fill(".composer textarea", "a draft")
    page.reload()
    look.settled()
    look.see(".typing:has-text('being answered…')")
    assert page.locator(".turn.user").all_inner_texts()[-1].startswith("line one\nwait for it")
    assert page.locator(".turn.user").count() == 2
    assert page.is_disabled(".composer button")
    page.keyboard.press("Enter")
    chatting.gate.set()
    look.see(".turn.assistant >> nth=1")
    page.wait_for_function("!document.querySelector('.typing')")
    assert page.input_value(".composer textarea") == "a draft"
    assert page.locator(".turn.user").count() == 2


def test_a_pin_reaches_the_next_call(look: Looking, chatting: Chatting) -> None:
    """What another program pins stands in the next request word for word, though a summary had taken its place."""
    look.at("/chat?id=pins")
    chatting.got(
        "/context/templates/short", {"text": "---\npassthrough_runs: 0\ntoken_threshold: 0\n---\nNothing."}, "PUT"
    )
    chatting.got("/chats/pins/mode", {"endless": True, "template": "short"}, "PUT")
    for words in ("The door code is 4711.", "Good.", "Go on."):
        say(look, words)
    assert "4711" not in _asked(chatting)
    assert "summarised" in look.page.inner_text(".gauge .legend")
    with Session.open(chatting.vault.parent / "a.db", "pins", budget=16_000) as session:
        session.pin("m1")
    say(look, "And now?")
    assert "The door code is 4711." in _asked(chatting)


def _asked(chatting: Chatting) -> str:
    """The last request that was no request for a summary."""
    asked = [one for one in chatting.model.received if "helpful assistant in a long" in json.dumps(one["messages"][0])]
    return json.dumps(asked[-1]["messages"])


def test_words_that_mean_harm_run_nothing(look: Looking) -> None:
    """Whatever is said or answered is shown as it is."""
    page = look.at(f"/chat?id=harm%20{'<b>'}")
    say(look, f"harm {HOSTILE} 你好")
    look.at(page.url.removeprefix(look.address))

    assert page.locator(".turn.user .said").inner_text() == f"harm {HOSTILE} 你好"
    assert page.locator(".turn.assistant .said").inner_text() == HOSTILE
    assert page.evaluate("window.stolen") is None


def test_a_template_is_changed_and_tried(look: Looking, chatting: Chatting) -> None:
    """One of the system becomes a copy in the vault; what is odd or wrong is said; a session shows what comes of it."""
    with Session.open(chatting.vault.parent / "a.db", "told") as session:
        for number in range(12):
            session.append({"role": "user", "content": f"You must always remember rule {number}, whatever happens."})
            session.append({"role": "assistant", "content": "I will."})
    page = look.at("/templates?name=research")
    look.see(".notice.tip:has-text('Saving writes a copy')")
    page.fill(".editor textarea", "My rules:\n{{ constraints }}\n{{ weather }}")
    page.select_option("label:has-text('Session') select", "told")
    page.click("button:has-text('Preview')")
    trial = look.see("pre.text:has-text('My rules:')").inner_text()
    assert "- You must always remember rule 0, whatever happens. (m1)" in trial
    assert "no placeholder" in look.see(".notice.warn").inner_text()
    look.see(".chip:has-text('not saved')")
    page.focus(".editor textarea")
    page.keyboard.press("Control+s")
    look.see("aside a[aria-current=page]:has-text('vault')")
    assert "My rules:" in (chatting.templates / "research.md").read_text(encoding="utf-8")

    page.fill(".editor textarea", "---\nno: [yaml\n---\n")
    page.click("button:has-text('Save in the vault')")
    look.see(".notice.bad")
    assert "My rules:" in (chatting.templates / "research.md").read_text(encoding="utf-8")
    (chatting.templates / "research.md").write_text("Changed elsewhere.", encoding="utf-8")
    page.fill(".editor textarea", "Mine.")
    page.click("button:has-text('Save in the vault')")
    look.see(".notice.bad:has-text('changed by somebody else')")
    assert (chatting.templates / "research.md").read_text(encoding="utf-8") == "Changed elsewhere."
    page.on("dialog", lambda dialog: dialog.accept())
    look.at("/templates?name=nothing")
    assert "no template 'nothing'" in look.see(".notice.bad").inner_text().lower()


def test_chats_fit_a_phone_and_the_dark(browser: Browser, chatting: Chatting) -> None:
    """On 390 pixels nothing sticks out sideways, and the box to write into is on the screen."""
    with looking(
        browser, chatting.address, viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True
    ) as look:
        for path in ("/chat?id=tools", "/chat?id=new", "/templates"):
            page = look.at(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(19, 22, 26)"
        look.at("/chat?id=tools")
        bounds = look.see(".composer textarea").bounding_box()
        assert bounds is not None and bounds["y"] + bounds["height"] <= 844


def test_without_a_model_the_conversation_is_still_there(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has no model is told how to get one, and reads what was said; without a vault templates are only read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foveate.toml").write_text("[chat]\nnonsense = 1\n", encoding="utf-8")
    with Session.open(tmp_path / "a.db", "old") as session:
        roles = ("user", "assistant")
        session.extend({"role": roles[number % 2], "content": f"message {number}"} for number in range(5_000))
        session.tag(endless="off")
    with serving(tmp_path / "a.db", "--system", str(tmp_path / "system")) as address, looking(browser, address) as look:
        page = look.at("/chat")
        assert "chat.nonsense is not known" in look.see(".refusal").inner_text()
        assert page.locator(".turn.user").count() == 50
        look.see(".turn:has-text('message 4999')")
        page.click("button:has-text('Show earlier turns')")
        look.see(".turn:has-text('message 4800')")
        assert page.locator(".turn.user").count() == 100
        (tmp_path / "foveate.toml").unlink()
        look.at("/templates")
        look.see(".notice:has-text('foveate serve --vault DIR')")
        assert page.locator("button:has-text('Save in the vault')").count() == 0


# --- without a browser ------------------------------------------------------------------------------------------------


def test_every_placeholder_is_explained() -> None:
    assert tuple(MEANINGS) == PLACEHOLDERS


@given(st.lists(st.sampled_from(["```", "```py", "~~~", "````", " x", "", "`a` b"]) | st.text(max_size=8), max_size=12))
def test_parts_of_a_text_hold_every_line_of_it(lines: list[str]) -> None:
    """Whatever the fences are like, each line that is none is in one part, in its order."""
    whole = "\n".join(lines)
    shown = [line for part in parts_of(whole) for line in part["text"].split("\n") if line.strip()]
    rest = iter(line for line in whole.split("\n") if line.strip())
    assert all(any(line == one for one in rest) for line in shown)
    plain = [line for line in whole.split("\n") if line.strip() and not line.strip().startswith(("```", "~~~"))]
    assert [line for line in shown if line in plain] == plain


def test_turns_are_read_from_their_beginning(tmp_path: Path) -> None:
    """The newest turns begin with what a user said; results stand with their calls; what has no answer is known."""
    with Session.open(tmp_path / "a.db", "s") as session:
        for number in range(120):
            session.append({"role": "user", "content": f"question {number}"})
            session.append(call("look", number=number, at="it"))
            session.append({"role": "tool", "tool_call_id": f"call_look_{number}", "content": f"result {number}"})
            session.append({"role": "assistant", "content": f"answer {number}"})
        session.append({"role": "user", "content": "and?"})
    with Store(tmp_path / "a.db") as store:
        info = store.session("s")
        first = first_of_turns(store, info, info.messages)
        found = turns_between(store, info, read_log_state(store, info), first, info.messages)

    assert found.entries[0]["parts"][0]["text"] == "question 71"
    assert found.entries[1]["steps"][0]["result"] == "result 71"
    assert len(found.entries) == 49 * 3 + 1
    assert not found.is_answered


def test_a_talk_that_cannot_begin_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that nobody can ask is a failure with its remedy, and the chat can be talked to again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOVEATE_MODEL", "no-such-provider:x")
    with Store(tmp_path / "a.db") as store:
        talks = Talks(Room(store, Place(store=tmp_path / "a.db", system=tmp_path / "system")), store)
        talk = talks.begin("s", "Hello")
        for thread in [one for one in threading.enumerate() if one.name == "talk s"]:
            thread.join(30)

        assert talk.is_done and talk.failure is not None
        assert "no-such-provider" in talk.failure.error + talk.failure.remedy
        assert store.find("s") is None
        assert isinstance(talks.of("s"), Talk)


def test_without_a_key_and_a_local_model_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who can ask no model is told what to set or install, and mode and templates are known all the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("foveate.integrations.models.is_local_installed", lambda: False)
    for name in ("FOVEATE_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with Store(tmp_path / "a.db") as store:
        manner = manner_of(Room(store, Place(store=tmp_path / "a.db", system=tmp_path / "system")), "s")

    assert manner.chosen is None
    assert "no model can be asked; set ANTHROPIC_API_KEY" in str(manner.refusal)
    assert manner.mode is not None and "chat" in manner.templates
