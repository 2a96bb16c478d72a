"""`foveate-bench` from the outside, in small sizes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.cli import FOLDER, app
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


def test_what_is_not_the_whole_benchmark_does_not_take_its_place(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs of one's own are all replayed, and their results go to a folder of their own, which is said."""
    monkeypatch.chdir(tmp_path)
    published = [path.stat().st_mtime_ns for path in sorted((FOLDER / "results").iterdir())]
    said = run("replay", str(logs), "--no-peers", "--arm", "untouched", "--generated", "0", "--jobs", "1")

    assert "foveate-bench report --out foveate-bench-results" in " ".join(said.split())
    results = json.loads((tmp_path / "foveate-bench-results" / "results" / "replay.json").read_text())
    assert [(run["split"], len(run["sessions"])) for run in results["runs"]] == [("all", 3), ("all", 3)]
    assert [path.stat().st_mtime_ns for path in sorted((FOLDER / "results").iterdir())] == published


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--arm", "nobody"), "no arm has a name that begins with 'nobody' (`--arm`); there are foveate,"),
        (("--source", "nowhere"), "no session of 'nowhere' (`--source`) is in the split 'all' (`--split`)"),
    ],
)
def test_a_choice_of_nothing_is_refused_and_writes_nothing(
    logs: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    """The error names what there is."""
    out = tmp_path / "out"
    told = run("replay", str(logs), "--no-peers", "--quick", "--out", str(out), *options, code=1)
    assert said in " ".join(told.split())
    assert not out.exists()


def test_a_log_that_cannot_be_read_is_named_without_its_folder(logs: Path, tmp_path: Path) -> None:
    (logs / "broken.jsonl").write_text('{"type": "session_meta", "payload": {}}\n{"type": \n')
    (logs / "named.json").write_text("{")
    said = run(
        "replay", str(logs), str(logs / "named.json"), "--no-peers", "--quick", "--jobs", "1", "--out", str(tmp_path)
    )
    assert "left out: named.json" in " ".join(said.split())
    left_out = json.loads((tmp_path / "results" / "replay.json").read_text())["left_out"]
    assert left_out and not any(str(tmp_path) in text for text in left_out)


def test_a_page_of_nothing_is_refused_without_a_traceback(tmp_path: Path) -> None:
    assert "`foveate-bench replay` makes the first ones" in " ".join(
        run("report", "--out", str(tmp_path), code=1).split()
    )


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
    monkeypatch.setattr("bench.console.data_root", lambda: None)
    assert "set `FOVEATE_DATA`" in run("replay", "--no-peers", code=1)
