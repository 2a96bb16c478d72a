"""A run in the hands of its user: what was asked for once holds on resume, and what happened is said."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from foveate.agents.driver import Reply, Schema
from foveate.cli.main import app
from foveate.cli.work_run import Options
from foveate.errors import ConfigError
from foveate.log.events import WorkRecorded
from foveate.log.messages import Message, ToolCall, ToolResult
from foveate.session import Session
from foveate.store import Store
from foveate.wire.format import Request
from foveate.workflow.activity import denied_commands, describe_activity
from foveate.workflow.learning import describe_work
from foveate.workflow.progress import Progress
from foveate.workflow.running import CostLimitError
from tests.scripted_model import Payload, ScriptedModel, call, scripted_model
from tests.workflow.script import ISSUE, agent_of, project, reply, results, sections
from tests.workflow.test_running import RUN, begin, command, progress_of, ran
from tests.workflow.test_workflow import Killed, Scripted, beginning, run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    project(tmp_path / "repo")
    (tmp_path / "ISSUE.md").write_text(ISSUE)
    return tmp_path


@pytest.fixture
def local(tmp_path: Path) -> Any:
    with Store(tmp_path / "keep" / "store.db") as store:
        yield project(tmp_path / "repo"), store


def one_task(place: Path) -> str:
    """A plan of one task, as a file."""
    (place / "plan.json").write_text(json.dumps({"tasks": [_task("T1", "double", "return x * 2")]}))
    return str(place / "plan.json")


def killed_at(model: ScriptedModel, fatal: int, arguments: list[str]) -> None:
    """Begin a run and kill its process while it waits for an answer."""
    hit, forever = threading.Event(), threading.Event()

    def stop(number: int) -> None:
        if number == fatal:
            hit.set()
            forever.wait(60)

    model.before = stop
    process = subprocess.Popen(
        arguments, env={**os.environ, **model.environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert hit.wait(120)
    process.send_signal(signal.SIGKILL)
    process.wait()
    forever.set()
    model.before = lambda _number: None


def test_a_killed_run_says_what_it_was_doing_and_goes_on_with_the_options_it_had(place: Path) -> None:
    """`--yes` and the rest hold on resume without being given again; list, show and resume say where it was left."""
    with scripted_model(reply) as model:
        # The third request of the developer follows on a written file.
        killed_at(model, 3, begin(place, "--plan", one_task(place), "--rounds", "2", "--steps", "9"))
        listed = json.loads(ran(command(place, "list", "--json"), model).stdout)
        shown = ran(command(place, "show", RUN), model).stdout
        done = ran(command(place, "resume", RUN), model, stdin=subprocess.DEVNULL)
    doing = "round 1: the developer waited for the answer to request 3, after `write_file calc.py`"
    assert listed == [{"run": RUN, "status": "stopped", "tasks": 1, "completed": 0, "doing": {"T1": doing}}]
    assert f"T1: {doing}" in shown
    assert f"T1 was left in {doing}" in done.stdout
    assert (done.returncode, model.problems) == (0, []), done.stdout + done.stderr
    assert "not run" not in done.stdout, "commands ran, as the run was begun with --yes"
    begun = progress_of(place).begun
    assert begun is not None
    assert (begun.yes, begun.rounds, begun.steps) == (True, 2, 9)


def test_a_run_of_version_0_1_goes_on_and_says_what_was_not_recorded(place: Path) -> None:
    """Options that an older version did not record fall back to their defaults, and that is said."""
    with scripted_model(reply) as model:
        killed_at(model, 1, begin(place, "--plan", one_task(place)))
        with Store(place / "store.db") as store, store.writing() as connection:
            # As 0.1 wrote it: the beginning has no `yes`.
            unsealed = "UPDATE events SET checksum = NULL, body = replace(body, ',\"yes\":true', '')"
            connection.exec_driver_sql(unsealed)
        assert progress_of(place).begun is not None and progress_of(place).begun.yes is None  # type: ignore[union-attr]
        asked = ran(command(place, "resume", RUN, "--steps", "2"), model, stdin=subprocess.DEVNULL)
    assert "was begun by version 0.1, which did not record `--yes`" in asked.stderr
    begun = progress_of(place).begun
    assert begun is not None
    assert (begun.yes, begun.steps) == (False, 2)


def test_denied_commands_are_told_to_the_reviewer_and_to_the_user(place: Path) -> None:
    """A task whose commands were denied is approved with a mark and a comment, never without a word."""

    def undeterred(payload: Payload) -> dict[str, Any]:
        if agent_of(payload) == "developer" and len(results(payload)) == 3:
            return call("finish", summary="Wrote it.")
        return reply(payload)

    with scripted_model(undeterred) as model:
        arguments = [one for one in begin(place, "--plan", one_task(place)) if one != "--yes"]
        done = ran(arguments, model, stdin=subprocess.DEVNULL)
        shown = json.loads(ran(command(place, "show", RUN, "--json"), model).stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    (reviewed,) = [sections(one) for one in model.received if agent_of(one) == "reviewer"]
    assert "python3 check.py" in reviewed["Denied Commands"]
    assert "nobody knows" in reviewed["Denied Commands"]
    assert "✓ T1, approved though 1 command was denied" in done.stdout
    assert "approved though commands were denied: T1" in done.stdout
    assert shown["tasks"][0]["denied_commands"] == ["python3 check.py"]
    (attempt,) = progress_of(place).attempts
    assert attempt.review is not None
    assert attempt.review.comments[-1].startswith("Unverified: the user denied `python3 check.py`")


def test_denied_commands_are_not_forgotten_in_later_rounds(place: Path) -> None:
    """What was denied in round 1 and not tried again in round 2 is as unverified, and everybody is told."""
    reviews: list[Payload] = []

    def renamed(payload: Payload) -> dict[str, Any]:
        if agent_of(payload) == "reviewer":
            reviews.append(payload)
            return call("finish", approved=len(reviews) > 1, comments=["rename it"], severity="low")
        if agent_of(payload) == "developer" and ("Review" in sections(payload) or len(results(payload)) == 3):
            return call("finish", summary="Wrote it.")
        return reply(payload)

    with scripted_model(renamed) as model:
        arguments = [one for one in begin(place, "--plan", one_task(place)) if one != "--yes"]
        done = ran(arguments, model, stdin=subprocess.DEVNULL)
        shown = json.loads(ran(command(place, "show", RUN, "--json"), model).stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ["python3 check.py" in sections(one).get("Denied Commands", "") for one in reviews] == [True, True]
    assert "✓ T1, approved though 1 command was denied" in done.stdout
    assert "approved though commands were denied: T1" in done.stdout
    assert shown["tasks"][0]["denied_commands"] == ["python3 check.py"]
    approved = progress_of(place).attempts[-1].review
    assert approved is not None
    assert approved.comments[-1].startswith("Unverified: the user denied `python3 check.py`")


def test_a_denied_command_that_runs_later_is_not_denied_any_more() -> None:
    """Denied commands add up over sessions and rounds, and each is forgotten once it ran."""

    def tried(command: str, answer: str) -> list[Message]:
        asked = ToolCall(id=command, name="run_command", arguments=json.dumps({"command": command}))
        result = ToolResult(call_id=command, text=answer)
        return [Message(id="a", role="assistant", parts=(asked,)), Message(id="b", role="tool", parts=(result,))]

    refusal = "Not permitted by policy: denied by the user."
    first = denied_commands([*tried("make a", refusal), *tried("make b", refusal)])
    second = denied_commands([*tried("make b", "Exit code: 1\n"), *tried("make c", refusal)], before=first)
    assert (first, second) == (("make a", "make b"), ("make a", "make c"))


def test_denied_commands_are_those_since_the_last_chance() -> None:
    """A round begins with what earlier ones owe; a task that is tried anew by its user owes nothing."""
    steps = [
        WorkRecorded(step="started", task_id="T1", payload={"round": 1, "tree": "a"}),
        WorkRecorded(step="executed", task_id="T1", payload={"denied": ["make"]}),
        WorkRecorded(step="started", task_id="T1", payload={"round": 2, "tree": "b"}),
    ]
    progress = Progress()
    for step in steps:
        progress = progress.after(step)
    assert progress.denied("T1") == ("make",)
    again = progress.after(WorkRecorded(step="retried", task_id="T1"))
    again = again.after(WorkRecorded(step="started", task_id="T1", payload={"round": 3, "tree": "c"}))
    assert again.denied("T1") == ()


def _task(id: str, name: str, body: str) -> dict[str, Any]:
    return {
        "id": id,
        "description": f"Add {name} to calc.py",
        "files": [{"operation": "modify", "path": "calc.py"}],
        "steps": [{"description": "append it", "code": f"def {name}(x):\n    {body}", "command": "python3 check.py"}],
        "acceptance_criteria": [f"calc.{name} exists", "nothing says BUG"],
    }


def test_what_was_done_is_told_in_sentences() -> None:
    """Handoffs and JSON are for machines; people read words and how much was handed over."""
    handed = '## Handoff\n\n```json\n{"outcome": "completed", "gotchas": [{"issue": "nulls"}], "patterns_discovered": '
    handed += '[{"pattern": "a"}, {"pattern": "b"}]}\n```'
    assert describe_work(f"Added the parser.\n\n{handed}") == "Added the parser. It hands over 2 patterns, 1 warning."
    assert describe_work('{"summary": "Added it", "files": ["a.py", "b.py"]}') == "Added it; files: a.py, b.py"
    assert describe_work("") == "nothing was said"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('All done. {"files": ["b.txt"], "ok": true}', "All done. files: b.txt; ok: yes"),
        ('```json\n{"summary": "Made it.", "files": ["a"]}\n```', "Made it. files: a"),
        ("{'files': ('a', 'b'), 'ok': False, 'left': None}", "files: a, b; ok: no"),
        ('{"summary": "x"}\n\nnotes here', "x. notes here"),
        ('{"a": 1} {"b": 2}', "a: 1. b: 2"),
        ('Swapped `{"a": 1}` for `{"b": 2}`.', "Swapped a: 1 for b: 2."),
        ('{"summary": "{\\"files\\": [\\"a\\"]}"}', "files: a"),
        ('{"summary": "cut o', "cut o"),
        ('{"summary": "x",}', "x"),
        ("\ud800 x", "\N{REPLACEMENT CHARACTER} x"),
        # No data, though it has brackets.
        (
            'Use {name}, list[0], d["x"], {} and {{ t }}; see [1].',
            'Use {name}, list[0], d["x"], {} and {{ t }}; see [1].',
        ),
        ("[docs](u) were changed", "[docs](u) were changed"),
        ('Fixed {"x" handling.', 'Fixed {"x" handling.'),
    ],
)
def test_data_in_words_is_told_in_sentences(said: str, told: str) -> None:
    """Wherever it stands, and however it is written; brackets of prose stay."""
    assert describe_work(said) == told


@pytest.mark.parametrize("said", ["[" * 5000, '{"a":' * 3000, "[" * 900 + "]" * 900, 'x ["' * 9000, "[{" * 2000])
def test_no_depth_of_brackets_ends_a_run(said: str) -> None:
    """A developer may write anything where its summary is asked for."""
    started = time.monotonic()
    assert describe_work(said)
    assert time.monotonic() - started < 5


async def test_every_call_row_has_the_model_also_one_that_no_price_list_knows(local: tuple[Path, Store]) -> None:
    await run(local, Scripted())
    with local[1].reading() as connection:
        models = connection.exec_driver_sql("SELECT DISTINCT model_alias FROM context_summaries").scalars().all()
    assert models == ["scripted"]


class Priced(Scripted):
    """Counts as a provider does: each call costs 1,000 · $2.50/M + 100 · $10/M = $0.0035."""

    name = "openai:gpt-4o"

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: Any = None) -> Reply:
        answered = await super().generate(messages, schema, on_text=on_text)
        return Reply(message=answered.message, input_tokens=1_000, cached_tokens=0, output_tokens=100)


async def test_a_run_stops_between_calls_once_it_has_cost_what_it_may(local: tuple[Path, Store]) -> None:
    """Nothing is lost: with a higher limit it goes on, with the same one it stops before it asks."""
    first = Priced()
    with pytest.raises(CostLimitError, match=r"has cost \$0\.0105, and `--max-cost` is \$0\.01"):
        await run(local, first, max_cost=0.01)
    assert len(first.received) == 3
    again = Priced()
    with pytest.raises(CostLimitError):
        await run(local, again, max_cost=0.01)
    assert again.received == []
    rest = Priced()
    progress = await run(local, rest, max_cost=5.0)
    assert progress.status == "completed"
    assert progress.spent == pytest.approx(0.0035 * (3 + len(rest.received)))
    whole = Priced()
    with Store(local[1].file.parent / "other.db") as other:  # type: ignore[union-attr]
        await run((project(local[0].parent / "repo2"), other), whole)
    assert len(first.received) + len(rest.received) == len(whole.received), "no call was made twice"


async def test_a_limit_without_a_price_is_refused(local: tuple[Path, Store]) -> None:
    with pytest.raises(ConfigError, match="`--max-cost` needs the model's price, and the price list has none"):
        await run(local, Scripted(), max_cost=1.0)


def test_no_remembered_option_keeps_a_run_from_going_on(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is not set any more is mentioned, not refused, and can be dropped."""
    monkeypatch.setenv("MYVAR", "1")
    with scripted_model(reply) as model:
        assert ran(begin(place, "--plan-only", "--env", "MYVAR"), model).returncode == 0
        monkeypatch.delenv("MYVAR")
        refused = ran(command(place, "resume", RUN, "--env", "MYVAR"), model)
        assert (refused.returncode, "`--env` 'MYVAR' is no variable that is set" in refused.stderr) == (2, True)
        went_on = ran(command(place, "resume", RUN), model)
        assert went_on.returncode == 0, went_on.stdout + went_on.stderr
        assert "commands do without MYVAR" in went_on.stderr
        dropped = ran(command(place, "resume", RUN, "--no-env"), model)
    assert (dropped.returncode, "MYVAR" in dropped.stderr) == (0, False)
    begun = progress_of(place).begun
    assert begun is not None
    assert begun.environment == ()


def test_a_limit_of_cost_can_be_lifted(tmp_path: Path) -> None:
    """`--max-cost none` is no limit; not to give it leaves the limit as it was."""
    limited = Options(max_cost=0.5).over(beginning(tmp_path))
    assert Options().over(limited).max_cost == 0.5
    assert Options(max_cost=math.inf).over(limited).max_cost is None


def test_a_limit_is_obeyed_or_refused(place: Path) -> None:
    """0 could be read as no limit and as no money; it is neither, and `none` says which."""
    for wrong in ("0", "0.0", "-1", "nan", "inf", "much"):
        done = CliRunner().invoke(app, begin(place, f"--max-cost={wrong}")[3:], env={"COLUMNS": "300"})
        assert done.exit_code == 2
        assert f"`--max-cost` '{wrong}' is no amount of dollars above 0" in done.stderr and "`none`" in done.stderr
    lifted = CliRunner().invoke(app, begin(place, "--max-cost", "none", "--dry-run")[3:])
    assert lifted.exit_code == 0, lifted.output


def test_a_run_can_stop_at_its_plan_which_can_be_changed(place: Path) -> None:
    """`--plan-only`: the architect alone is asked; what is wrong with a changed plan is named, all of it."""
    with scripted_model(reply) as model:
        planned = ran(begin(place, "--plan-only"), model)
        assert planned.returncode == 0, planned.stdout + planned.stderr
        assert {agent_of(payload) for payload in model.received} == {"architect"}
        assert "goes on" in planned.stdout
        (listed,) = json.loads(ran(command(place, "list", "--json"), model).stdout)
        assert (listed["status"], listed["tasks"], listed["completed"]) == ("planned", 3, 0)
        text = ran(command(place, "plan", RUN), model).stdout
        assert "- id: T1" in text and "description: Add double to calc.py" in text
        (place / "wrong.yaml").write_text(text.replace("- T1", "- T9").replace("operation: modify", "operation: mend"))
        wrong = ran(command(place, "plan", RUN, "--from", str(place / "wrong.yaml")), model)
        assert wrong.returncode == 2
        assert wrong.stderr.count("'mend'") == 3 and "depends on 'T9'" in wrong.stderr
        editor = place / "editor.py"
        editor.write_text(
            "import pathlib, sys\np = pathlib.Path(sys.argv[1])\n"
            "p.write_text(p.read_text().partition('- id: T2')[0].replace('Add double to', 'Put double into'))\n"
        )
        os.environ["EDITOR"] = f"{sys.executable} {editor}"
        try:
            edited = ran(command(place, "plan", RUN, "--edit"), model)
        finally:
            del os.environ["EDITOR"]
        assert edited.returncode == 0, edited.stderr
        done = ran(command(place, "resume", RUN), model)
    assert (done.returncode, model.problems) == (0, []), done.stdout + done.stderr
    plan = progress_of(place).plan
    assert plan is not None
    assert [(task.description, task.status) for task in plan.tasks] == [("Put double into calc.py", "completed")]


async def test_each_state_of_a_task_is_described(local: tuple[Path, Store]) -> None:
    """Wherever it was killed, one sentence says who was doing what."""
    repo, _ = local
    said: dict[int, str] = {}
    for fatal in (1, 2, 6, 7):
        with Store(repo.parent / f"{fatal}.db") as other:
            place = (project(repo.parent / f"repo{fatal}"), other)
            with pytest.raises(Killed):
                await run(place, Scripted(kill=fatal))
            progress = Progress.of(Session.open(other, "run").events)
            ((task, doing),) = describe_activity(other, "run", progress).items()
            said[fatal] = f"{task}: {doing}"
    assert said == {
        1: "plan: the architect waited for the answer to request 1",
        2: "plan: the architect waited for the answer to request 2, after `list_files`",
        6: "T1: round 1: the developer waited for the answer to request 4, after `run_command python3 check.py`",
        7: "T1: round 1: the reviewer (General) waited for the answer to request 1",
    }


def test_an_alias_is_kept_beside_the_model_that_it_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--model fast` works as in a chat, also on resume from another folder, where the alias is not known."""
    (tmp_path / "foveate.toml").write_text('[models]\nfast = "openai:gpt-4o-mini"\n')
    monkeypatch.chdir(tmp_path)
    begun = Options(model="fast").over(beginning(tmp_path))
    assert (begun.model, begun.model_alias) == ("openai:gpt-4o-mini", "fast")
    monkeypatch.chdir(tmp_path.parent)
    assert Options().over(begun) == begun
    other = Options(model="openai:gpt-4o").over(begun)
    assert (other.model, other.model_alias) == ("openai:gpt-4o", "")
