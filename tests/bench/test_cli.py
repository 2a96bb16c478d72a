"""`foveate-bench` from the outside, in small sizes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.cli import app
from tests.bench.test_material import log
from typer.testing import CliRunner


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.json").write_text(log(number + 4, f"look at src/module_{number}.py and fix it"))
    return folder


def test_a_folder_of_ones_own_logs_is_replayed_and_becomes_a_page(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = run("replay", str(logs), "--no-peers", "--quick", "--split", "all", "--jobs", "1", "--out", str(out))
    assert "3 sessions of 3 logs" in said
    assert "foveate-lean" in said
    assert json.loads((out / "results" / "replay.json").read_text())["stamp"]["command"].startswith(
        "uv run --group bench foveate-bench"
    )

    run("report", "--out", str(out))
    assert "foveate-lean" in (out / "README.md").read_text()
    assert "<svg" in (out / "index.html").read_text()


def test_growth_in_a_small_size(tmp_path: Path) -> None:
    run("growth", "--quick", "--out", str(tmp_path))
    assert json.loads((tmp_path / "results" / "growth.json").read_text())["curves"]


def test_recall_in_a_small_size(logs: Path, tmp_path: Path) -> None:
    run("recall", str(logs), "--quick", "--out", str(tmp_path))
    assert json.loads((tmp_path / "results" / "recall.json").read_text())["tables"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("replay", "nowhere", "--no-peers"), "nowhere does not exist; name a log or a folder of logs"),
        (("replay", ".", "--no-peers"), "no sessions with model calls"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in " ".join(run(*arguments, code=1).split())


def test_a_broken_file_of_conversations_is_refused_without_a_traceback(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    said = run("recall", str(logs), "--quick", "--locomo", str(tmp_path / "bad.json"), "--out", str(tmp_path), code=1)
    # Rich breaks lines wherever the terminal ends.
    assert "bad.json" in "".join(said.split())
    assert "Traceback" not in said


def test_without_logs_it_says_how_to_name_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.cli.data_root", lambda: None)
    assert "set `FOVEATE_DATA`" in run("replay", "--no-peers", code=1)
