"""How long the pages take on a very long session: `python -m bench.web [STORE SESSION]`.

Without a store, a session of some 50,000 messages is generated first, which takes minutes.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from bench.screenshots import BROWSERS
from bench.serving import serving
from foveate.sample import coding_session, tools
from foveate.session import Session
from foveate.store import Store
from foveate.store.arrivals import import_lines

TURNS = 1_050
PATIENCE = 600_000


def generated(path: Path, turns: int = TURNS) -> str:
    """A session of a coding agent with a window of 32,000 tokens, in a store."""
    session = Session(budget=32_000, tools=tools(), session_id="long")
    moment = 1_760_000_000.0
    for index, message in enumerate(coding_session(turns)):
        moment += 7
        if index and message["role"] == "assistant":
            session.compile(now=moment)
        session.extend([message], time=moment)
    with Store(path) as store:
        import_lines(store, session.dump().splitlines())
    return session.id


def main(path: Path, session: str) -> None:
    with Store(path) as store:
        info = store.session(session)
    print(f"{info.messages:,} messages, {info.calls:,} calls, {info.events:,} events")
    program = next(filter(None, map(which, BROWSERS)), None)
    with serving(path) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.wait_for_selector("tbody tr")
        _visit(page, "timeline, first time", f"{address}/session?id={session}", ".nicegui-echart canvas")
        _visit(page, "timeline, again", f"{address}/session?id={session}", ".nicegui-echart canvas")
        _visit(page, "log", f"{address}/log?id={session}", ".longlist .line .words:not(:empty)")
        _timed("scroll to the end of the log", lambda: _scrolled(page, info.messages))
        _timed("scroll to its middle", lambda: _scrolled(page, info.messages // 2))
        calls = [info.calls // 3, info.calls // 3 + 1, info.calls * 2 // 3, info.calls]
        for number in calls:
            _visit(page, f"call {number:,}, while prepared", f"{address}/call?id={session}&n={number}", ".piece")
        browser.close()


def _visit(page: Page, name: str, url: str, selector: str) -> None:
    begun = time.perf_counter()
    page.goto(url)
    page.wait_for_selector("#content > *")
    painted = time.perf_counter() - begun
    page.wait_for_selector(selector)
    print(f"{name}: first paint {painted:.2f} s, all of it {time.perf_counter() - begun:.2f} s", flush=True)


def _scrolled(page: Page, place: int) -> None:
    page.evaluate(f"document.querySelector('.longlist').scrollTop = {46 * (place - 1)}")
    page.wait_for_selector(f".longlist .line[data-place='{place - 1}'] .words:not(:empty)")


def _timed(name: str, work: Callable[[], None]) -> None:
    begun = time.perf_counter()
    work()
    print(f"{name}: {time.perf_counter() - begun:.2f} s", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(Path(sys.argv[1]), sys.argv[2])
    else:
        with TemporaryDirectory() as folder:
            main(Path(folder) / "agent.db", generated(Path(folder) / "agent.db"))
