"""The commands for what a project knows: what they print, what they keep, and what they say when something is wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from foveate.cli.main import app
from foveate.store import Store

HANDOFF = """
outcome: completed
files_created: [{path: src/money.py, purpose: amounts, lines: 1-40}]
patterns_discovered: [{pattern: 金额用整数分表示, location: src/money.py, applies_to: [billing]}]
gotchas: [{issue: The database rounds, severity: high, mitigation: cast first}]
dependencies_for_next: [{file: src/money.py, reason: has the helpers}]
open_questions: [{question: "Which currency?", context: orders, recommendation: ask, blocking: true}]
"""
TASK = "objective: Add a refund to billing\ndependencies: [T1]"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with nothing in it, to be copied: making its tables takes longer than a command."""
    path = tmp_path_factory.mktemp("empty") / "context.db"
    with Store(path):
        return path


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, empty: Path) -> Path:
    """Each test is in a project of its own, and nothing of the person who runs it is touched."""
    folder = tmp_path / "shop"
    folder.mkdir()
    shutil.copy(empty, tmp_path / "context.db")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FOVEATE_STORE", str(tmp_path / "context.db"))
    monkeypatch.delenv("FOVEATE_PROJECT", raising=False)
    monkeypatch.delenv("DEBUG_CONTEXT", raising=False)
    return folder


def run(*arguments: str, stdin: str | bytes = "", env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin, env=env)


def good(*arguments: str, **options: Any) -> Result:
    done = run(*arguments, **options)
    assert done.exit_code == 0, done.stderr or done.exception
    return done


def bad(code: int, *arguments: str, **options: Any) -> str:
    done = run(*arguments, **options)
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    assert isinstance(done.exception, SystemExit), "no traceback"
    assert done.stderr.startswith("foveate: ")
    return done.stderr


def written(name: str, text: str | bytes) -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def learned() -> None:
    """One task of the project handed over what it learned."""
    good("handoff", "ingest", "-", "--task", "T1", "--name", "Money", "--summary", "made amounts", stdin=HANDOFF)


def add(*arguments: str) -> str:
    return good("knowledge", "add", *arguments).stdout.strip()


# --- context ------------------------------------------------------------------------------------------------------


def test_a_task_is_told_what_earlier_ones_learned() -> None:
    """Sections in their order, text of any script, dependencies with what they hand over; for machines JSON."""
    learned()
    text = good("context", written("task.yaml", TASK)).stdout
    assert text.startswith("## Context (Computed)\n\n### Patterns from Dependencies\n")
    assert "### Patterns from Dependencies\n- **金额用整数分表示** (see: src/money.py)" in text
    assert "### Warnings from Dependencies\n- ⚠️ **high**: The database rounds → cast first" in text
    assert "#### Money\nmade amounts\n\n**Files to Read:**\n- `src/money.py`: has the helpers" in text
    assert "- **Which currency?**\n  - Context: orders\n  - Recommendation: ask" in text
    as_json = json.loads(good("context", "task.yaml", "--json").stdout)
    assert as_json["inherited_patterns"][0]["pattern"] == "金额用整数分表示"
    assert "billing" in as_json["_computed"]["signals"]["keywords"] and "computed" not in as_json
    assert good("context", "-", stdin=TASK).stdout == text


def test_debug_says_how_a_context_came_about() -> None:
    """As an option and as a variable; without it nothing of that is printed."""
    learned()
    written("task.yaml", "objective: Fix src/money.py of the api")
    report = good("context", "task.yaml", "--debug").stdout.partition("## Context Debug")[2]
    assert "- Domains: [api]" in report and "- Files Mentioned: [src/money.py]" in report
    assert "- Total entries: 1\n- Entries after filter: 1\n" in report
    assert "## Context Debug" in good("context", "task.yaml", env={"DEBUG_CONTEXT": "true"}).stdout
    assert "## Context Debug" not in good("context", "task.yaml").stdout


def test_complexity_and_budget_say_how_much_is_told() -> None:
    nodes = [
        {"id": f"p{n}", "type": "pattern", "summary": f"way {n} {'word ' * 20}", "tags": ["api"]} for n in range(15)
    ]
    good("knowledge", "import", written("graph.json", json.dumps({"version": 1, "nodes": nodes})))
    written("task.yaml", "objective: Change the api\ncomplexity: easy")
    counts = {
        options: good("context", "task.yaml", *options).stdout.count("- **way")
        for options in ((), ("--complexity", "normal"), ("--complexity", "complex"))
    }
    assert list(counts.values()) == [3, 5, 10]
    assert "(12 more left out)" in good("context", "task.yaml").stdout
    good("knowledge", "import", written("more.json", json.dumps({"nodes": [{**one, "id": f"q{one['id']}"} for one in nodes]})))  # fmt: skip
    assert "(at least 17 more left out)" in good("context", "task.yaml").stdout
    short = json.loads(good("context", "task.yaml", "--complexity", "complex", "--budget", "200", "--json").stdout)
    kept = len(short["patterns_to_follow"])
    assert 0 < kept < 10 and short["left_out"]["patterns_to_follow"] == 20 - kept
    written("context.json", json.dumps(short))
    again = good("context", "context.json").stdout
    assert again == good("context", "task.yaml", "--complexity", "complex", "--budget", "200").stdout
    assert "`budget` is 10 tokens" in run("context", "task.yaml", "--budget", "10").stderr


def test_a_project_that_knows_nothing_says_so() -> None:
    assert good("context", written("task.json", '{"objective": "Do it"}')).stdout == (
        "## Context (Computed)\n\nNothing is known for this task yet.\n"
    )
    assert good("context", "task.json", "--store", "none.db").stdout == good("context", "task.json").stdout
    assert not Path("none.db").exists(), "who only reads makes nothing"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"objective": "x"', "task.json cannot be read"),
        ("objective: [", "task.json cannot be read"),
        ("", "task.json: it is empty; give fields: id, name, objective"),
        ("{}", "task.json: `objective` is missing; give a text"),
        ("objective: x\ncomplexity: huge", "`complexity` is 'huge'; known are complex, easy, normal"),
        ("objective: x\nsize: 1", "`size` is no field; known are id, name, objective"),
        (
            "id: 7\nobjective: x\ndependencies: T1",
            "`id` is 7; give a text, in quotes; `dependencies` is 'T1'; give a list",
        ),
        (b"\xff\xfe\x00", "cannot read 'task.json': it is not UTF-8 text"),
        (None, "cannot read 'task.json': No such file or directory"),
    ],
)
def test_a_task_that_cannot_be_read_is_refused_by_name(text: str | bytes | None, says: str) -> None:
    if text is not None:
        written("task.json", text)
    assert says in bad(2, "context", "task.json")


# --- projects and domains -----------------------------------------------------------------------------------------


def test_a_project_is_the_option_else_the_variable_else_the_directory(shop: Path) -> None:
    """The same rule for every command, and none sees what another project knows."""
    add("pattern", "of the directory", "--id", "a")
    add("pattern", "of the option", "--id", "a", "--project", "Café")
    good("knowledge", "add", "pattern", "of the variable", "--id", "a", env={"FOVEATE_PROJECT": "other"})
    said = {
        options: good("knowledge", "show", "a", *options).stdout
        for options in ((), ("--project", "shop"), ("--project", "Café"), ("--project", "other"))
    }
    assert [text.partition("summary: ")[2].splitlines()[0] for text in said.values()] == [
        "of the directory",
        "of the directory",
        "of the option",
        "of the variable",
    ]
    commands: Sequence[Sequence[str]] = (
        ["context"], ["knowledge", "add"], ["knowledge", "query"], ["knowledge", "show"], ["knowledge", "retire"],
        ["knowledge", "merge"], ["knowledge", "import"], ["knowledge", "export"], ["handoff", "ingest"], ["journal"],
        ["map", "build"], ["map", "show"], ["work", "run"],
    )  # fmt: skip
    for command in commands:
        text = " ".join(run(*command, "--help", env={"COLUMNS": "200"}).stdout.replace("│", " ").split())
        assert "--project" in text and "FOVEATE_PROJECT" in text and "name of the git repository" in text, command
    assert "`project` ' ' is no name" in bad(2, "knowledge", "query", "x", "--project", " ")


def test_a_folder_of_a_repository_is_no_other_project(shop: Path) -> None:
    """What is known at the top is known below, and the map has one place for a file."""
    (shop / ".git").mkdir()
    (shop / "src").mkdir()
    written("src/money.py", "def cents():\n    return 0\n")
    add("pattern", "Amounts are cents", "--tag", "billing")
    good("map", "build")
    os.chdir(shop / "src")
    assert "Amounts are cents" in good("knowledge", "query", "billing").stdout
    assert "1 place on the map of project shop, 0 files read" in good("map", "build").stdout
    good("map", "build", "..")
    assert [one["location"] for one in json.loads(good("map", "show", "--json").stdout)] == ["src/money.py"]
    assert "in project shop" in good("knowledge", "query", "zebra").stderr


def test_domains_of_a_project_come_from_its_file(shop: Path) -> None:
    """They are found in tasks, in what is handed over, and on the map; the nearest file above counts."""
    (shop / "foveate.toml").write_text('[knowledge.domains]\nbilling = ["invoice", "payment"]\n')
    good("handoff", "ingest", "-", "--task", "T1", "--name", "Invoices", stdin="outcome: completed\ngotchas: [{issue: It rounds}]")  # fmt: skip
    (shop / "src").mkdir()
    os.chdir(shop / "src")
    written("task.yaml", "objective: Refuse a payment")
    done = good("context", "task.yaml", "--debug", "--project", "shop").stdout
    assert "- Domains: [billing]" in done and "- ⚠️ **medium**: It rounds" in done
    assert "It rounds" not in good("context", "task.yaml", "--project", "another").stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[knowledge]\ndomain = 1", "unknown key `knowledge.domain`; known are domains"),
        ("[knowlege]", "unknown key `knowlege`; known are policies, replay, knowledge"),
        ("[knowledge]\ndomains = 1", "`knowledge.domains` must be a table, got 1"),
        ("[knowledge.domains]\nbilling = 'invoice'", "`knowledge.domains.billing` must be a list of texts"),
        ("[knowledge.domains]\nbilling = ['invoice', ' ']", "`knowledge.domains.billing` must be a name with a list"),
        ("[knowledge.domains]\n' ' = ['invoice']", "must be a name with a list of words"),
        ("[knowledge", "not TOML"),
    ],
)
def test_a_wrong_domain_is_named_with_file_and_key(shop: Path, text: str, says: str) -> None:
    (shop / "foveate.toml").write_text(text)
    said = bad(2, "context", written("task.yaml", "objective: x"))
    assert says in said and "foveate.toml" in said


# --- knowledge ----------------------------------------------------------------------------------------------------


def test_what_is_added_is_found_and_shown() -> None:
    """By tag and by word, best first, with what it is connected to."""
    first = add("pattern", "Amounts are integers of cents", "-t", "billing", "-t", "API", "--file", "src/money.py")
    second = add("gotcha", "数据库会四舍五入", "--tag", "billing", "--severity", "high", "--connect", first)
    assert (first, second) == ("pattern-001", "gotcha-001")
    table = good("knowledge", "query", "billings").stdout
    assert table.splitlines()[0].split() == ["id", "type", "score", "tags", "summary"] and "四舍五入" in table
    (found,) = json.loads(good("knowledge", "query", "integer", "--json").stdout)
    assert (found["id"], found["tags"]) == (first, ["billing", "api"]) and found["score"] > 0
    assert (
        "nothing is known about zebra stripes in project shop" in good("knowledge", "query", "zebra", "stripes").stderr
    )
    (only,) = json.loads(good("knowledge", "query", "billing", "--type", "gotcha", "--json").stdout)
    assert only["id"] == second
    shown = good("knowledge", "show", first).stdout
    assert "tags: billing, api" in shown and "→ gotcha-001 (gotcha): 数据库会四舍五入" in shown
    assert json.loads(good("knowledge", "show", first, "--json").stdout)["connected"][0]["id"] == second


def test_what_cannot_be_added_or_found_is_said() -> None:
    add("pattern", "one", "--id", "a")
    assert "node 'a' is there already" in bad(2, "knowledge", "add", "pattern", "two", "--id", "a")
    assert "`summary` is blank" in bad(2, "knowledge", "add", "pattern", " ")
    assert "no node 'b' in project 'shop'" in bad(1, "knowledge", "show", "b")
    assert "no node 'b'" in bad(1, "knowledge", "retire", "b")
    assert run("knowledge", "add", "rumour", "x").exit_code == 2
    for command in (("knowledge", "query", "x"), ("journal",), ("map", "show")):
        said = bad(1, *command, "--store", "nowhere.db")
        assert "no store at 'nowhere.db'" in said and "`foveate knowledge add`, `foveate map build`" in said
    assert not Path("nowhere.db").exists()
    assert "no node 'c' in project 'shop'" in bad(1, "knowledge", "add", "pattern", "two", "--connect", "c")
    assert "did you mean 'a'?" in bad(1, "knowledge", "add", "pattern", "two", "--connect", "ab")
    assert "connections: a" in good("knowledge", "show", add("pattern", "next", "--connect", "a")).stdout


def test_a_retired_node_is_found_no_more_and_kept() -> None:
    add("pattern", "Amounts are cents", "--tag", "billing")
    assert "pattern-001 is retired" in good("knowledge", "retire", "pattern-001").stdout
    assert "nothing is known" in good("knowledge", "query", "billing").stderr
    assert "retired: True" in good("knowledge", "show", "pattern-001").stdout


def test_nodes_that_say_the_same_are_listed_and_merged() -> None:
    for tag in ("billing", "api"):
        add("pattern", "Amounts are cents", "--tag", tag)
    assert good("knowledge", "merge").stdout == "pattern-001 pattern-002\n"
    assert "pattern-001 stands for 1 node more" in good("knowledge", "merge", "pattern-001", "pattern-002").stdout
    assert "tags: billing, api" in good("knowledge", "show", "pattern-001").stdout
    assert good("knowledge", "merge").stdout == ""
    assert "name the nodes to merge into 'pattern-001'" in bad(2, "knowledge", "merge", "pattern-001")


def test_a_graph_goes_out_and_comes_back_as_it_was() -> None:
    """All nodes, retired ones too, under another name the same."""
    add("pattern", "金额用分", "--tag", "billing", "--rationale", "integers do not round")
    add("decision", "Lists have cursors", "--connect", "pattern-001")
    good("knowledge", "retire", "decision-001")
    graph = good("knowledge", "export").stdout
    assert "金额用分" in graph
    assert "2 nodes taken in" in good("knowledge", "import", written("graph.json", graph), "--project", "b").stdout
    again = json.loads(good("knowledge", "export", "--project", "b").stdout)
    assert {**again, "last_updated": ""} == {**json.loads(graph), "last_updated": ""}


def test_memories_are_taken_in() -> None:
    Path("memories").mkdir()
    written("memories/2025-11-03-a.md", "---\ntype: decision\ntags: [orders]\n---\n# 保留\n\n## Decision\nKept for ten years.\n")  # fmt: skip
    assert "1 memory file taken in" in good("knowledge", "import", "memories").stdout
    assert "1 memory file taken in" in good("knowledge", "import", "memories/2025-11-03-a.md").stdout
    assert "Kept for ten years." in good("knowledge", "query", "orders").stdout
    written("memories/b.md", "no front matter")
    assert "left out, as it has no front matter: memories/b.md" in good("knowledge", "import", "memories").stderr
    assert "has no front matter" in bad(2, "knowledge", "import", "memories/b.md")
    Path("memories/c.md").symlink_to("/dev/zero")
    said = good("knowledge", "import", "memories").stderr
    assert "left out, as it is a link that leads out of the folder: memories/c.md" in said


@pytest.mark.parametrize("command", [("context",), ("knowledge", "import"), ("handoff", "check")])
def test_what_never_ends_is_refused(command: tuple[str, ...]) -> None:
    """A device is no file to read; the error says what it is, and no memory runs out."""
    assert "cannot read '/dev/zero': it is a device; give a regular file" in bad(2, *command, "/dev/zero")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"nodes": [', "graph.json cannot be read"),
        ("[]", "a knowledge graph is an object with `nodes`"),
        ('{"version": 9, "nodes": []}', "`version` 9, known is 1"),
        ('{"nodes": [{"id": "a", "type": "pattern"}]}', "nodes[0] 'a': `summary` is missing; give a text"),
        ('{"nodes": [{"id": "a", "type": "pattern", "summary": "x", "created": "soon"}]}', "'soon' is no date"),
        (b"\xff", "cannot read 'graph.json'"),
        (None, "cannot read 'graph.json'"),
    ],
)
def test_a_graph_that_is_broken_is_refused_whole(text: str | bytes | None, says: str) -> None:
    if text is not None:
        written("graph.json", text)
    assert says in bad(2, "knowledge", "import", "graph.json")
    assert json.loads(good("knowledge", "export").stdout)["nodes"] == []


# --- handoffs, journal and map ------------------------------------------------------------------------------------


def test_a_handoff_is_checked_rule_by_rule() -> None:
    """Exit code 4 and every broken rule with its field; nothing is stored by looking."""
    assert good("handoff", "check", written("handoff.yaml", HANDOFF)).stdout == "the handoff is right: completed\n"
    done = run("handoff", "check", "-", stdin="outcome: partial\nfiles_created: [{path: /x, lines: z}]")
    assert (done.exit_code, done.stdout.splitlines()) == (
        4,
        [
            "`outcome` partial needs `blockers`: what kept it from being completed",
            "`outcome` partial needs `suggested_next_steps`",
            "`files_created[0].path` is '/x'; give a path relative to the project",
            "`files_created[0].lines` is 'z'; give a range such as 10-42, or all",
        ],
    )
    done = run("handoff", "check", "-", "--changed", "src/a.py", stdin="outcome: completed")
    assert done.exit_code == 4 and "files were changed: 'src/a.py'; name them" in done.stdout
    assert run("handoff", "check", "-", stdin='{"outcome": ').exit_code == 4
    prose = run("handoff", "check", "-", stdin="All done: it works.")
    assert prose.exit_code == 4 and "the text has no handoff" in prose.stdout and "--lenient" in prose.stdout
    both = run("handoff", "check", "-", stdin="outcome: done\ngotchas: [{severity: huge}]")
    assert len(both.stdout.splitlines()) == 3 and "`gotchas[0].issue` is missing" in both.stdout
    assert "cannot read 'none.yaml'" in bad(2, "handoff", "check", "none.yaml")
    assert "cannot read 'bytes.yaml'" in bad(2, "handoff", "check", written("bytes.yaml", b"\xff\xfe"))
    assert "cannot read '-': it is not UTF-8" in bad(
        2, "handoff", "ingest", "-", "--task", "T", "--lenient", stdin=b"\xff"
    )


def test_a_handoff_is_taken_in_once() -> None:
    """Graph, map and journal have it; a second time changes nothing."""
    given = ("handoff", "ingest", written("handoff.yaml", HANDOFF), "--task", "T1")
    assert "completed: 3 nodes added, 0 merged, 1 place on the map, 0 blockers" in good(*given).stdout
    graph = good("knowledge", "export").stdout
    assert "was taken in already; nothing changed" in good(*given).stdout
    assert good("knowledge", "export").stdout == graph
    assert [one["status"] for one in json.loads(good("journal", "--json").stdout)["tasks"]] == ["completed"]


def test_a_handoff_that_breaks_rules_changes_nothing_unless_one_is_lenient() -> None:
    """Lenient keeps what is right and says what was not; of free text it keeps what the words give away."""
    broken = "outcome: failed\ngotchas: [{issue: The lock is held, severity: huge}]"
    assert "failed needs `blockers`" in bad(1, "handoff", "ingest", "-", "--task", "T1", stdin=broken.replace("huge", "low"))  # fmt: skip
    assert json.loads(good("journal", "--json").stdout)["tasks"] == []
    done = good("handoff", "ingest", "-", "--task", "T1", "--lenient", stdin=broken)
    assert "salvaged: " in done.stderr and "known are high, low, medium" in done.stderr
    free = "做完了。\n- Watch out: the cache lies.\n- Always use the helper in src/money.py."
    good("handoff", "ingest", "-", "--task", "T2", "--lenient", stdin=free)
    first, second = json.loads(good("journal", "--json").stdout)["tasks"]
    assert (first["status"], first["handoff"]["gotchas"][0]["issue"]) == ("failed", "The lock is held")
    assert second["handoff"]["salvaged"] and second["handoff"]["dependencies_for_next"][0]["file"] == "src/money.py"
    assert (second["name"], second["summary"]) == ("做完了。", "做完了。")
    found = json.loads(good("knowledge", "query", "cache", "helper", "--json").stdout)
    assert {node["type"] for node in found} == {"gotcha", "pattern"}
    (place,) = json.loads(good("map", "show", "--json").stdout)
    assert (place["location"], place["notes"]) == ("src/money.py", "Always use the helper in src/money.py.")


def test_a_broken_handoff_keeps_its_outcome_and_its_blocker() -> None:
    text = "I tried.\n\n```yaml\noutcome: blocked\nblockers:\n  - blocker: No access: to the database\n```\n"
    good("handoff", "ingest", "-", "--task", "T1", "--name", "Migrate", stdin="outcome: completed")
    done = good("handoff", "ingest", "-", "--task", "T1", "--lenient", stdin=text)
    assert done.stdout.startswith("blocked: ") and "1 blocker" in done.stdout and "cannot be read" in done.stderr
    journal = json.loads(good("journal", "--json").stdout)
    assert [(one["status"], one["name"], one["summary"]) for one in journal["tasks"]] == [
        ("blocked", "Migrate", "I tried.")
    ]
    assert journal["blockers"][0]["blocker"] == "No access: to the database"


def test_the_journal_lists_tasks_and_what_stands_in_their_way() -> None:
    good("knowledge", "add", "pattern", "x")
    assert "no task of project shop has handed anything over yet" in good("journal").stderr
    blocked = "outcome: blocked\nblockers: [{blocker: 没有权限, blocking_tasks: [T0]}]"
    good("handoff", "ingest", "-", "--task", "T1", "--name", "Migrate", stdin=blocked)
    text = good("journal").stdout
    assert "T1" in text and "blocked" in text and "Migrate" in text and "! T1: 没有权限" in text
    assert json.loads(good("journal", "--json").stdout)["blockers"][0]["blocking_tasks"] == ["T0"]


def test_a_repository_is_put_on_the_map_and_refreshed(shop: Path) -> None:
    (shop / "src").mkdir()
    written("src/money.py", '"""Amounts of money."""\n\n\ndef parse_amount(text):\n    return int(text)\n')
    written("src/订单.py", "def total():\n    return 0\n")
    assert "2 places on the map of project shop, 2 files read" in good("map", "build").stdout
    assert "2 places on the map of project shop, 0 files read" in good("map", "build", ".").stdout
    assert "src/订单.py" in good("map", "show").stdout
    (one,) = json.loads(good("map", "show", "parse", "amounts", "--json").stdout)
    assert one["location"] == "src/money.py" and "parse_amount" in one["notes"]
    assert "1 more; see them with `--limit`" in good("map", "show", "--limit", "1").stderr
    assert "nothing on the map of project shop is about zebra" in good("map", "show", "zebra").stderr
    assert (
        "nothing is on the map of project b; `foveate map build"
        in good("map", "show", "zebra", "--project", "b").stderr
    )
    assert "'none' is no folder; name a repository" in bad(2, "map", "build", "none")


def test_the_store_can_be_checked_with_what_projects_know() -> None:
    learned()
    assert "is whole" in good("db", "check").stdout


# --- as a stranger runs it ----------------------------------------------------------------------------------------


def test_a_real_process_prints_any_script_into_a_pipe(shop: Path) -> None:
    """The whole program, as it is installed."""
    program = str(Path(sys.executable).with_name("foveate"))
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    learned()
    written("task.yaml", TASK)
    done = subprocess.run([program, "context", "task.yaml"], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "金额用整数分表示" in done.stdout.decode()
