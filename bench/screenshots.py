"""Pictures of the web app, made from our own sample: `python -m bench.screenshots [FOLDER]`.

Without a folder, those that the documentation shows are made anew; with one, all pages in light and dark, wide and
narrow, are put into it to be looked at.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from bench.serving import serving
from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import Node
from foveate.log.events import Tagged, WorkRecorded
from foveate.session import Session
from foveate.store import Store

ASSETS = Path(__file__).resolve().parents[1] / "docs" / "assets"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SAMPLE = "id=sample"


class Scene(NamedTuple):
    """A page, and what is done on it before the picture is taken."""

    name: str
    path: str
    click: str = ""
    wait: str = ""
    scroll: int = 0


SCENES = (
    Scene("home", "/"),
    Scene("timeline", f"/session?{SAMPLE}", wait=".nicegui-echart canvas"),
    Scene("call", f"/call?{SAMPLE}&n=112", wait=".piece"),
    Scene("request", f"/call?{SAMPLE}&n=112", wait=".piece", scroll=760),
    Scene("log", f"/log?{SAMPLE}&message=m57", wait="text=Which calls saw this"),
    Scene("next", f"/next?{SAMPLE}", wait=".piece"),
    Scene("difference", f"/diff?{SAMPLE}&a=107&b=108"),
    Scene("lab", f"/lab?{SAMPLE}", click="button:has-text('Compare')", wait="h2:has-text(' calls')"),
    Scene("knowledge", "/knowledge?node=decision-001", wait=".nicegui-echart canvas"),
    Scene("work", "/work?run=refund-endpoint", wait=".nicegui-echart canvas"),
    Scene("settings", "/settings"),
)
SHOWN = {("timeline", "light"), ("timeline", "dark"), ("call", "light"), ("log", "light"), ("lab", "light")}


def main(folder: Path | None) -> None:
    program = next(filter(None, map(which, BROWSERS)), None)
    if program is None:
        sys.exit(f"no browser found: install one of {', '.join(BROWSERS)}")
    with TemporaryDirectory() as temporary, sync_playwright() as playwright:
        store = Path(temporary) / "agent.db"
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        with serving(store) as address:
            _first_visit(browser, address)
            _furnish(store)
            for path, scene, page in _pages(browser, address, folder):
                _taken(page, address, scene, path)
                print(path)
        browser.close()


def _pages(browser: Browser, address: str, folder: Path | None) -> Iterator[tuple[Path, Scene, Page]]:
    del address
    for theme in ("light", "dark"):
        for width, height in ((1280, 860), (390, 844)):
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme="dark" if theme == "dark" else "light"
            )
            page = context.new_page()
            for scene in SCENES:
                if folder is not None:
                    yield folder / f"{scene.name}-{theme}-{width}.png", scene, page
                elif (scene.name, theme) in SHOWN and width == 1280:
                    yield ASSETS / f"app-{scene.name}-{theme}.png", scene, page
            context.close()


def _taken(page: Page, address: str, scene: Scene, path: Path) -> None:
    page.goto(address + scene.path)
    page.wait_for_selector("#content > *")
    page.wait_for_function("document.querySelectorAll('.waiting').length === 0", timeout=120_000)
    if scene.click:
        page.click(scene.click)
    if scene.wait:
        page.wait_for_selector(scene.wait, timeout=120_000)
    page.evaluate(f"scrollTo(0, {scene.scroll})")
    # Charts are drawn a moment after their data is there.
    page.wait_for_timeout(1_200)
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)


def _first_visit(browser: Browser, address: str) -> None:
    """Have the server put its sample into the empty store."""
    page = browser.new_page()
    page.goto(address)
    page.wait_for_selector("tbody tr", timeout=120_000)
    page.close()


NODES = (
    Node(id="decision-001", type="decision", summary="Amounts are integer cents everywhere", tags=("money", "api"),
         rationale="Floats lost a cent on three invoices", connections=("gotcha-001", "pattern-001")),
    Node(id="gotcha-001", type="gotcha", summary="Invoice rounding broke when lines were summed as floats",
         tags=("money", "invoices"), severity="high", file="harbor/billing/invoices.py"),
    Node(id="pattern-001", type="pattern", summary="Check money with require_cents at every boundary",
         tags=("money", "validation"), file="harbor/core/money.py"),
    Node(id="gotcha-002", type="gotcha", summary="Reservations expire by the wall clock; tests need a fake one",
         tags=("testing", "inventory"), severity="medium", connections=("pattern-002",)),
    Node(id="pattern-002", type="pattern", summary="Pass the clock in; never call time() inside a service",
         tags=("testing", "time")),
    Node(id="decision-002", type="decision", summary="Events carry ids and amounts, never whole orders",
         tags=("events", "api"), connections=("pattern-003", "decision-001")),
    Node(id="pattern-003", type="pattern", summary="One module per event, named after what happened", tags=("events",)),
    Node(id="insight-001", type="insight", summary="The warehouse filters its mail by the event's name",
         tags=("events", "warehouse"), connections=("decision-002",)),
    Node(id="task-refund", type="task", summary="Refund endpoint", tags=("refunds", "api"),
         connections=("decision-001", "pattern-001", "decision-002")),
    Node(id="task-low-stock", type="task", summary="Low-stock alerts", tags=("inventory", "warehouse"),
         connections=("insight-001", "gotcha-002")),
)  # fmt: skip

TASKS = (
    ("model", "Refund as a value with its reason and amount in cents", "completed", ()),
    ("store", "Keep refunds beside their orders", "completed", ("model",)),
    ("endpoint", "POST /orders/{id}/refunds", "completed", ("model",)),
    ("event", "Tell the warehouse that goods come back", "in_progress", ("store", "endpoint")),
    ("docs", "Document the endpoint", "pending", ("endpoint",)),
    ("release", "Release notes", "pending", ("event", "docs")),
)


def _furnish(path: Path) -> None:
    """Put some knowledge and a run into a store, so that every page has something to show."""
    with Store(path) as store:
        knowledge = Knowledge(store, "harbor")
        for node in NODES:
            knowledge.add(node, now="2026-01-15")
    run = "refund-endpoint"
    issue = {
        "title": "Refunds",
        "description": "Customers get their money back, whole or in part, and the shop knows why.",
    }
    plan = [
        {"id": id, "description": text, "dependencies": list(needs)} for id, text, _, needs in TASKS
    ]  # fmt: skip
    with Session.open(path, run) as session:
        session.record(
            Tagged(tags={"work": "run"}),
            WorkRecorded(step="begun", payload={"issue": issue, "repo": "/srv/harbor", "personas": ["General"]}),
            WorkRecorded(step="planned", payload={"tasks": plan}),
        )
        for id, _, state, _ in TASKS:
            if state != "pending":
                session.record(WorkRecorded(step="started", task_id=id, payload={"round": 1, "tree": "0" * 40}))
            if state == "completed":
                review = {"persona": "General", "approved": True, "comments": ["Small, and tested at its edges."]}
                session.record(WorkRecorded(step="reviewed", task_id=id, payload=review))
                session.record(WorkRecorded(step="finished", task_id=id))
    for id, _, state, _ in TASKS:
        if state == "pending":
            continue
        with Session.open(path, f"{run}/{id}", budget=8_000, system="You carry out one task of a plan.") as session:
            session.tag(agent="Developer", run=run, task=id)
            session.append({"role": "user", "content": f"Carry out the task {id}."})
            session.compile()
            session.append({"role": "assistant", "content": "Done; the tests pass."})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
