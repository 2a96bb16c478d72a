"""The pages of the benchmark: written from results, the same for the same results, and readable in a browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bench.blocks import Items, Table
from bench.outcome import ReplayOutcome, saved
from bench.participants import violations
from bench.report import BEGIN, END, headline, refreshed, written
from bench.standings import contests
from markdown_it import MarkdownIt
from tests.bench.report_outcomes import engine, growth, recall, replay

from foveate.errors import ConfigError

if TYPE_CHECKING:
    from tests.browser import Visit

pytest_plugins = ["tests.browser"]

ROOT = Path(__file__).parents[2]
PARTS = {"replay": replay, "growth": growth, "engine": engine, "recall": recall}
SMALL = {
    **PARTS,
    "replay": lambda: replay(count=12, sessions=2, budgets=(8_000,)),
    "growth": lambda: growth((100, 1_000)),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of all four parts."""
    made = tmp_path_factory.mktemp("benchmarks")
    for name, outcome in PARTS.items():
        saved(outcome(), made / "results" / f"{name}.json")
    written(made)
    return made


class Reader(HTMLParser):
    """The cells of all tables, all ids, and all links within the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self._cell: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.add(tag)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [value for key, value in attrs if key == "href" and value]
        if tag in {"td", "th"}:
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"} and self._cell is not None:
            self.cells.append("".join(self._cell))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)


def texts(folder: Path) -> dict[str, bytes]:
    """All that was written, by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != "results"
    }


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    """Whatever the order of sets and hashes, in this process or in another."""
    saved(replay(count=10, sessions=3, budgets=(8_000,)), tmp_path / "results" / "replay.json")
    saved(recall(), tmp_path / "results" / "recall.json")
    paths = written(tmp_path)
    before = texts(tmp_path)
    written(tmp_path)

    assert texts(tmp_path) == before
    assert {str(path.relative_to(tmp_path)) for path in paths} == set(before)

    program = f"from pathlib import Path; from bench.report import written; written(Path({str(tmp_path)!r}))"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, env=environment)
    assert texts(tmp_path) == before


@pytest.mark.parametrize("part", PARTS)
def test_each_part_makes_a_page_by_itself(part: str, tmp_path: Path) -> None:
    """What was not measured is not on the page; the limits always are."""
    saved(SMALL[part](), tmp_path / "results" / f"{part}.json")

    written(tmp_path)

    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    chapters = {"replay": "Verdicts", "growth": "Growth", "engine": "A real engine", "recall": "Recall"}
    assert [name for name, chapter in chapters.items() if chapter in headings] == [part]
    assert headings[-1] == "What this does not show"


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    """The error names the folder and the command that fills it."""
    with pytest.raises(ConfigError, match=r"no results in .*results; `foveate-bench replay`"):
        written(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["{", "[]", '{"stamp": 3}', "", '{"stamp": "\\ud800"}'])
def test_a_broken_result_is_refused_and_the_old_pages_stay(content: str, tmp_path: Path) -> None:
    """The error names the file."""
    saved(recall(), tmp_path / "results" / "recall.json")
    written(tmp_path)
    before = texts(tmp_path)
    (tmp_path / "results" / "growth.json").write_text(content, encoding="utf-8")

    with pytest.raises(ConfigError, match=r"growth\.json is no result of this version: .*; measure it again"):
        written(tmp_path)

    assert texts(tmp_path) == before


def test_results_without_runs_or_arms_still_make_pages(tmp_path: Path) -> None:
    """A measurement that was cut short is shown as what it is."""
    empty = ReplayOutcome(stamp=replay(count=1, sessions=1).stamp, arms=(), peers=(), runs=())
    bare = replay(count=4, sessions=0, budgets=(8_000,))
    for outcome in (empty, bare, replace(bare, arms=())):
        saved(outcome, tmp_path / "results" / "replay.json")
        saved(replace(growth((100,)), curves=(), live=()), tmp_path / "results" / "growth.json")
        saved(replace(engine(), rows=(), sessions=()), tmp_path / "results" / "engine.json")
        saved(
            replace(recall(), tables=(replace(recall().tables[0], rows=(), kinds={}),)),
            tmp_path / "results" / "recall.json",
        )

        written(tmp_path)

        assert "nan" not in (tmp_path / "README.md").read_text(encoding="utf-8").lower().split()


def test_plots_of_what_is_no_longer_measured_go(tmp_path: Path) -> None:
    """An old plot would be taken for one of these results."""
    saved(recall(), tmp_path / "results" / "recall.json")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "old.svg").write_text("<svg/>", encoding="utf-8")

    paths = written(tmp_path)

    assert sorted((tmp_path / "figures").iterdir()) == sorted(path for path in paths if path.suffix == ".svg")


def test_both_pages_have_the_same_tables(folder: Path) -> None:
    """Read as a Markdown viewer reads the one and a browser the other."""
    viewed = MarkdownIt("commonmark").enable("table").render((folder / "README.md").read_text(encoding="utf-8"))

    cells = Reader(viewed).cells

    assert cells == Reader((folder / "index.html").read_text(encoding="utf-8")).cells
    assert {"foveate", "headroom-compress", "0.000", "no", "yes"} <= {
        cell.split(" †")[0].split(":")[0] for cell in cells
    }


def test_every_table_and_figure_names_its_command(folder: Path) -> None:
    """One looks underneath to see how to do it again."""
    lines = [line for line in (folder / "README.md").read_text(encoding="utf-8").splitlines() if line]
    ends = [
        place
        for place, line in enumerate(lines)
        if (line.startswith("|") and not lines[place + 1].startswith("|")) or lines[place - 1].startswith("![")
    ]

    assert len(ends) > 20
    assert {lines[place + 1] for place in ends} == {"From: `uv run foveate-bench replay`"}


def test_all_links_lead_somewhere(folder: Path) -> None:
    """To a heading of the page, a figure or a result."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    slugs = {
        re.sub(r"[^\w\s-]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }
    links = re.findall(r"\]\(([^)]+)\)", text)
    page = Reader((folder / "index.html").read_text(encoding="utf-8"))

    assert [link for link in links if link.startswith("#") and link[1:] not in slugs] == []
    assert [link for link in links if not link.startswith("#") and not (folder / link).exists()] == []
    assert [link for link in page.links if link.startswith("#") and link[1:] not in page.ids] == []
    assert len(page.ids) == len(set(page.ids))


def test_a_text_of_others_is_shown_as_it_is(folder: Path) -> None:
    """Neither page takes a peer's error for markup."""
    reason = "hello: it ended; ImportError: no module `x|y` <here> [1]*"
    text = (folder / "README.md").read_text(encoding="utf-8")
    viewed = MarkdownIt("commonmark").render(text[text.index("## Peers that could not run") :])

    shown = reason.replace("<", "&lt;").replace(">", "&gt;")
    assert shown in viewed
    assert shown in (folder / "index.html").read_text(encoding="utf-8")


def test_the_page_says_what_is_generated_and_who_could_not_run(folder: Path) -> None:
    """Nobody takes made-up sessions for recorded ones."""
    text = (folder / "README.md").read_text(encoding="utf-8")

    assert "## 100,000 tokens, generated" in text
    assert "**generated**, not recorded" in text
    assert "**memgpt**" in text
    assert "(not its default)" in text
    assert "(knows no budget)" in text
    assert "2 more were left out at this budget" in text


def test_the_page_opens_without_network_or_scripts(folder: Path, browser_page: Visit) -> None:
    """At any width only tables and plots scroll sideways, never the page; the head of a table stays."""
    page = browser_page.page
    page.goto((folder / "index.html").as_uri())

    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    box = page.locator(".numbers .scroll").nth(9)
    box.evaluate("box => box.scrollTo(60, 500)")
    head, first = (
        box.evaluate(
            f"box => {{ const a = box.getBoundingClientRect(), b = box.querySelector('{cell}')"
            ".getBoundingClientRect(); return [b.left - a.left, b.top - a.top]; }"
        )
        for cell in ("thead th", "tbody tr:last-child th")
    )
    assert max(head) < 3
    assert first[0] < 3

    assert Reader((folder / "index.html").read_text(encoding="utf-8")).tags.isdisjoint({"script", "link", "img"})
    assert browser_page.complaints == []
    assert browser_page.requests == []


def test_plots_follow_light_and_dark_and_say_what_they_show(folder: Path, browser_page: Visit) -> None:
    """A plot's ground is the page's, its text stands out from it, and it has words for who cannot see it."""
    page = browser_page.page
    page.goto((folder / "index.html").as_uri())
    grounds = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        ground, ink = page.evaluate(
            "() => ['path', 'text'].map(tag => getComputedStyle(document.querySelector('.drawing ' + tag)).fill"
            ".match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0))"
        )
        assert abs(ground - ink) > 250
        grounds.append(ground)
    assert grounds[0] > 700
    assert grounds[1] < 200
    labels = page.eval_on_selector_all("svg", "all => all.map(one => one.getAttribute('aria-label'))")
    assert len(labels) == 10
    assert all(len(label) > 30 for label in labels)


def test_no_text_of_a_plot_covers_another(folder: Path, browser_page: Visit) -> None:
    """With the fonts of a browser, not of the program that drew it."""
    page = browser_page.page
    page.goto((folder / "index.html").as_uri())

    clashes = page.evaluate(
        """() => [...document.querySelectorAll('svg')].flatMap(svg => {
          const all = [...svg.querySelectorAll('text')].map(one => [one.textContent, one.getBoundingClientRect()]);
          return all.flatMap(([a, p], place) => all.slice(place + 1).filter(([b, q]) =>
            Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2 &&
            Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 6).map(([b]) => `${a} / ${b}`));
        })"""
    )

    assert clashes == []


def test_the_headline_has_foveate_the_strongest_peers_and_the_untouched_history() -> None:
    """Peers are chosen by rule, one arm for each package and the cheapest of all, and only such as can be sent."""
    table, note = headline(replay()).split("\n\n")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]

    assert rows[0] == [
        "",
        *(
            f"{budget}: {column}"
            for budget in ("8,000", "32,000")
            for column in ("invalid / over / not made", "cost (95 %)", "references kept (95 %)")
        ),
    ]
    names = [row[0] for row in rows[2:]]
    assert names[0] == "**foveate**"
    assert names[-1] == "untouched"
    assert len(names) <= 10
    assert {"**foveate-patient**", "**foveate-transparent**"} < set(names)
    assert {"langchain-trim", "haystack-sliding", "agent-framework-truncation"} < set(names)
    assert not {"autogen-token-limited", "langchain-clear", "pydantic-ai-harness-tiered"} & set(names)

    assert "12 sessions with 480 calls at 8,000 tokens and 12 sessions with 480 calls at 32,000 tokens" in note
    assert "\n" not in note


def test_calls_without_a_request_are_listed_with_their_reason() -> None:
    """Of an arm that was given up for its time one sees at how many calls, and why."""
    outcome = replay(count=12, sessions=2, budgets=(8_000,))
    reason = "codex-0001 call 7: not measured: given up: it took more than 900 s for the calls before"
    slow = tuple(replace(row, calls=25, sent=25, unmeasured=15) for row in outcome.runs[0].tallies["langchain-clear"])
    run = replace(
        outcome.runs[0],
        tallies={**outcome.runs[0].tallies, "langchain-clear": slow},
        problems={"langchain-clear": (reason, reason.replace("7", "8"))},
    )

    blocks = violations(contests(replace(outcome, runs=(run,))), "make")

    (table,) = [block for block in blocks if isinstance(block, Table)]
    assert [row.cells for row in table.rows] == [
        ("langchain-clear", "8,000, recorded", reason.partition(": ")[2], "0", "0", "50", "30")
    ]
    (examples,) = [block for block in blocks if isinstance(block, Items)]
    assert examples.items == (f"**langchain-clear**, 8,000 tokens, recorded: `{reason}`",)


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    """Of the engine's arms and sessions, and of logs that could not be read."""
    left_out = ("drop-exact, codex-2: the time was up",)
    rows = (replace(engine().rows[0], calls=33, refused=7), *engine().rows[1:])
    saved(replace(engine(), rows=rows, left_out=left_out), tmp_path / "results" / "engine.json")
    saved(replace(SMALL["replay"](), left_out=("log.jsonl: no session",)), tmp_path / "results" / "replay.json")

    written(tmp_path)

    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert f"- {left_out[0]}\n" in text
    assert re.search(r"^\| untouched \| claude\\_code-1 \| 33 \|.*\| 7 \|$", text, re.MULTILINE)
    assert "Logs that were left out (1):\n\n- log.jsonl: no session" in text


def test_the_page_says_how_methods_of_recall_work_and_how_alike_generated_sessions_are(folder: Path) -> None:
    """Both stand beside the numbers they belong to."""
    text = (folder / "README.md").read_text(encoding="utf-8")

    assert "- **recency**: the newest whole messages that fit." in text
    assert "| references due at a call | 3.00 | 3.00 |" in text
    assert "python -m bench.likeness" in text
    assert "a single one has 8 % at 8,000 tokens and 8 % at 32,000 tokens" in text


def test_the_readme_gets_the_headline_between_its_marks(tmp_path: Path) -> None:
    """What stands around it stays, and doing it again changes nothing."""
    readme = tmp_path / "README.md"
    readme.write_text(f"# A\n\n{BEGIN}\nold\n{END}\n\nafter {{}} \\1\n", encoding="utf-8")
    outcome = replay(count=12, sessions=2)

    assert refreshed(readme, outcome)
    assert not refreshed(readme, outcome)

    assert readme.read_text(encoding="utf-8") == f"# A\n\n{BEGIN}\n\n{headline(outcome)}\n\n{END}\n\nafter {{}} \\1\n"


@pytest.mark.parametrize("text", ["# A\n", f"{BEGIN}\n", f"{END}\n{BEGIN}\n", f"{BEGIN}{END}{BEGIN}{END}"])
def test_a_readme_without_marks_is_refused_and_stays(text: str, tmp_path: Path) -> None:
    """The error names the file and the marks."""
    readme = tmp_path / "README.md"
    readme.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError, match=r"README\.md must have <!-- benchmark:begin --> once"):
        refreshed(readme, replay(count=4, sessions=2))

    assert readme.read_text(encoding="utf-8") == text
