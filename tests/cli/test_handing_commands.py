"""Handing over, correcting and taking back on the command line: each with what it says and what it changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from foveate.cli.main import app
from tests.store import engines


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Each test is in a project of its own, and nothing of the person who runs it is touched."""
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FOVEATE_STORE", str(tmp_path / "context.db"))
    monkeypatch.delenv("FOVEATE_PROJECT", raising=False)
    return folder


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def good(*arguments: str, **options: Any) -> Result:
    done = run(*arguments, **options)
    assert done.exit_code == 0, done.stderr or done.exception
    return done


def bad(*arguments: str, **options: Any) -> str:
    done = run(*arguments, **options)
    assert done.exit_code in (1, 2) and done.stderr.startswith("foveate: "), (done.stdout, done.stderr)
    return done.stderr


def node(id: str) -> dict[str, Any]:
    return json.loads(good("knowledge", "show", id, "--json").stdout)


def test_a_node_is_changed_and_what_is_not_given_stays() -> None:
    good("knowledge", "add", "insight", "Other", "--id", "i")
    good(
        "knowledge", "add", "gotcha", "It leaks", "--id", "g", "--tag", "db", "--severity", "high", "--rationale", "old"
    )
    assert "g is changed" in good("knowledge", "update", "g", "--summary", "Pools leak", "--connect", "i").stdout
    changed = node("g")
    assert (changed["summary"], changed["tags"], changed["severity"]) == ("Pools leak", ["db"], "high")
    assert (changed["rationale"], changed["connections"]) == ("old", ["i"])
    good("knowledge", "update", "g", "--tag", "pool", "--severity", "low", "--rationale", "")
    changed = node("g")
    assert (changed["tags"], changed["severity"], changed.get("rationale")) == (["pool"], "low", None)
    assert "nothing to change of 'g'; give `--summary`" in bad("knowledge", "update", "g")
    assert "did you mean 'g'" in bad("knowledge", "update", "gg", "--summary", "x")


def test_a_retirement_can_be_taken_back_and_messages_say_how() -> None:
    """Each remedy is a command that can be typed."""
    good("knowledge", "add", "pattern", "Use cents", "--id", "p")
    good("knowledge", "add", "pattern", "Use whole cents", "--id", "q")
    assert "`foveate knowledge update p`" in bad("knowledge", "add", "pattern", "x", "--id", "p")
    good("knowledge", "retire", "p")
    assert "`foveate knowledge retire p --undo` puts it back" in bad("knowledge", "merge", "q", "p")
    assert "p is found again" in good("knowledge", "retire", "p", "--undo").stdout
    assert "Use cents" in good("knowledge", "query", "cents").stdout


def test_a_handoff_that_comes_again_corrects_the_task() -> None:
    handoff = "Paging is done.\n\n```yaml\noutcome: completed\n```\n"
    given = ("handoff", "ingest", "-", "--task", "T1")
    good(*given, "--name", "Ordres", "--summary", "Read with cursors", "--depends-on", "T0", stdin=handoff)
    assert "nothing changed" in good(*given, stdin=handoff).stdout
    said = good(*given, "--name", "Orders", "--tag", "orders", stdin=handoff).stdout
    assert "was taken in already; name, summary, tags or dependencies were changed" in said
    (task,) = json.loads(good("journal", "--json").stdout)["tasks"]
    assert (task["name"], task["summary"], task["tags"]) == ("Orders", "Read with cursors", ["orders"])
    assert task["dependencies"] == ["T0"] and node("T1")["summary"] == "Orders"


def test_what_was_retired_and_is_said_again_is_told() -> None:
    handoff = "outcome: completed\ngotchas: [{issue: Pools leak}]"
    good("handoff", "ingest", "-", "--task", "T1", stdin=handoff)
    good("knowledge", "retire", "gotcha-001")
    said = good("handoff", "ingest", "-", "--task", "T2", stdin=handoff).stderr
    assert "said again, but retired: gotcha-001; `foveate knowledge retire ID --undo`" in said


def test_the_journal_says_all_that_stands_in_the_way_and_what_is_next() -> None:
    blocked = (
        "outcome: blocked\nblockers: [{blocker: No key, impact: cannot test, suggested_resolution: ask Ann, "
        "blocking_tasks: [T0]}]\nsuggested_next_steps: [{step: Migrate, priority: high, depends_on: [T0]}]\n"
        'open_questions: [{question: "Which currency?", recommendation: EUR, blocking: true}]'
    )
    good("handoff", "ingest", "-", "--task", "T1", "--name", "Keys", stdin=blocked)
    assert good("journal").stdout.splitlines()[-6:] == [
        "! T1: No key",
        "    impact: cannot test",
        "    resolution: ask Ann",
        "    tasks: T0",
        "? T1: Which currency? (blocking) → EUR",
        "> T1: Migrate (high) (after T0)",
    ]


def test_what_is_salvaged_is_marked_in_the_journal() -> None:
    done = good("handoff", "ingest", "-", "--task", "T1", "--lenient", stdin="We did not finish.")
    assert done.stdout.startswith("partial: ") and "--lenient" not in done.stderr
    assert "in_progress (salvaged)" in good("journal").stdout
    assert "the text is empty" in bad("handoff", "ingest", "-", "--task", "T1", "--lenient", stdin=" ")


def test_a_map_is_that_of_the_project_it_is_built_from(tmp_path: Path) -> None:
    """Whoever builds the map of another repository does not find it on the own one, unless it is asked for."""
    other = tmp_path / "garden"
    (other / ".git").mkdir(parents=True)
    (other / "plants.py").write_text("def grow():\n    pass\n")
    assert "1 place on the map of project garden, 1 file read" in good("map", "build", "../garden").stdout
    assert json.loads(good("map", "show", "--json").stdout) == []
    assert [one["location"] for one in json.loads(good("map", "show", "--json", "--project", "garden").stdout)] == [
        "plants.py"
    ]
    assert "of project shop" in good("map", "build", "../garden", "--project", "shop").stdout


def test_a_folder_of_a_project_without_git_is_on_its_map(shop: Path) -> None:
    (shop / "src").mkdir()
    (shop / "src" / "a.py").write_text("def a():\n    pass\n")
    assert "of project shop" in good("map", "build", "src").stdout
    assert [one["location"] for one in json.loads(good("map", "show", "--json").stdout)] == ["src/a.py"]


def test_a_task_is_read_as_people_write_it(shop: Path) -> None:
    """A field that is left empty is not there; a blank objective and a budget too small are refused with a remedy."""
    task = shop / "task.yaml"
    task.write_text("objective: Add a refund\ndependencies:\nname:\n")
    assert "## Context (Computed)" in good("context", "task.yaml").stdout
    assert "`budget` is 10 tokens" in bad("context", "task.yaml", "--budget", "10")
    task.write_text('objective: "   "')
    assert "`objective` is blank; say in a sentence" in bad("context", "task.yaml")


def test_a_folder_without_memories_is_refused(shop: Path) -> None:
    (shop / "memories").mkdir()
    assert "no memory in 'memories': 0 *.md file(s)" in bad("knowledge", "import", "memories")


def test_a_database_without_our_tables_knows_nothing(request: pytest.FixtureRequest, shop: Path) -> None:
    """As with a file that is not there: a context says so, and makes nothing."""
    url = engines.fresh_postgresql(request)
    (shop / "task.yaml").write_text("objective: Add a refund")
    assert "Nothing is known for this task yet." in good("context", "task.yaml", "--store", url).stdout
    assert "nothing is known yet: no store at" in bad("journal", "--store", url)
