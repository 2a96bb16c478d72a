"""Texts that a page might run: every page shows them, and none runs them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec
from bench.serving import serving
from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import TimeoutError as PatienceError

from foveate import Session
from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import Node
from foveate.log.events import WorkRecorded
from foveate.store import Store
from foveate.work.models import Issue
from foveate.workflow.progress import Begun
from tests.attack.attack import BROKEN, Scene
from tests.dialogue import call, calls, result, says, user

_PAYLOADS: Final = (
    "<script>window.stolen=1</script>",
    "<img src=x onerror=window.stolen=1>",
    "<svg/onload=window.stolen=1>",
    "[x](javascript:window.stolen=1)",
    '![x](x" onerror="window.stolen=1)',
    "{{constructor.constructor('window.stolen=1')()}}",
    "${window.stolen=1}",
    "</textarea><script>window.stolen=1</script>",
    "<iframe srcdoc='<script>parent.stolen=1</script>'>",
    '<a href="javascript:window.stolen=1">x</a>',
    "<details open ontoggle=window.stolen=1>",
    "\u202e<script>window.stolen=1</script>",
    "```html\n<script>window.stolen=1</script>\n```",
    "<math><mtext></mtext><style><img src=x onerror=window.stolen=1></style></math>",
)
# In milliseconds: until a page must show what it is about. Titles are cut after so many characters.
_PATIENCE: Final = 30_000
_SHOWN: Final = 24
# A page of each kind; the payload is part of what it is about, and is seen there.
_PAGES: Final = (
    "/",
    "/session?id={}",
    "/call?id={}&n=1",
    "/next?id={}",
    "/log?id={}",
    "/chat?id={}",
    "/diff?id={}",
    "/lab?id={}",
    "/knowledge?project={}&node=gotcha",
    "/work",
    "/work?run=run-{}",
    "/templates?name={template}",
    "/settings",
)
# A folder's name; no slash can be in it.
_VAULT: Final = "<img src=x onerror=window.stolen=1>"
# All that somebody can read on a page, spaces aside: lines are broken and trimmed as there is room.
_IS_SEEN: Final = """text => {
  const fields = [...document.querySelectorAll('input, textarea')].map(one => one.value);
  return [document.body.innerText, ...fields].join(' ').replace(/\\s/g, '').includes(text);
}"""


def show_payloads(scene: Scene) -> Iterator[str]:
    """Open each page of a store in which ids, texts, names, knowledge, work and templates are payloads."""
    store, vault = scene.folder / "pages.db", scene.folder / _VAULT
    templates = vault / "AssistantMD" / "ContextTemplates"
    templates.mkdir(parents=True)
    names = {}
    for number in range(scene.count):
        payload = _PAYLOADS[number % len(_PAYLOADS)]
        # No session can be named by what is not printed.
        name = f"s{number}-{''.join(filter(str.isprintable, payload))}"
        names[name] = payload
        _fill(store, name, payload)
        (templates / f"template-{number}.md").write_text(f"# About\n\n{payload}\n", encoding="utf-8")
    with serving(store, "--vault", str(vault)) as address, _browser() as browser:
        for number, (name, payload) in enumerate(names.items()):
            yield _visited(browser, address, name, payload, f"template-{number}")


def _fill(store: Path, name: str, payload: str) -> None:
    """A session, a project and a run in which everything is a payload."""
    with Session.open(store, name, budget=4_000, system=payload) as session:
        session.extend([user(payload), calls(call("c", "bash", command=payload)), result("c", payload * 20)])
        session.compile()
        session.extend([says(payload), user(payload)])
        session.compile()
        session.tag(kind="chat")
    with Session.open(store, f"run-{name}") as session:
        begun = Begun(issue=Issue(title=payload, description=payload), repo="/nowhere", personas=("developer",))
        session.record(WorkRecorded(step="begun", payload=msgspec.to_builtins(begun)))
        session.tag(work="run")
    with Store(store) as opened:
        node = Node(id="gotcha", type="gotcha", summary=payload, tags=(payload[:40],))
        Knowledge(opened, name).add(node, now="2026-01-01")


def _visited(browser: Browser, address: str, name: str, payload: str, template: str) -> str:
    context = browser.new_context()
    page = context.new_page()
    elsewhere: list[str] = []
    page.on(
        "request", lambda request: request.url.startswith((address, "data:", "blob:")) or elsewhere.append(request.url)
    )
    try:
        for path in _PAGES:
            page.goto(address + path.format(quote(name, safe=""), template=template))
            seen = "".join((_VAULT if path == "/settings" else _longest_line(payload)).split())
            try:
                page.wait_for_function(_IS_SEEN, arg=seen, timeout=_PATIENCE)
            except PatienceError:
                return f"{BROKEN}{path} does not show {seen} as it is"
            page.wait_for_timeout(100)
            if page.evaluate("window.stolen !== undefined"):
                return f"{BROKEN}{path} runs {name}"
        return f"{BROKEN}a page asked {elsewhere[0]}" if elsewhere else "shown, not run"
    finally:
        context.close()


def _longest_line(payload: str) -> str:
    """The line of a payload that does harm, without what only turns it around."""
    return max(payload.replace("\u202e", "").splitlines(), key=len)[:_SHOWN]


@contextmanager
def _browser() -> Iterator[Browser]:
    # Only here: the tests of pages load it as a plugin, which must come first.
    from tests.browser import NAMES

    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise RuntimeError(f"no browser found: install one of {', '.join(NAMES)}")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield running
        finally:
            running.close()
