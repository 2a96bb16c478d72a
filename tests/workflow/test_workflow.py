"""The workflow itself, in one process: killed at every event and every request, it comes to the same end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foveate.agents import Agent, AgentError, ContextStrategy, Reply, Schema, Verdict
from foveate.errors import ConfigError
from foveate.log.events import WorkRecorded
from foveate.session import Session
from foveate.store import Store
from foveate.wire.format import Request
from foveate.wire.formats import FORMATS
from foveate.work import FileOperation, Issue, Task, TaskDAG
from foveate.workflow.lock import held, is_held
from foveate.workflow.progress import Begun, Progress
from foveate.workflow.running import Workflow, record_plan
from foveate.workflow.setting import lock_of, setting_in
from tests.scripted_model import Payload, call, text
from tests.workflow.script import ISSUE, agent_of, project, reply, sections

Answer = Callable[[Payload], dict[str, Any]]


class Killed(BaseException):
    """The process ends here."""


class Scripted:
    """Asks the script directly; may be killed at a request, before or after it is answered."""

    name = "scripted"

    def __init__(self, answer: Answer = reply, kill: int | None = None) -> None:
        self.answer = answer
        self.kill = kill
        self.received: list[Payload] = []

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: Any = None) -> Reply:
        payload = {"messages": FORMATS["openai"].lower(messages), "tools": list(messages.tools)}
        self.received.append(payload)
        if len(self.received) == self.kill:
            raise Killed
        return Reply(message=self.answer(payload))


class Watcher:
    """Allows everything; ends the process at an event, if told so."""

    def __init__(self, kill: int | None = None) -> None:
        self.kill = kill
        self.steps: list[WorkRecorded] = []

    def told(self, body: WorkRecorded, /) -> None:
        self.steps.append(body)
        if len(self.steps) == self.kill:
            raise Killed

    def called(self, *_: object) -> None: ...
    def answered(self, *_: object) -> None: ...
    def noted(self, *_: object) -> None: ...
    def wrote(self, *_: object) -> None: ...

    async def allows(self, command: str, /) -> bool:
        return True


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Path, Store]]:
    with Store(tmp_path / "keep" / "store.db") as store:
        yield project(tmp_path / "repo"), store


def beginning(repo: Path, **more: Any) -> Begun:
    title, _, description = ISSUE.partition("\n")
    return Begun(
        issue=Issue(title=title.strip("# "), description=description), repo=str(repo), personas=("General",), **more
    )


async def run(
    place: tuple[Path, Store],
    driver: Scripted,
    watcher: Watcher | None = None,
    plan: TaskDAG | None = None,
    **more: Any,
) -> Progress:
    """Begin the run, or go on with it if it was begun."""
    repo, store = place
    begun = beginning(repo, **more)
    with Session.open(store, "run") as session:
        workflow = Workflow(session, setting_in(store, "run", begun, driver, watcher or Watcher()))
        if workflow.progress.begun is None:
            workflow.begin(begun, plan)
        else:
            workflow.go_on(begun)
        return await workflow.run()


def told(progress: Progress) -> object:
    attempts = [(one.task_id, one.round, one.diff, one.review, one.summary) for one in progress.attempts]
    return progress.plan, attempts, progress.outcomes, progress.status


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, str, int, int]:
    folder = tmp_path_factory.mktemp("whole")
    driver, watcher = Scripted(), Watcher()
    with Store(folder / "keep" / "store.db") as store:
        progress = asyncio.run(run((project(folder / "repo"), store), driver, watcher))
    return told(progress), (folder / "repo" / "calc.py").read_text(), len(driver.received), len(watcher.steps)


@pytest.mark.parametrize("fatal", range(1, 19))
async def test_killed_after_any_event_a_run_comes_to_the_same_end(
    place: tuple[Path, Store], whole: Any, fatal: int
) -> None:
    outcome, calc, requests, events = whole
    assert events == 18
    first, second = Scripted(), Scripted()
    if fatal < events:
        with pytest.raises(Killed):
            await run(place, first, Watcher(fatal))
    progress = await run(place, second)
    assert (told(progress), (place[0] / "calc.py").read_text()) == (outcome, calc)
    # Nothing is asked twice.
    assert len(first.received) + len(second.received) == requests


@pytest.mark.parametrize("fatal", [1, 2, 3, 4, 5, 6, 7, 13, 14, 16])
async def test_killed_at_any_request_a_run_comes_to_the_same_end(
    place: tuple[Path, Store], whole: Any, fatal: int
) -> None:
    outcome, calc, requests, _ = whole
    first, second = Scripted(kill=fatal), Scripted()
    with pytest.raises(Killed):
        await run(place, first)
    progress = await run(place, second)
    assert (told(progress), (place[0] / "calc.py").read_text()) == (outcome, calc)
    assert len(first.received) + len(second.received) == requests + 1


async def test_a_failed_task_gets_another_chance_with_as_many_rounds(place: tuple[Path, Store]) -> None:
    def strict(payload: Payload) -> dict[str, Any]:
        return call("finish", approved=False, comments=["BUG"]) if agent_of(payload) == "reviewer" else reply(payload)

    progress = await run(place, Scripted(strict), rounds=2)
    assert progress.plan is not None and [task.status for task in progress.plan.tasks] == [
        "failed",
        "pending",
        "pending",
    ]
    again = await run(place, Scripted(strict), rounds=2)
    assert [attempt.round for attempt in again.attempts] == [1, 2, 3, 4]
    done = await run(place, Scripted(), rounds=2)
    assert done.status == "completed"


async def test_a_run_that_ended_is_not_over_if_its_plan_gets_more_to_do(place: tuple[Path, Store]) -> None:
    """It says that it failed if the new task did, and that it is completed once that one is, too."""

    def judging(payload: Payload, *, approved: bool) -> dict[str, Any]:
        is_review = agent_of(payload) == "reviewer"
        return call("finish", approved=approved, comments=["BUG"]) if is_review else reply(payload)

    ended = await run(place, Scripted())
    assert ended.status == "completed" and ended.plan is not None
    more = msgspec.structs.replace(ended.plan.tasks[0], id="T4", status="pending", dependencies=("T3",))
    with Session.open(place[1], "run") as session:
        record_plan(session, msgspec.structs.replace(ended.plan, tasks=(*ended.plan.tasks, more)))
        assert Progress.of(session.events).status == "running"
    assert (await run(place, Scripted(partial(judging, approved=False)), rounds=1)).status == "failed"
    assert (await run(place, Scripted(partial(judging, approved=True)), rounds=1)).status == "completed"


async def test_a_reviewer_that_comes_to_no_end_is_asked_again_and_its_words_go_nowhere(
    place: tuple[Path, Store],
) -> None:
    talks = 0

    def talkative(payload: Payload) -> dict[str, Any]:
        nonlocal talks
        if agent_of(payload) == "reviewer" and talks < 3:
            talks += 1
            return text("SECRET-THOUGHT")
        return reply(payload)

    driver = Scripted(talkative)
    assert (await run(place, driver)).status == "completed"
    assert not any(
        "SECRET-THOUGHT" in json.dumps(payload) for payload in driver.received if agent_of(payload) == "developer"
    )


async def test_a_run_whose_reviewer_never_answers_stops_and_can_go_on(place: tuple[Path, Store]) -> None:
    def mute(payload: Payload) -> dict[str, Any]:
        return text("hm") if agent_of(payload) == "reviewer" else reply(payload)

    with pytest.raises(AgentError, match=r"reviewer \(General\) came to no result"):
        await run(place, Scripted(mute))
    assert (await run(place, Scripted())).status == "completed"


async def test_an_architect_without_tasks_is_told_so_and_one_that_only_talks_is_asked_anew(
    place: tuple[Path, Store],
) -> None:
    answers = iter([text("well"), text("well"), text("well"), call("finish", tasks=[])])

    def slow(payload: Payload) -> dict[str, Any]:
        return next(answers, None) or reply(payload) if agent_of(payload) == "architect" else reply(payload)

    driver = Scripted(slow)
    assert (await run(place, driver)).status == "completed"
    assert any("the plan has no tasks" in json.dumps(payload) for payload in driver.received)


async def test_a_huge_diff_is_cut_for_the_reviewer_and_the_run_goes_on(place: tuple[Path, Store]) -> None:
    def wordy(payload: Payload) -> dict[str, Any]:
        made = any(one["role"] == "tool" for one in payload["messages"])
        if agent_of(payload) == "developer":
            return (
                call("finish", summary="s") if made else call("write_file", path="big.txt", content="word\n" * 200_000)
            )
        assert len(sections(payload)["Diff"]) < 50_000
        return call("finish", approved=True)

    plan = TaskDAG(tasks=(Task(id="T1", description="a big file"),))
    assert (await run(place, Scripted(wordy), plan=plan)).status == "completed"


async def test_a_task_that_changes_nothing_is_judged_all_the_same(place: tuple[Path, Store]) -> None:
    def idle(payload: Payload) -> dict[str, Any]:
        if agent_of(payload) == "developer":
            return call("finish", summary="all tests pass")
        assert "nothing was changed" in sections(payload)["Diff"]
        return call("finish", approved=True)

    plan = TaskDAG(
        tasks=(Task(id="T1", description="run the tests", files=(FileOperation(operation="test", path="check.py"),)),)
    )
    assert (await run(place, Scripted(idle), plan=plan)).status == "completed"


async def test_a_store_inside_the_directory_is_neither_seen_nor_changed_nor_in_a_diff(tmp_path: Path) -> None:
    repo = project(tmp_path)

    def curious(payload: Payload) -> dict[str, Any]:
        results = [one["content"] for one in payload["messages"] if one["role"] == "tool"]
        if agent_of(payload) == "reviewer":
            assert "s.dbx.py" in sections(payload)["Diff"] and "s.db-wal" not in sections(payload)["Diff"]
            return call("finish", approved=True)
        steps = [
            call("list_files"),
            call("write_file", path="s.db", content="broken"),
            call("read_file", path="ISSUE.md"),
            call("write_file", path="s.dbx.py", content="x = 1\n"),
        ]
        if len(results) == 3:
            assert "s.db" not in results[0] and "work/" not in results[0] and "ISSUE.md" not in results[0]
            assert "belongs to the run itself" in results[1] and "belongs to the run itself" in results[2]
        return steps[len(results)] if len(results) < len(steps) else call("finish", summary="s")

    (tmp_path / "ISSUE.md").write_text(ISSUE)
    with Store(tmp_path / "s.db") as store:
        plan = TaskDAG(tasks=(Task(id="T1", description="look around"),))
        done = await run((repo, store), Scripted(curious), plan=plan, hidden=(str(tmp_path / "ISSUE.md"),))
    assert done.status == "completed"


async def test_a_reviewer_of_ones_own_needs_no_persona(place: tuple[Path, Store]) -> None:
    class Lenient(ContextStrategy):
        SYSTEM_PROMPT = "You are a code reviewer who likes everything."

        def sections(self, state: Any) -> Iterator[Any]:
            return iter(())

    class Friend(Agent[Verdict]):
        context_strategy, name, result = Lenient, "friend", Verdict

    def friendly(payload: Payload) -> dict[str, Any]:
        return call("finish", approved=True) if agent_of(payload) == "reviewer" else reply(payload)

    globals()["Friend"] = Friend
    progress = await run(place, Scripted(friendly), reviewer=f"{__name__}:Friend")
    assert progress.status == "completed" and len(progress.attempts) == 3


def test_agents_that_cannot_be_used_are_refused(place: tuple[Path, Store]) -> None:
    for name, problem in (
        ("nobody", "cannot be found"),
        (":X", "cannot be found"),
        ("json:JSONDecoder", "derived from"),
        ("developer", "a reviewer's needs approved"),
    ):
        with pytest.raises(ConfigError, match=problem):
            setting_in(place[1], "run", beginning(place[0], reviewer=name), Scripted(), Watcher())


def test_one_process_at_a_time_works_on_a_run(place: tuple[Path, Store]) -> None:
    lock = lock_of(place[1], "run")
    assert not is_held(lock)
    with held(lock, "run"):
        assert is_held(lock)
        with pytest.raises(ConfigError, match="another process works on the run 'run'"), held(lock, "run"):
            raise AssertionError("nobody comes here")
    assert not is_held(lock)
    assert lock_of(place[1], "a/b") != lock_of(place[1], "a_b")
