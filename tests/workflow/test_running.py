"""A run from the issue to the last review: through the command, over HTTP, with a model that reads what it is sent."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from foveate.session import Session
from foveate.store import Store
from foveate.workflow.progress import Progress
from tests.scripted_model import Payload, ScriptedModel, scripted_model
from tests.workflow.script import ISSUE, agent_of, project, reply, sections

RUN = "grow-the-calculator"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    project(tmp_path / "repo")
    (tmp_path / "ISSUE.md").write_text(ISSUE)
    return tmp_path


def command(place: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "foveate", "work", *arguments, "--store", str(place / "store.db")]


def begin(place: Path, *more: str) -> list[str]:
    given = ["run", str(place / "ISSUE.md"), "--repo", str(place / "repo"), "--model", "openai-chat:scripted", "--yes"]
    return command(place, *given, *more)


def ran(arguments: list[str], model: ScriptedModel, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **model.environment}
    return subprocess.run(
        arguments, env=environment, capture_output=True, text=True, timeout=240, check=False, **options
    )


def progress_of(place: Path) -> Progress:
    with Store(place / "store.db") as store:
        return Progress.of(store.reader(store.session(RUN)).events())


def files_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir()) if path.is_file()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ScriptedModel]:
    """A run that nobody stops."""
    place = tmp_path_factory.mktemp("whole")
    project(place / "repo")
    (place / "ISSUE.md").write_text(ISSUE)
    with scripted_model(reply) as model:
        done = ran(begin(place), model)
    assert (done.returncode, model.problems) == (0, []), done.stdout + done.stderr
    return place, model


def test_an_issue_is_planned_carried_out_and_reviewed(place: Path) -> None:
    with scripted_model(reply) as model:
        done = ran(begin(place, "--persona", "General", "--persona", "Security"), model)
    assert (done.returncode, model.problems) == (0, []), done.stdout + done.stderr
    calc = (place / "repo" / "calc.py").read_text()
    assert all(f"def {name}(x)" in calc for name in ("double", "square", "half")) and "BUG" not in calc
    # Nothing but the work was left in the directory.
    assert {path.name for path in (place / "repo").iterdir()} - {"__pycache__"} == {"calc.py", "check.py"}
    assert "developer → run_command\n    │ python3 check.py" in done.stdout
    assert "review by General, Security: not approved" in done.stdout
    progress = progress_of(place)
    assert progress.status == "completed"
    assert progress.plan is not None and [task.status for task in progress.plan.tasks] == ["completed"] * 3
    assert [attempt.round for attempt in progress.attempts] == [1, 1, 2, 1]
    assert {outcome.task_id: sorted(outcome.parts) for outcome in progress.outcomes} == {
        f"T{number}": ["diff", "review", "summary"] for number in (1, 2, 3)
    }
    asked = [agent_of(payload) for payload in model.received]
    assert {agent: asked.count(agent) for agent in set(asked)} == {"architect": 2, "developer": 16, "reviewer": 8}
    # A developer sees its task and nothing that grows with the plan.
    first = [
        payload for payload in model.received if agent_of(payload) == "developer" and len(payload["messages"]) == 2
    ]
    assert [sorted(set(sections(payload)) - {"Computed Context"}) for payload in first] == [
        ["Files", "Steps", "Task"],
        ["Files", "Steps", "Task"],
        ["Files", "Review", "Steps", "Task"],
        ["Files", "Steps", "Task"],
    ]


def test_every_call_of_a_run_can_be_explained(whole: tuple[Path, ScriptedModel]) -> None:
    place, model = whole
    shown = json.loads(ran(command(place, "show", RUN, "--json"), model).stdout)
    listed = ran(command(place, "list"), model).stdout
    explain = [
        sys.executable,
        "-m",
        "foveate",
        "explain",
        f"{RUN}/T2/developer/2",
        "--call",
        "1",
        "--store",
        str(place / "store.db"),
    ]
    explained = ran(explain, model).stdout
    assert RUN in listed and "3/3" in listed
    assert [task["rounds"] for task in shown["tasks"]] == [1, 2, 1]
    assert re.search(r"^Review +stable +\d+ +task:T2:review", explained, re.MULTILINE)
    with Store(place / "store.db") as store:
        for entry in shown["sessions"]:
            # The price list does not know the model, so a session with it needs a budget.
            with Session.open(store, entry["session"], budget=8_000) as session:
                payloads = [session.call(number).to("openai") for number in range(1, entry["calls"] + 1)]
            # What was recorded is what the provider received.
            assert all(any(_same(sent, got) for got in model.received) for sent in payloads)


def _same(sent: list[dict[str, Any]], received: Payload) -> bool:
    def plain(messages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        """Roles, words and calls; the client writes the arguments of calls without blanks."""
        calls = [[call["function"] for call in one.get("tool_calls") or ()] for one in messages]
        parsed = [[(call["name"], json.loads(call["arguments"])) for call in some] for some in calls]
        return [(one["role"], one.get("content") or "", some) for one, some in zip(messages, parsed, strict=True)]

    return plain(sent) == plain(received["messages"])


# After its files are changed, and in the second round of a task; every other point is tried without processes.
@pytest.mark.parametrize("fatal", [5, 14])
def test_a_run_that_is_killed_goes_on_and_comes_to_the_same_end(
    place: Path, whole: tuple[Path, ScriptedModel], fatal: int
) -> None:
    other, untroubled = whole
    with scripted_model(reply) as model:
        hit = threading.Event()
        forever = threading.Event()

        def stop(number: int) -> None:
            if number == fatal:
                hit.set()
                forever.wait(60)

        model.before = stop
        process = subprocess.Popen(
            begin(place), env={**os.environ, **model.environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert hit.wait(120)
        process.send_signal(signal.SIGKILL)
        process.wait()
        forever.set()
        assert progress_of(place).status == "running"
        done = ran(command(place, "resume", RUN, "--yes"), model)
        assert (done.returncode, model.problems) == (0, []), done.stdout + done.stderr
    # Only the request that was on its way when the process was killed is made again.
    assert len(model.received) == len(untroubled.received) + 1
    assert files_of(place / "repo") == files_of(other / "repo")
    first, second = progress_of(place), progress_of(other)
    assert (first.plan, [(one.task_id, one.round, one.diff, one.review) for one in first.attempts], first.outcomes) == (
        second.plan, [(one.task_id, one.round, one.diff, one.review) for one in second.attempts], second.outcomes
    )  # fmt: skip


def test_a_task_that_is_never_approved_is_given_up_with_the_reason_and_its_dependents_wait(place: Path) -> None:
    def grumpy(payload: Payload) -> dict[str, Any]:
        answer = reply(payload)
        if agent_of(payload) == "reviewer" and "square" in sections(payload)["Task"]:
            answer["tool_calls"][0]["function"]["arguments"] = json.dumps(
                {"approved": False, "comments": ["BUG everywhere"], "severity": "critical"}
            )
        return answer

    with scripted_model(grumpy) as model:
        done = ran(begin(place, "--rounds", "2"), model)
    assert done.returncode == 1
    assert "not approved in 2 rounds" in done.stdout and "BUG everywhere" in done.stdout
    progress = progress_of(place)
    assert progress.plan is not None
    assert [task.status for task in progress.plan.tasks] == ["completed", "failed", "pending"]
    assert progress.status == "failed"


def test_a_provider_that_fails_loses_nothing_and_the_remedy_is_said(place: Path) -> None:
    with scripted_model(reply) as model:
        model.before = lambda number: (_ for _ in ()).throw(ConnectionError) if number > 4 else None
        done = ran(begin(place), model)
    assert done.returncode == 1
    assert f"foveate work resume {RUN}" in done.stderr and "Traceback" not in done.stderr
    with scripted_model(reply) as model:
        assert ran(command(place, "resume", RUN, "--yes"), model).returncode == 0


def test_without_leave_no_command_is_run(place: Path) -> None:
    def told(payload: Payload) -> dict[str, Any]:
        if agent_of(payload) == "developer":
            results = [one["content"] for one in payload["messages"] if one["role"] == "tool"]
            if len(results) == 3:
                assert "not allowed" in results[2] or "denied" in results[2], results[2]
                results[2] = "ok"
                payload = {
                    **payload,
                    "messages": [*payload["messages"][:-1], {**payload["messages"][-1], "content": "ok"}],
                }
        return reply(payload)

    with scripted_model(told) as model:
        arguments = [one for one in begin(place) if one != "--yes"]
        done = ran(arguments, model, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "give `--yes` to allow commands" in done.stdout


def test_approved_tasks_become_commits_if_asked_for(place: Path) -> None:
    repo = place / "repo"
    git = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "calc.py"], ["commit", "-qm", "begin"]):
        subprocess.run([*git, *arguments], check=True)
    (repo / "notes.txt").write_text("not for anybody's commit")
    with scripted_model(reply) as model:
        names = {
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@b",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@b",
        }
        done = subprocess.run(
            begin(place, "--commit"),
            env={**os.environ, **model.environment, **names},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    log = subprocess.run([*git, "log", "--format=%s"], capture_output=True, text=True, check=True).stdout.split("\n")
    assert log[:4] == ["Add half to calc.py", "Add square to calc.py", "Add double to calc.py", "begin"]
    status = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    assert "notes.txt" in status and "calc.py" not in status


def test_a_dry_run_shows_what_each_agent_would_see_and_asks_nobody(place: Path) -> None:
    plan = place / "plan.yaml"
    plan.write_text("tasks: [{id: T1, description: Add double, acceptance_criteria: [it doubles]}]")
    arguments = [
        one for one in begin(place, "--dry-run", "--plan", str(plan)) if one not in ("--model", "openai-chat:scripted")
    ]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split(" ·")[0] for line in done.stdout.splitlines() if line.startswith("===")] == [
        "=== architect", "=== developer, T1", "=== reviewer (General), T1"
    ]  # fmt: skip
    developer = done.stdout.split("=== developer")[1].split("=== reviewer")[0]
    assert "## Task\nAdd double\n\nDone when:\n- it doubles" in developer and "MARKER-ISSUE" not in developer
    assert not (place / "store.db").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["run", "none.md"], "cannot read 'none.md'"),
        (["run", "ISSUE.md", "--repo", "nowhere"], "`--repo` 'nowhere' is no directory"),
        (["run", "ISSUE.md"], "no model was chosen; give `--model`"),
        (["run", "ISSUE.md", "--model", "nonsense"], "nonsense"),
        (
            ["run", "ISSUE.md", "--model", "openai-chat:x", "--developer", "nobody"],
            "the agent 'nobody' cannot be found",
        ),
        (
            ["run", "ISSUE.md", "--model", "openai-chat:x", "--developer", "json:JSONDecoder"],
            "derived from `foveate.agents.Agent`",
        ),
        (["run", "ISSUE.md", "--model", "openai-chat:x", "--commit"], "`--commit` needs a git repository"),
        (["resume", "nothing"], "there is no run 'nothing'"),
        (["show", "nothing"], "there is no run 'nothing' in this store; `foveate work list` lists its runs"),
        (["plan", "nothing"], "there is no run 'nothing' in this store; `foveate work list` lists its runs"),
    ],
)
def test_a_wrong_call_is_answered_in_one_line(place: Path, arguments: list[str], problem: str) -> None:
    Store(place / "store.db").close()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FOVEATE_")} | {
        "OPENAI_API_KEY": "x",
        "COLUMNS": "200",
    }
    done = subprocess.run(
        command(place, *arguments), cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in (1, 2), done.stdout
    assert problem in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
