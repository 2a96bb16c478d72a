"""The pages, in a real browser, with a real server behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.serving import serving
from playwright.sync_api import Browser

from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import Node
from foveate.session import Session
from foveate.store import Store
from foveate.web.phrases import money, share
from tests.dialogue import call, calls, user
from tests.importers.logs import NEEDS_DATA, recorded
from tests.web.serving import Looking, looking
from tests.web.sessions import HOSTILE, hostile_log, sample_in

pytest_plugins = ["tests.browser"]

CHART = "() => getElement([...document.querySelectorAll('.nicegui-echart')][0].id.slice(1)).chart"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over a store with the sample in it."""
    path = tmp_path_factory.mktemp("web") / "agent.db"
    with Store(path) as store:
        sample_in(store)
    with serving(path) as found:
        yield found


@pytest.fixture
def look(browser: Browser, address: str) -> Iterator[Looking]:
    """A page of that server, 1280 wide."""
    with looking(browser, address) as found:
        yield found


def test_home_lists_sessions_and_finds_them(look: Looking) -> None:
    """What the store holds is listed with its numbers, sorted and searched."""
    page = look.at("/")
    row = look.see("tbody tr")

    assert "sample" in row.inner_text()
    assert re.search(r"429\s+83\.2k\s+\d+\s+\$\d", row.inner_text())
    page.fill("input[type=search]", "no such thing")
    look.see("text=No session matches")
    page.fill("input[type=search]", "SAMPLE")
    look.see("tbody tr a")
    page.click("th button:has-text('Tokens')")
    look.see("th[aria-sort=descending]:has-text('Tokens')")


def test_the_timeline_shows_the_costs_that_the_api_tells(look: Looking, address: str) -> None:
    """Input cost, cached share and the cost of the untouched history are those of the read model."""
    page = look.at("/session?id=sample")
    costs = page.request.get(f"{address}/api/sessions/sample/costs").json()
    sent, untouched = costs["sent"], costs["untouched"]
    look.see(".nicegui-echart canvas")
    text = page.inner_text("#content")

    assert money(sent["cost"], "USD") in text
    assert share(sent["cached"], sent["tokens"]) in text
    assert f"the untouched history: {money(untouched['cost'], 'USD')}" in text


def test_from_the_timeline_to_a_call_to_an_original_to_a_difference(look: Looking) -> None:
    """A click into the chart opens a call; a masked output shows its original; two calls are compared."""
    page = look.at("/session?id=sample")
    chart = look.see(".nicegui-echart canvas")
    series = page.evaluate(f"({CHART})().getOption().series.map(one => one.name)")

    assert {"system", "verbatim", "folded", "budget", "calls", "cached", "fresh", "as sent"} <= set(series)
    assert "Compactions" in page.inner_text("#content") and "idle for" in page.inner_text("#content")
    box = chart.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 200)
    look.see("h1:has-text('Call ')")
    clicked = int(re.findall(r"Call (\d+)", page.inner_text("h1"))[0])
    assert 70 < clicked < 130, "the middle of the chart is the middle of the session"

    masked = _call_with(look, "masked")
    block = look.see(".piece[data-fate=masked]")
    before = block.text_content() or ""
    assert re.search(r"masked\s*by \w+\s*at call \d+\s*[\d,]+ → [\d,]+ tokens\s*m\d+", before)
    block.locator("button:has-text('Show the original')").click()
    look.see(".piece .original pre")
    assert len(block.text_content() or "") > len(before) + 200
    page.click("button:has-text('Show what differs')")
    look.see("h1:has-text('→')")
    look.settled()
    assert page.inner_text("h1") == f"Call {masked - 1} → call {masked}"
    assert "cached prefix" in page.inner_text("#content")


def _call_with(look: Looking, fate: str) -> int:
    """Leaf through the calls until one has a block of this fate."""
    for number in range(100, 200, 3):
        page = look.at(f"/call?id=sample&n={number}")
        if page.locator(f".piece[data-fate={fate}]").count():
            return number
    pytest.fail(f"no call of the sample has anything {fate}")


def test_a_call_tells_its_account(browser: Browser, tmp_path: Path) -> None:
    """Fates, the corrected count, cache marks and diagnostics of an interrupted call are those that HTTP tells."""
    path = tmp_path / "agent.db"
    with Session.open(path, "s", budget=8_000, model="claude-sonnet-4-5") as session:
        session.append(user("word " * 900))
        view = session.compile()
        session.report_usage(2 * view.tokens)
        session.report_usage(70_000)
        session.extend([calls(call("c1", "bash", command="make")), user("Stop, do it otherwise")])
        session.compile()
    with serving(path) as address, looking(browser, address) as look:
        page = look.at("/call?id=s&n=2")
        look.see("text=Cache marks")
        chips = page.locator(".chip.dot").all_inner_texts()
        text = page.inner_text("#content")
        told = page.request.get(f"{address}/api/sessions/s/calls/2").json()

    counted = {f"{count} {fate}" for fate, count in told["counts"].items()}
    assert counted <= {*chips}
    assert not any(chip.startswith("-") for chip in chips)
    assert told["corrected"] > told["tokens"] and f"probably {told['corrected']:,} tokens" in text
    assert told["cache_marks"] and f"behind {', '.join(told['cache_marks'])}" in text
    assert told["diagnostics"] and all(line.replace("`", "") in text for line in told["diagnostics"])
    assert "Show the original" not in text, "what stands in for a missing result has none"


def test_a_call_is_copied_and_left_by_keys(look: Looking) -> None:
    """A request is copied as its provider gets it; arrow keys go to its neighbours."""
    look.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = look.at("/call?id=sample&n=60")

    page.select_option("select", "anthropic")
    page.click("button:has-text('Copy JSON')")
    look.see("text=Copied as Anthropic JSON")
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied["messages"] and copied["tools"][0]["input_schema"]
    look.see("text=cached up to here")
    page.keyboard.press("ArrowRight")
    look.see("h1:has-text('Call 61')")
    page.keyboard.press("ArrowLeft")
    look.see("h1:has-text('Call 60')")


def test_the_log_is_searched_and_a_pin_reaches_the_next_call(look: Looking) -> None:
    """A message that no request showed any more is found, pinned, and stands in the next request word for word."""
    page = look.at("/log?id=sample")
    look.see(".longlist .line:has-text('m1')")
    page.fill("input[type=search]", "amounts are integer cents")
    look.see("text=/^[\\d,]+ messages, the best first$/")
    page.fill("input[type=search]", "")
    look.see("text=/^429 messages$/")
    page.select_option("label:has-text('Role') select", "user")
    look.see(".longlist .role.user")
    page.select_option("label:has-text('Role') select", "")
    page.select_option("label:has-text('Fate') select", "dropped")
    line = look.see(".longlist .line:has-text('read_file')")
    chosen = line.locator(".id").inner_text()
    line.click()
    look.see(f"h2:has-text('{chosen} ')")
    look.see("text=Which calls saw this")

    page.click("button.button:text-is('Pin')")
    look.see("button.button:text-is('Unpin')")
    look.at("/next?id=sample")
    block = look.see(f"#block-{chosen}")
    told = block.text_content() or ""
    assert "verbatim" in told and "pinned" in told

    look.at(f"/log?id=sample&message={chosen}")
    page.click("button.button:text-is('Unpin')")
    look.see("button.button:text-is('Pin')")


@pytest.fixture(scope="module")
def odd_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over a store with a long session, and one in which every text means harm."""
    folder = tmp_path_factory.mktemp("odd")
    path = folder / "a.db"
    with Store(path) as store:
        knowledge = Knowledge(store, f"project {HOSTILE}")
        knowledge.add(Node(id=f"gotcha-{HOSTILE}", type="gotcha", summary=HOSTILE, tags=(HOSTILE,)), now="2026-01-01")
    with Session.open(path, "long") as session:
        session.extend({"role": "user", "content": f"message number {number}"} for number in range(5_000))
    with Session.open(path, f"harm {HOSTILE}", budget=2_000, system=HOSTILE) as session:
        session.extend(json.loads(hostile_log(folder).read_text(encoding="utf-8")))
        session.compile()
        session.extend([{"role": "assistant", "content": HOSTILE}, {"role": "user", "content": HOSTILE}])
        session.compile()
        session.tag(note=HOSTILE)
    with serving(path) as found:
        yield found


def test_scrolling_a_long_log_only_reads_what_is_seen(browser: Browser, odd_address: str) -> None:
    """A log of thousands of messages scrolls to its end and shows it, with few lines in the page."""
    with looking(browser, odd_address) as look:
        page = look.at("/log?id=long")
        look.see(".longlist .words:has-text('message number 0')")
        page.evaluate("document.querySelector('.longlist').scrollTop = 1e9")
        look.see(".longlist .words:has-text('message number 4999')")
        assert page.locator(".longlist .line").count() < 60
        page.locator(".longlist .line").last.focus()
        page.keyboard.press("PageUp")
        assert page.evaluate("document.activeElement.dataset.place") == "4989"


@NEEDS_DATA
def test_a_recorded_log_comes_in_and_is_replayed(browser: Browser, tmp_path: Path) -> None:
    """A log of Claude Code is dropped, imported, and its calls are made again; so is the sample on the first start."""
    log = min(recorded("claude_code/*.jsonl"), key=lambda path: abs(path.stat().st_size - 400_000))
    with serving(tmp_path / "new.db") as address, looking(browser, address) as look:
        page = look.at("/")
        look.see("text=Something to look at first.")
        page.set_input_files(".drop input[type=file]", log)
        look.see(".notice:has-text('Imported.')")
        page.click("a:has-text('Open it')")
        look.see("h2:has-text('As Foveate would have sent it')")
        look.see(".nicegui-echart canvas")
        page.locator("table").last.locator("tbody a").first.click()
        look.see("h1:has-text('Call 1')")
        look.see("text=As Foveate would have sent it.")
        look.see(".piece")

        page.goto(f"{address}/")
        look.settled()
        path = tmp_path / "no log.json"
        path.write_text('{"neither": "this nor that"}', encoding="utf-8")
        page.set_input_files(".drop input[type=file]", path)
        look.see(".notice.bad:has-text('no log.json')")


def test_a_log_that_means_harm_runs_nothing(browser: Browser, odd_address: str, tmp_path: Path) -> None:
    """Whatever stands in a log, in names, tags or knowledge is shown as it is on every page, and nothing of it runs."""
    with looking(browser, odd_address) as look:
        page = look.at("/")
        look.see("tbody td.name a:has-text('stolen')").click()
        look.see(".nicegui-echart canvas").hover()
        page.locator("table").last.locator("tbody a").first.click()
        look.see(".piece")
        assert HOSTILE in (page.text_content(".request") or "")
        call = page.url
        for path in ("log", "next", "session"):
            page.goto(call.replace("/call?", f"/{path}?"))
            look.settled()
            assert HOSTILE[:30] in page.inner_text("#content")
        look.at("/knowledge")
        look.see(".nicegui-echart canvas").hover()
        page.fill("input[type=search]", "script")
        look.see("text=1 found")
        page.click("button.more")
        look.see("h2:has-text('<script>')")
        look.at("/lab")
        look.at("/")
        page.set_input_files(".drop input[type=file]", hostile_log(tmp_path))
        look.see(".notice:has-text('Imported.')")
        assert page.evaluate("window.stolen") is None


def test_the_lab_compares_policies(look: Looking) -> None:
    """Policies are compared in another process, with a table and plots, and the report can be taken away."""
    page = look.at("/lab")
    for name in ("recorded", "mask-10", "drop-steps"):
        page.click(f".checks label:has(span:text-is('{name}'))")
    page.click("button:has-text('Compare')")
    look.see("h2:has-text('1 session, ')")
    rows = page.locator("table tbody tr").all_inner_texts()

    assert [row.split()[0] for row in rows] == ["foveate", "raw"]
    assert page.locator(".nicegui-echart canvas").count() == 3
    with page.expect_download() as download:
        page.click("button:has-text('Download JSON')")
    assert json.loads(download.value.path().read_text(encoding="utf-8"))["sessions"][0]["calls"] > 100


def test_what_is_not_there_is_said(look: Looking) -> None:
    """A session, a call or a run that does not exist is named, with what to do; empty places say how to fill them."""
    look.at("/session?id=smaple")
    assert "did you mean 'sample'?" in look.see(".notice.bad").inner_text().lower()
    look.at("/call?id=sample&n=9999")
    assert "no call 9999" in look.see(".notice.bad").inner_text()
    look.at("/work?run=nothing")
    assert "no run 'nothing'" in look.see(".notice.bad").inner_text()
    look.at("/work")
    assert "foveate work run" in look.see(".empty").inner_text()
    look.at("/knowledge")
    assert "foveate knowledge add" in look.see(".empty").inner_text()
    look.at("/diff?id=sample&a=3&b=3")
    assert "both calls are 3" in look.see(".notice.bad").inner_text().lower()
    look.at("/settings")
    assert "the option --store" in look.page.inner_text("#content")


PATHS = ("/", "/session?id=sample", "/call?id=sample&n=112", "/log?id=sample", "/next?id=sample", "/lab", "/settings")


def test_pages_fit_a_phone_and_the_dark(browser: Browser, address: str) -> None:
    """On 390 pixels nothing sticks out sideways; a dark system gets dark pages, and the switch is remembered."""
    with looking(browser, address, viewport={"width": 390, "height": 844}, color_scheme="dark") as look:
        for path in PATHS:
            page = look.at(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert ground == "rgb(19, 22, 26)", path
        page.click("button[aria-label^=Switch]")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(247, 247, 244)"
        look.at("/")
        assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_pages_can_be_used_by_keyboard(look: Looking) -> None:
    """Every control is reached by the Tab key; / goes to the search."""
    page = look.at("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.textContent.trim()"))
    assert {"Sessions", "Lab", "Settings", "Tokens"} <= reached | {"Sessions"}
    assert any("reservations" in one for one in reached)
