"""`foveate-bench read`: studies in which files, a scripted reader and a scripted model read and grade."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from bench.logs import data_root
from bench.reading.situations import DEPTH, PINNED_BUDGETS, chosen_situations, history_hash, pinned_situations
from bench.reading.study import Study, load_study
from bench.stamp import ROOT
from tests.bench.reading_logs import RULE, write_logs
from tests.bench.test_cli import run
from tests.scripted_model import scripted_model, text

BUDGET = "1200"
ARMS = ("--arm", "foveate", "--arm", "drop-steps", "--arm", "ceiling")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_logs(tmp_path_factory.mktemp("logs"))


@pytest.fixture
def folder(logs: Path, tmp_path: Path) -> Path:
    run("read", "make", str(logs), "--budget", BUDGET, "--out", str(tmp_path / "study"), *ARMS)
    return tmp_path / "study"


def answer_all(folder: Path) -> Study:
    """A reader that says how much of what it was given it can see."""
    study = load_study(folder)
    for asked in sorted((folder / "ask").glob("*/*.md")):
        answer = folder / "answers" / asked.parent.name / asked.name
        answer.parent.mkdir(parents=True, exist_ok=True)
        answer.write_text(f"## Task\n{len(asked.read_text())} characters")
    return study


def grade_all(folder: Path, study: Study, *, state: float = 4) -> None:
    """A grader who gives the arm `foveate` more than the others, and whose colleague is a point milder."""
    for path in sorted((folder / "judge").glob("*/*.md")):
        grader, situation = path.parent.name, path.stem
        names = study.answer_names(grader, situation)
        mild = 1 if grader == "grader-2" else 0
        grades = {
            name: {
                "task": 8 + mild if study.arm_read[reader, situation] == "foveate" else 5 + mild,
                "state": state,
                "next": 6,
                "false": 1 if study.arm_read[reader, situation] == "drop-steps" else 0,
                "why": "scripted",
            }
            for name, reader in names.items()
        }
        target = folder / "grades" / grader / f"{situation}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"Here they are:\n```json\n{json.dumps(grades)}\n```")


def test_situations_are_deep_few_and_drawn_by_the_seed(folder: Path, logs: Path, tmp_path: Path) -> None:
    """At most two a session, more than 2.5 budgets behind each; another seed draws others."""
    found = list(load_study(folder).situations.values())
    assert max(Counter(one.session for one in found).values()) == 2
    assert all(one.history_tokens > DEPTH * int(BUDGET) for one in found)
    again = run("read", "make", str(logs), "--budget", BUDGET, "--out", str(tmp_path / "again"), *ARMS)
    assert "6 situations of 3 sessions" in " ".join(again.split())
    assert load_study(tmp_path / "again").situations == load_study(folder).situations
    run("read", "make", str(logs), "--budget", BUDGET, "--seed", "5", "--out", str(tmp_path / "other"), *ARMS)
    assert {one.id for one in load_study(tmp_path / "other").situations.values()} != {one.id for one in found}


def test_each_reader_sees_each_situation_once_and_all_arms_alike(folder: Path) -> None:
    """A Latin square, and nothing in what readers and graders get names an arm."""
    study = load_study(folder)
    for situation in study.situations:
        assert len({study.arm_read[reader, situation] for reader in study.readers}) == len(study.arms)
    for reader in study.readers:
        seen = Counter(study.arm_read[reader, situation] for situation in study.situations)
        assert set(seen.values()) == {len(study.situations) // len(study.arms)}
        assert {path.stem for path in (folder / "ask" / reader).iterdir()} == set(study.situations)
    answer_all(folder)
    run("read", "grade", str(folder))
    shown = [path.read_text() for name in ("ask", "judge") for path in (folder / name).glob("*/*.md")]
    assert not any(arm.name in one for arm in study.arms for one in shown)


def test_a_reader_gets_the_request_and_a_grader_what_really_happened(folder: Path) -> None:
    study = load_study(folder)
    for name, situation in study.situations.items():
        truth = (folder / "truth" / f"{name}.md").read_text()
        assert RULE in truth
        assert "# What really came next" in truth
        for reader in study.readers:
            arm = study.arm_read[reader, name]
            request = json.loads((folder / "requests" / arm / f"{name}.json").read_text())
            assert request["chats"][-1]["content"] in (folder / "ask" / reader / f"{name}.md").read_text()
            assert request["situation"] == situation.id


def test_what_is_published_has_no_text_of_a_session(folder: Path, tmp_path: Path) -> None:
    """Only grades, counts and hashes."""
    grade_missing = run("read", "grade", str(folder))
    assert "18 answers are missing" in grade_missing
    study = answer_all(folder)
    run("read", "grade", str(folder))
    grade_all(folder, study)
    run("read", "report", str(folder), "--to", str(tmp_path / "public.json"))
    for path in (folder / "study.json", tmp_path / "public.json"):
        assert RULE not in path.read_text()
        assert "scripted" not in path.read_text()


def test_means_differences_and_agreement_are_those_of_the_grades(folder: Path, tmp_path: Path) -> None:
    study = answer_all(folder)
    run("read", "grade", str(folder))
    grade_all(folder, study)
    said = run("read", "report", str(folder), "--to", str(tmp_path / "public.json"))
    assert "missing" not in said

    report = json.loads((tmp_path / "public.json").read_text())
    arms = {arm["name"]: arm["means"] for arm in report["arms"]}
    assert {name: means["task"]["value"] for name, means in arms.items()} == {
        "foveate": 8.5,
        "drop-steps": 5.5,
        "ceiling": 5.5,
    }
    assert arms["drop-steps"]["false"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    first = report["differences"][0]
    assert (first["arm"], first["other"], first["means"]["task"]["value"]) == ("foveate", "drop-steps", 3.0)
    (agreement,) = report["agreement"]
    assert agreement["answers"] == 18
    assert agreement["difference"]["task"] == 1.0
    assert agreement["correlation"]["task"] == pytest.approx(1.0)
    assert agreement["correlation"]["state"] is None


def test_a_report_of_a_part_says_what_is_missing(folder: Path) -> None:
    """Answers and grades that are there count, and nothing is asked twice."""
    study = answer_all(folder)
    (folder / "answers" / "reader-2" / "s03.md").unlink()
    assert "reader-2: s03" in run("read", "answer", str(folder))
    run("read", "grade", str(folder))
    assert not list(folder.glob("judge/*/s03.md"))
    grade_all(folder, study)
    (folder / "grades" / "grader-1" / "s01.json").unlink()
    assert "grader-1: s01" in run("read", "grade", str(folder))
    assert "missing: 1 answers, 3 of a grader's situations" in run("read", "report", str(folder))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda grades: {**grades, "A": {**grades["A"], "task": 11}}, "`task` must be a number from 0 to 10, got 11"),
        (lambda grades: {**grades, "A": {"task": 1}}, "`state` must be a number from 0 to 10, got None"),
        (lambda grades: {"A": grades["A"]}, "grades are due for A, B, C, got A"),
    ],
)
def test_wrong_grades_are_refused_by_file_and_key(folder: Path, change: object, said: str) -> None:
    study = answer_all(folder)
    run("read", "grade", str(folder))
    grade_all(folder, study)
    path = folder / "grades" / "grader-1" / "s02.json"
    grades = json.loads(path.read_text().split("```json\n")[1].split("\n```")[0])
    path.write_text(json.dumps(change(grades)))  # type: ignore[operator]
    told = "".join(run("read", "report", str(folder), code=1).split())
    assert "".join(said.split()) in told
    assert "grader-1/s02.json" in told


def test_a_model_reads_and_grades_through_the_driver(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One request for each prompt; a grader who does not keep to the form is asked once more."""
    study = load_study(folder)
    graded: list[str] = []

    def reply(payload: dict[str, object]) -> dict[str, object]:
        asked = json.dumps(payload["messages"])
        if "=== answer A ===" not in asked:
            return text("## Task\nall of it")
        graded.append(asked)
        grade = {"task": 7, "state": 6, "next": 5, "false": 0}
        return text("I would rather not." if len(graded) == 1 else json.dumps(dict.fromkeys("ABC", grade)))

    with scripted_model(reply) as model:
        for name, value in model.environment.items():
            monkeypatch.setenv(name, value)
        said = run("read", "answer", str(folder), "--model", "openai-chat:scripted")
        assert "all answers are there" in " ".join(said.split())
        said = run("read", "grade", str(folder), "--model", "openai-chat:scripted", "--jobs", "1")
        assert "all grades are there" in " ".join(said.split())

    assert len(model.received) == 18 + 12 + 1
    assert (folder / "answers" / "reader-1" / "by.txt").read_text() == "openai-chat:scripted\n"
    assert len(list(folder.glob("grades/*/*.json"))) == len(study.situations) * 2
    assert "7.00 [7.00, 7.00]" in run("read", "report", str(folder))


def test_requests_of_another_checkout_take_part(logs: Path, tmp_path: Path) -> None:
    """Those of this very checkout are the same as ours; those of another history are refused."""
    to = tmp_path / "elsewhere"
    options = (str(logs), "--budget", BUDGET)
    run("read", "compile", str(ROOT), *options, "--to", str(to))
    run("read", "make", *options, "--out", str(tmp_path / "study"), "--arm", "foveate", "--arm", f"old={to}")
    made = load_study(tmp_path / "study")
    ours, theirs = made.arms
    assert ours.tokens == theirs.tokens
    for name in made.situations:
        requests = [
            json.loads((tmp_path / "study" / "requests" / arm / f"{name}.json").read_text())["chats"]
            for arm in ("foveate", "old")
        ]
        assert requests[0] == requests[1]

    path = next(to.glob("*.json"))
    path.write_bytes(msgspec.json.encode({**json.loads(path.read_text()), "history_sha256": "0"}))
    said = run("read", "make", *options, "--out", str(tmp_path / "x"), "--arm", f"old={to}", code=1)
    assert "was compiled from another history" in " ".join(said.split())


def test_texts_of_sessions_stay_out_of_the_repository(logs: Path) -> None:
    out = ROOT / "docs" / "study"
    said = run("read", "make", str(logs), "--budget", BUDGET, "--out", str(out), code=1)
    assert "stay outside" in " ".join(said.split())
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--arm", "nobody"), "unknown `--policy` 'nobody'"),
        (("--arm", "foveate@many"), "'many' is not a number of tokens"),
        (("--arm", "foveate", "--arm", "foveate"), "name each arm once"),
        (("--arm", "old=nowhere"), "nowhere is not a folder"),
        (("--budget", "900000"), "has more than 2,250,000 tokens before a tool call"),
    ],
)
def test_what_cannot_be_studied_is_refused(logs: Path, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    """The error names the value and the remedy, and nothing is written."""
    out = tmp_path / "study"
    told = run("read", "make", str(logs), *(arguments or ()), "--out", str(out), code=1)
    assert said in " ".join(told.split())
    assert not out.exists()


def test_a_study_does_not_take_the_place_of_another(folder: Path, logs: Path) -> None:
    said = run("read", "make", str(logs), "--budget", BUDGET, "--out", str(folder), code=1)
    assert "is not empty" in " ".join(said.split())


def test_the_situations_in_the_repository_are_those_that_the_seed_draws() -> None:
    """Fixed before anything was read; in CI missing logs are a failure, not a skip."""
    if data_root() is None and not os.environ.get("CI"):
        pytest.skip("no recorded logs: set FOVEATE_DATA to a directory of them")
    from bench.reading.cli import recorded_sessions

    materials = recorded_sessions()
    fixed = pinned_situations()
    assert {budget: tuple(chosen_situations(materials, budget)) for budget in PINNED_BUDGETS} == fixed
    assert all(one.split in ("tune", "report") for found in fixed.values() for one in found)
    session = {one.name: one for one in materials}
    for one in fixed[8_000][:3]:
        assert history_hash(session[one.session].script.chats[: one.place]) == one.history_sha256
