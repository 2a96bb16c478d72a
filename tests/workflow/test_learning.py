"""What a task learns reaches the developers of later tasks of the same project, and nobody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from foveate.agents.developer import Doubt, Obstacle, Work
from foveate.cli.main import app
from foveate.knowledge.base import Knowledge
from foveate.knowledge.handoff import parse_handoff
from foveate.knowledge.models import Blocker, ChangeType, MapEntry, NextStep, Node, Question
from foveate.log.events import HandoffIngested
from foveate.store import Store
from foveate.work.models import ReviewResult, Task
from foveate.workflow.learning import Learning
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


def work(
    place: Path, model: ScriptedModel, repo: str, tasks: list[dict[str, Any]], *more: str, ends_with: int = 0
) -> None:
    plan = place / "plan.json"
    plan.write_text(json.dumps({"tasks": tasks}))
    given = ["run", str(place / "ISSUE.md"), "--repo", str(place / repo), "--plan", str(plan), *more]
    done = CliRunner().invoke(app, ["work", *given, "--model", "openai-chat:scripted", "--yes"], env=model.environment)
    assert (done.exit_code, model.problems) == (ends_with, []), done.output


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
        recorded = [
            one.body.payload
            for one in store.reader(store.session("first")).events()
            if isinstance(one.body, HandoffIngested)
        ]
        assert recorded == [{"task": "first:T1", "added": ["first:T1", "pattern-001", "gotcha-001"], "merged": []}]


def test_a_task_that_fails_leaves_what_went_wrong(place: Path) -> None:
    """The next one is warned: outcome, the review's words and gotchas are kept, ways to follow are not."""

    def refused(payload: Payload) -> dict[str, Any]:
        if agent_of(payload) == "reviewer":
            return call("finish", approved=False, comments=["cents are lost"], severity="high")
        return reply(payload)

    amounts = [{"id": "T1", "description": "Make amounts of billing exact"}]
    with scripted_model(refused) as model:
        work(place, model, "shop", amounts, "--name", "first", "--rounds", "1", ends_with=1)
    with Store(place / "keep" / "context.db") as store:
        knowledge = Knowledge(store, "shop")
        (task,) = knowledge.tasks()
        assert (task.id, task.status) == ("first:T1", "failed")
        ((blocked, blocker),) = knowledge.blockers()
        assert blocked == "first:T1" and "(high): cents are lost" in blocker.blocker and blocker.suggested_resolution
        kinds = [(node.type, node.summary) for node in knowledge.nodes() if node.type != "task"]
        assert kinds == [("gotcha", "The register rounds half to even")]
    with scripted_model(reply) as model:
        work(place, model, "shop", [{"id": "T1", "description": "Print what the register has"}])
    assert "The register rounds half to even" in shown(model, "developer", "register")


def test_a_failed_task_that_is_approved_later_is_completed(place: Path) -> None:
    with Store(place / "keep" / "context.db") as store:
        learning = Learning(knowledge=Knowledge(store, "shop"), run="run")
        task = Task(id="T1", description="Make amounts exact")
        review = ReviewResult(persona="critic", approved=False, comments=("cents are lost",), severity="high")
        learning.hand_over(task, "Done.", {"money.py": "add"}, failed=review)
        assert [one for _, one in learning.knowledge.blockers()]
        learning.hand_over(task, "Done.", {"money.py": "add"})
        (done,) = learning.knowledge.tasks()
        assert done.status == "completed" and learning.knowledge.blockers() == []


def test_files_are_handed_over_as_git_saw_them_change(place: Path) -> None:
    """What was deleted leaves the map, also if the words name it; what was made is an addition."""
    with Store(place / "keep" / "context.db") as store:
        knowledge = Knowledge(store, "shop")
        knowledge.put_entries([MapEntry(component=name, location=f"{name}.py") for name in ("old", "lost", "kept")])
        said = "```yaml\noutcome: completed\nfiles_modified: [{path: lost.py, description: moved}]\n```"
        changes: dict[str, ChangeType] = {"old.py": "delete", "lost.py": "delete", "new.py": "add", "kept.py": "modify"}
        Learning(knowledge=knowledge, run="run").hand_over(Task(id="T1", description="Tidy up"), said, changes)
        handoff = knowledge.tasks()[0].handoff
        assert handoff is not None and {one.path: one.change_type for one in handoff.files_modified} == changes
        assert [entry.location for entry in knowledge.entries()] == ["kept.py", "new.py"]


def test_a_file_that_a_developer_deletes_is_not_on_the_map(place: Path) -> None:
    (place / "shop" / "old.py").write_text("x = 1\n")

    def deleting(payload: Payload) -> dict[str, Any]:
        if agent_of(payload) == "developer" and not results(payload):
            return call("run_command", command="rm old.py && echo y = 1 > new.py")
        return reply(payload)

    with Store(place / "keep" / "context.db") as store:
        Knowledge(store, "shop").put_entry(MapEntry(component="old", location="old.py"))
    with scripted_model(deleting) as model:
        work(place, model, "shop", [{"id": "T1", "description": "Tidy up"}])
    with Store(place / "keep" / "context.db") as store:
        assert [entry.location for entry in Knowledge(store, "shop").entries()] == ["new.py"]


def test_who_hands_over_without_a_word_hands_over_the_files(place: Path) -> None:
    with Store(place / "keep" / "context.db") as store:
        knowledge = Knowledge(store, "shop")
        Learning(knowledge=knowledge, run="run").hand_over(Task(id="T1", description="Tidy"), " ", {"a.py": "add"})
        assert [entry.location for entry in knowledge.entries()] == ["a.py"]


def test_a_developer_can_hand_over_questions_blockers_and_next_steps() -> None:
    """With fields of their own, so that nobody has to know the format of a handoff."""
    work = Work(
        summary="did it",
        open_questions=(Doubt(question="Which currency?", recommendation="ask", blocking=True), Doubt(question=" ")),
        blockers=(Obstacle(blocker="No key", suggested_resolution="ask for one"),),
        next_steps=("Migrate the table",),
    )
    handoff = parse_handoff(work.notes)
    assert handoff.open_questions == (Question(question="Which currency?", recommendation="ask", blocking=True),)
    assert handoff.blockers == (Blocker(blocker="No key", suggested_resolution="ask for one"),)
    assert handoff.suggested_next_steps == (NextStep(step="Migrate the table"),)
