"""What a task learns reaches the developers of later tasks of the same project, and nobody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from foveate.cli.main import app
from foveate.knowledge.base import Knowledge
from foveate.knowledge.models import Node
from foveate.store import Store
from tests.scripted_model import Payload, ScriptedModel, call, scripted_model
from tests.workflow.script import agent_of, results, sections

NOTES = """Amounts were floats.

```yaml
outcome: completed
patterns_discovered:
  - {pattern: Amounts are integers of cents, location: money.py, applies_to: [billing]}
gotchas:
  - {issue: The register rounds half to even, severity: high, mitigation: round before}
dependencies_for_next:
  - {file: money.py, reason: has the helpers}
```
"""
CONTEXT = "Computed Context"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two directories and one store."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FOVEATE_STORE", str(tmp_path / "keep" / "context.db"))
    monkeypatch.delenv("FOVEATE_PROJECT", raising=False)
    for name in ("shop", "garden"):
        (tmp_path / name).mkdir()
    (tmp_path / "ISSUE.md").write_text("# Work\n\nThere is some.")
    return tmp_path


def reply(payload: Payload) -> dict[str, Any]:
    """A developer that writes a file and says what it learned if its task is the one about amounts; a content reviewer."""
    if agent_of(payload) == "reviewer":
        return call("finish", approved=True)
    task = sections(payload)["Task"]
    if not results(payload):
        return call("write_file", path="money.py" if "amounts" in task else "other.py", content=f"# {task[:20]}\n")
    return call("finish", summary="did it", notes=NOTES if "amounts" in task else "")


def work(place: Path, model: ScriptedModel, repo: str, tasks: list[dict[str, Any]], *more: str) -> None:
    plan = place / "plan.json"
    plan.write_text(json.dumps({"tasks": tasks}))
    given = ["run", str(place / "ISSUE.md"), "--repo", str(place / repo), "--plan", str(plan), *more]
    done = CliRunner().invoke(app, ["work", *given, "--model", "openai-chat:scripted", "--yes"], env=model.environment)
    assert (done.exit_code, model.problems) == (0, []), done.output


def shown(model: ScriptedModel, agent: str, word: str) -> str:
    """What the agent who has a task with this word was told by the project, in its first request."""
    first = next(one for one in model.received if agent_of(one) == agent and word in sections(one)["Task"])
    return sections(first).get(CONTEXT, "")


def test_a_later_task_sees_what_an_earlier_one_taught_and_another_project_does_not(place: Path) -> None:
    """In the same run as prior work, in the next run by its tags and words; a reviewer is told nothing of it."""
    amounts = {"id": "T1", "description": "Make amounts of billing exact"}
    refund = {"id": "T2", "description": "Write the refund", "dependencies": ["T1"]}
    with scripted_model(reply) as model:
        work(place, model, "shop", [amounts, refund])
        work(place, model, "shop", [{"id": "T1", "description": "Print invoices for billing"}])
        work(place, model, "garden", [{"id": "T1", "description": "Plant flowers for billing"}])
        work(place, model, "garden", [{"id": "T1", "description": "Lend tools for billing"}], "--project", "shop")

    assert shown(model, "developer", "amounts") == ""
    dependent = shown(model, "developer", "refund")
    assert "### Patterns from Dependencies\n- **Amounts are integers of cents** (see: money.py)" in dependent
    assert "- ⚠️ **high**: The register rounds half to even → round before" in dependent
    assert "**Files to Read:**\n- `money.py`: has the helpers" in dependent
    later = shown(model, "developer", "invoices")
    assert "### Patterns to Follow\n- **Amounts are integers of cents** (see: money.py)" in later
    assert "| `money.py` | money | Make amounts of billing exact |" in later
    assert "integers of cents" not in shown(model, "developer", "flowers")
    assert "integers of cents" in shown(model, "developer", "tools")
    assert all(CONTEXT not in sections(one) for one in model.received if agent_of(one) == "reviewer")


LEARNED = {
    "patterns": ["Amounts are integers of cents, as in money.py"],
    "gotchas": [{"issue": "The register rounds half to even", "severity": "high", "mitigation": "round before"}],
    "files_to_read": ["money.py"],
}


def test_what_a_developer_finishes_with_is_a_handoff(place: Path) -> None:
    """Without a word about its format: the fields that `finish` asks for are what the next developers are told."""

    def finishing(payload: Payload) -> dict[str, Any]:
        done = reply(payload)
        if agent_of(payload) == "developer" and results(payload) and "amounts" in sections(payload)["Task"]:
            return call("finish", summary="did it", notes="Amounts were floats.", **LEARNED)
        return done

    tasks = [
        {"id": "T1", "description": "Make amounts of billing exact"},
        {"id": "T2", "description": "Write the refund", "dependencies": ["T1"]},
    ]
    with scripted_model(finishing) as model:
        work(place, model, "shop", tasks, "--name", "first")
    dependent = shown(model, "developer", "refund")
    assert "- **Amounts are integers of cents, as in money.py** (see: money.py)" in dependent
    assert "- ⚠️ **high**: The register rounds half to even → round before" in dependent
    assert (
        "#### Make amounts of billing exact\ndid it Amounts were floats.\n\n**Files to Read:**\n- `money.py`"
        in dependent
    )
    with Store(place / "keep" / "context.db") as store:
        handoff = Knowledge(store, "shop").tasks()[0].handoff
        assert handoff is not None and not handoff.salvaged


def test_a_dry_run_shows_what_earlier_tasks_learned(place: Path) -> None:
    """To the architect and to developers, as a run would; nothing is made where nothing is known."""
    plan = place / "plan.json"
    plan.write_text(
        json.dumps({"tasks": [{"id": "T1", "description": "Print invoices for billing", "dependencies": []}]})
    )
    given = ["work", "run", str(place / "ISSUE.md"), "--repo", str(place / "shop"), "--plan", str(plan), "--dry-run"]
    before = CliRunner().invoke(app, given)
    assert before.exit_code == 0 and CONTEXT not in before.output and not (place / "keep").exists()
    with Store(place / "keep" / "context.db") as store:
        knowledge = Knowledge(store, "shop")
        for tags, summary in ((("billing",), "Amounts are integers of cents"), (("work",), "Work is tested")):
            knowledge.add(Node(id=summary, type="pattern", summary=summary, tags=tags))
    architect, developer, reviewer = CliRunner().invoke(app, given).output.split("\n=== ")[1:]
    assert "Work is tested" in architect and "integers of cents" in developer and CONTEXT not in reviewer


def test_domains_of_the_directory_connect_tasks_that_share_no_word(place: Path) -> None:
    (place / "shop" / "foveate.toml").write_text('[knowledge.domains]\nmoney = ["amount", "invoice"]\n')
    with scripted_model(reply) as model:
        work(place, model, "shop", [{"id": "T1", "description": "Make amounts exact"}])
        work(place, model, "shop", [{"id": "T1", "description": "Print the invoice"}])

    assert "- ⚠️ **high**: The register rounds half to even" in shown(model, "developer", "invoice")


def test_a_task_that_is_handed_over_is_in_the_journal_with_the_files_it_changed(place: Path) -> None:
    with scripted_model(reply) as model:
        work(place, model, "shop", [{"id": "T1", "description": "Make amounts exact"}], "--name", "first")
    with Store(place / "keep" / "context.db") as store:
        knowledge = Knowledge(store, "shop")
        (task,) = knowledge.tasks()
        assert (task.id, task.status, task.summary) == ("first:T1", "completed", "did it Amounts were floats.")
        assert task.handoff is not None and [one.path for one in task.handoff.files_modified] == ["money.py"]
        assert [entry.location for entry in knowledge.entries()] == ["money.py"]
        assert Knowledge(store, "garden").tasks() == []
