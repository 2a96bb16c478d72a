"""`foveate workflow` from the outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from foveate.cli.main import app
from foveate.store import Store
from tests.scripted_model import Payload, ScriptedModel, ScriptError, scripted_model, text
from tests.scripts.stages import whole

SCRIPT = """\
---
description: 每天的计划
---
## Instructions
Be brief.

## Gather
@input file:note.md (required)
@output variable:facts
@cache daily

List the facts.

## 写计划
@input variable:facts
@output file:plan.md
@write_mode replace

写一个计划。

## Tell

Say that it is done.
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("FOVEATE_STORE", "FOVEATE_SYSTEM", "FOVEATE_VAULT", "FOVEATE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "daily.md").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "notes" / "note.md").write_text("下雨", encoding="utf-8")
    return tmp_path


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    def reply(payload: Payload) -> dict[str, object]:
        if "FAIL" in whole(payload):
            raise ScriptError("no")
        return text(f"answer to {payload['messages'][-1]['content'][0]['text']}")

    with scripted_model(reply) as made:
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        yield made


GIVEN = ["--vault", "notes", "--store", "context.db", "--model", "openai-chat:scripted"]


def foveate(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["workflow", *arguments])


def test_check_lists_steps_or_names_what_is_wrong(place: Path) -> None:
    """And needs neither a store nor a model."""
    fine = foveate("check", "notes/daily.md")
    (place / "bad.md").write_text("## A\n@modle x\n@cache 5x\nx")
    bad = foveate("check", "bad.md")

    assert fine.exit_code == 0, fine.output
    assert "每天的计划" in fine.stdout
    assert [line.split()[0] for line in fine.stdout.splitlines()[2:]] == ["Gather", "写计划", "Tell"]
    assert bad.exit_code == 2
    assert "bad.md, line 2: `@modle` is no directive" in bad.stderr
    assert "bad.md, line 3: `@cache` must be" in bad.stderr
    assert foveate("check", "none.md").exit_code == 2


def test_a_dry_run_prints_requests_and_makes_nothing(place: Path) -> None:
    """No store, no session, no file; and no model is needed."""
    before = set(place.rglob("*"))

    done = foveate("run", "notes/daily.md", "--vault", "notes", "--store", "context.db", "--dry-run")

    assert done.exit_code == 0, done.output
    assert done.stdout.count("=== ") == 3
    assert "下雨" in done.stdout and "写一个计划。" in done.stdout and "Be brief." in done.stdout
    assert set(place.rglob("*")) == before


def test_a_run_tells_what_it_does_and_where_outputs_are(place: Path, model: ScriptedModel) -> None:
    """Progress on standard error, outputs without a place of their own on standard output; a call can be explained."""
    first = foveate("run", "notes/daily.md", *GIVEN)
    second = foveate("run", "notes/daily.md", *GIVEN)
    explained = CliRunner().invoke(app, ["explain", "workflow:daily/写计划", "--call", "1", "--store", "context.db"])

    assert first.exit_code == 0, first.output
    assert first.stdout == "answer to Say that it is done.\n"
    assert "✓ 写计划 → file:plan.md" in first.stderr
    assert "✓ Gather (cached, made just now) → variable:facts" in second.stderr
    assert (place / "notes" / "plan.md").read_text(encoding="utf-8") == "answer to 写一个计划。\n"
    assert len(model.received) == 5
    assert explained.exit_code == 0 and "写一个计划。" in explained.stdout


def test_a_failed_step_is_an_exit_code(place: Path, model: ScriptedModel) -> None:
    """With its reason; later steps are not begun, and a wrong `--step` or `--vault` asks nobody."""
    (place / "notes" / "note.md").write_text("FAIL")
    failed = foveate("run", "notes/daily.md", *GIVEN)
    asked = len(model.received)
    (place / "notes" / "note.md").unlink()
    missing = foveate("run", "notes/daily.md", *GIVEN)
    unknown = foveate("run", "notes/daily.md", *GIVEN, "--step", "Other")
    nowhere = foveate("run", "notes/daily.md", "--vault", "nowhere", "--store", "context.db")

    assert failed.exit_code == 1 and "✗ Gather: " in failed.stderr and "写计划" not in failed.stderr
    assert missing.exit_code == 1 and "`@input file:note.md` is required" in missing.stderr
    assert unknown.exit_code == 2 and "there are 'Gather', '写计划', 'Tell'" in unknown.stderr
    assert nowhere.exit_code == 2 and "`--vault`" in nowhere.stderr
    assert len(model.received) == asked


def test_a_killed_run_can_be_run_again(place: Path, model: ScriptedModel) -> None:
    """What was answered before and may be used again is; no file is there in part; meanwhile nobody else may run it."""
    asked, go_on = threading.Event(), threading.Event()

    def before(number: int) -> None:
        if number == 2:
            asked.set()
            go_on.wait(60)

    model.before = before
    (place / "notes" / "plan.md").write_text("the old plan")
    command = [sys.executable, "-m", "foveate", "workflow", "run", "notes/daily.md", *GIVEN]
    process = subprocess.Popen(command, cwd=place, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert asked.wait(120)
    other = foveate("run", "notes/daily.md", *GIVEN)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    go_on.set()
    kept = (place / "notes" / "plan.md").read_text()

    again = foveate("run", "notes/daily.md", *GIVEN)

    assert other.exit_code == 2 and "another process carries out the workflow 'daily'" in other.stderr
    assert kept == "the old plan"
    assert again.exit_code == 0, again.output
    assert "✓ Gather (cached" in again.stderr
    assert (place / "notes" / "plan.md").read_text(encoding="utf-8") == "answer to 写一个计划。\n"
    assert {path.name for path in (place / "notes").iterdir()} == {"daily.md", "note.md", "plan.md"}
    with Store("context.db") as store:
        assert len(store.sessions()) == 3


def test_a_project_is_known_to_steps_with_a_helper_and_debug_context_says_how(
    place: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a step's helper is shown of a project's knowledge can be looked into, as in every other run."""
    (place / "notes" / "helped.md").write_text("## Plan\n@context-helper chat\n\nPlan the billing.\n", encoding="utf-8")
    monkeypatch.setenv("DEBUG_CONTEXT", "true")
    done = foveate("run", "notes/helped.md", *GIVEN, "--project", "shop")
    assert done.exit_code == 0, done.output
    assert "## Context Debug" in done.stderr and "- Keywords: [plan, billing]" in done.stderr
    monkeypatch.delenv("DEBUG_CONTEXT")
    assert "Context Debug" not in foveate("run", "notes/helped.md", *GIVEN, "--project", "shop").stderr
