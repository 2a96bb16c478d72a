"""`foveate-bench continue`: studies done by files, by a scripted model, and by a real agent with one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from bench.continuing.agent import ADAPTER
from bench.continuing.requests import shows
from bench.continuing.sandbox import write_files
from bench.continuing.scenario import PLACES
from bench.continuing.scenarios import SCENARIOS
from bench.continuing.study import ContinuationStudy, load_study, scenario_called
from tests.bench.test_cli import run
from tests.scripted_model import Payload, call, scripted_model, text

ARMS = ("--arm", "foveate", "--arm", "drop-steps", "--budget", "8000")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("continue") / "study"
    run("continue", "make", "--out", str(folder), *ARMS)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "study")
    return tmp_path / "study"


def patch_of(before: dict[str, str], after: dict[str, str]) -> str:
    parts: list[str] = []
    for path, new in after.items():
        old = before.get(path, "").splitlines(keepends=True)
        source = f"a/{path}" if path in before else "/dev/null"
        parts += unified_diff(old, new.splitlines(keepends=True), source, f"b/{path}")
    return "".join(parts)


def solve(folder: Path, study: ContinuationStudy, worker: str, name: str, form: str) -> None:
    """The reference solution, in one of the forms in which workers may write theirs."""
    scenario = scenario_called(study.scenarios[name])
    done = folder / "done" / worker / name
    done.mkdir(parents=True)
    match form:
        case "files":
            write_files(done / "files", scenario.reference)
        case "patch":
            (done / "changes.patch").write_text(patch_of(dict(scenario.recorded().files), dict(scenario.reference)))
        case _:
            lines = [f"cat > {path} <<'EOF'\n{new.rstrip()}\nEOF" for path, new in scenario.reference.items()]
            (done / "run.sh").write_text("\n".join(lines))


def test_each_arm_has_each_scenario_as_often_as_there_are_runs(tmp_path: Path) -> None:
    run("continue", "make", "--out", str(tmp_path / "s"), "--runs", "2", *ARMS, "--arm", "untouched@8000")
    study = load_study(tmp_path / "s")
    assert len(study.workers) == 6
    for name in study.scenarios:
        arms = sorted(study.arm_of[worker, name] for worker in study.workers)
        assert arms == sorted(arm.name for arm in study.arms for _ in range(2))


def test_a_worker_gets_the_request_and_the_repository_and_no_arm(folder: Path) -> None:
    study = load_study(folder)
    for worker, name in study.cells():
        place = folder / "ask" / worker / name
        asked = (place / "request.md").read_text()
        scenario = scenario_called(study.scenarios[name])
        assert shows([scenario.request], [{"role": "user", "content": asked}])
        assert not any(arm.name.partition("@")[0] in asked for arm in study.arms if arm.name != "foveate@8000")
        files = scenario.recorded().files
        assert {
            str(path.relative_to(place / "repository")) for path in place.rglob("*.*") if path.name != "request.md"
        } >= {path for path in files if "." in path}
        assert not any(path in files for path in scenario.reference if path.endswith(".py") and path not in files)


def test_work_in_files_is_checked_and_counted_by_place(folder: Path, tmp_path: Path) -> None:
    """Files, patches and scripts alike; what is missing is said, and a run that does nothing solves nothing."""
    study = load_study(folder)
    names = list(study.scenarios)
    for name, form in zip(names, ("files", "patch", "script", "files"), strict=True):
        solve(folder, study, "worker-1", name, form)
    (folder / "done" / "worker-2" / names[0] / "files").mkdir(parents=True)
    said = " ".join(run("continue", "check", str(folder)).split())
    assert "3 are missing. Give each worker" in said
    assert f"worker-2: {' '.join(names[1:])}" in said

    run("continue", "report", str(folder), "--to", str(tmp_path / "report.json"))
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["missing"] == 3
    solved = {arm["name"]: (sum(arm["solved"].values()), sum(arm["checks"].values())) for arm in report["arms"]}
    expected = {arm.name: [0, 0] for arm in study.arms}
    for name in names:
        checks = len(scenario_called(study.scenarios[name]).checks)
        for count in (0, 1):
            expected[study.arm_of["worker-1", name]][count] += checks
    expected[study.arm_of["worker-2", names[0]]][1] += len(scenario_called(study.scenarios[names[0]]).checks)
    assert solved == {name: tuple(counts) for name, counts in expected.items()}
    assert [set(arm["checks"]) for arm in report["arms"]] == [set(PLACES)] * 2
    assert [arm["rules_broken"] for arm in report["arms"]] == [0, 0]


def test_a_broken_rule_is_counted(folder: Path, tmp_path: Path) -> None:
    study = load_study(folder)
    name = next(iter(study.scenarios))
    scenario = scenario_called(study.scenarios[name])
    rule = next(check for check in scenario.checks if check.kind == "rule")
    path, right, wrong = rule.mistake
    slipped = {**scenario.reference, path: scenario.reference[path].replace(right, wrong)}
    write_files(folder / "done" / "worker-1" / name / "files", slipped)
    run("continue", "check", str(folder))
    run("continue", "report", str(folder), "--to", str(tmp_path / "report.json"))
    arms = {arm["name"]: arm for arm in json.loads((tmp_path / "report.json").read_text())["arms"]}
    assert arms[study.arm_of["worker-1", name]]["rules_broken"] >= 1


def test_a_model_works_through_the_driver_in_requests_of_the_arm(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads a file again, recalls, writes and finishes; steps, recalls and files read again are counted."""

    def reply(payload: Payload) -> dict[str, Any]:
        asked = [message["content"] for message in payload["messages"] if message["role"] == "user"]
        scenario = next(one for one in SCENARIOS if one.request in asked)
        results = [message for message in payload["messages"] if message["role"] == "tool"]
        done = 0
        for message in reversed(payload["messages"]):
            if message["role"] == "user" and message["content"] == scenario.request:
                break
            done += message["role"] == "tool"
        assert results or not done
        tools = {tool["function"]["name"] for tool in payload["tools"]}
        steps = [call("run_command", command=f"cat {min(scenario.recorded().read)}", number=900)]
        steps += [call("recall", reference="m1", number=901)] if "recall" in tools else []
        steps += [
            call("write_file", path=f"/work/{path}", content=new, number=910 + number)
            for number, (path, new) in enumerate(scenario.reference.items())
        ]
        return [*steps, call("finish", summary="done", number=950)][done]

    with scripted_model(reply) as model:
        for key, value in model.environment.items():
            monkeypatch.setenv(key, value)
        for _ in range(2):
            run("continue", "run", str(folder), "--model", "openai-chat:scripted", "--limit", "1")

    assert model.problems == []
    run("continue", "report", str(folder), "--to", str(tmp_path / "report.json"))
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["missing"] == 6
    assert sum(arm["runs"] for arm in report["arms"]) == 2
    for arm in (one for one in report["arms"] if one["runs"]):
        assert arm["solved"] == arm["checks"]
        assert arm["read_again"] == 1
        assert arm["recalls"] == (1 if arm["name"].startswith("foveate") else 0)
        assert 3 <= arm["steps"] <= 6
    assert {result["ended"] for result in report["results"]} == {"finished"}


def test_a_model_that_only_talks_ends_its_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_model(lambda _payload: text("All done, trust me.")) as model:
        for key, value in model.environment.items():
            monkeypatch.setenv(key, value)
        run("continue", "run", str(folder), "--model", "openai-chat:scripted", "--limit", "1")
    (path,) = (folder / "results").glob("*/*.json")
    result = json.loads(path.read_text())
    assert (result["ended"], result["steps"]) == ("answered without a call", 1)
    assert all(result["checks"].values())


def test_mini_swe_agent_works_in_its_own_loop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real agent, with a scripted model, in an environment of its own."""
    made = subprocess.run(
        ["uv", "sync", "--quiet", "--script", str(ADAPTER)], capture_output=True, check=False, timeout=600
    )
    if made.returncode and not os.environ.get("CI"):
        pytest.skip(f"mini-swe-agent cannot be installed here: {made.stderr.decode()[-200:]}")

    def reply(payload: Payload) -> dict[str, Any]:
        asked = payload["messages"][1]["content"]
        scenario = next(one for one in SCENARIOS if one.request.split("\n")[0] in asked)
        done = sum(message["role"] == "tool" for message in payload["messages"])
        commands = [
            f"mkdir -p $(dirname {path}) && cat > {path} <<'EOF'\n{new.rstrip()}\nEOF"
            for path, new in scenario.reference.items()
        ]
        commands = [
            f"cat {min(scenario.recorded().read)}",
            *commands,
            "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
        ]
        return call("bash", command=commands[done], number=done)

    with scripted_model(reply) as model:
        monkeypatch.setenv("OPENAI_API_BASE", f"{model.address}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none-is-needed")
        run("continue", "run", str(folder), "--model", "openai/scripted", "--agent", "mini-swe-agent", "--limit", "1")
    (path,) = (folder / "results").glob("*/*.json")
    result = json.loads(path.read_text())
    assert {name: why for name, why in result["checks"].items() if why} == {}
    assert (result["ended"], len(result["read_again"])) == ("Submitted", 1)


def test_facts_in_view_are_told_without_any_worker() -> None:
    """The whole history shows all of them; no arm needs a model."""
    said = run("continue", "facts", "--budget", "8000", "--arm", "untouched", "--arm", "drop-steps")
    rows = {line.split("│")[1].strip(): line for line in said.splitlines() if line.startswith("│")}
    assert "21 of 21" in rows["untouched@8000"]
    assert "9 of 9" in rows["untouched@8000"]
    assert "21 of 21" not in rows["drop-steps@8000"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("facts", "--arm", "nobody"), "unknown `--policy` 'nobody'"),
        (("make", "--arm", "old=."), "a folder of requests cannot go on"),
        (("report", "nowhere"), "nowhere has no study.json"),
    ],
)
def test_what_cannot_be_continued_is_refused(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in " ".join(run("continue", *arguments, code=1).split())


def test_two_forms_of_one_solution_are_refused(folder: Path) -> None:
    study = load_study(folder)
    name = next(iter(study.scenarios))
    solve(folder, study, "worker-1", name, "files")
    (folder / "done" / "worker-1" / name / "run.sh").write_text("true")
    assert "leave one of them" in " ".join(run("continue", "check", str(folder), code=1).split())
