"""What others wrote is shown on a terminal as text: it neither moves the cursor nor passes for a line of a command."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from foveate.cli.main import app
from foveate.cli.work_screen import Screen
from foveate.log.events import DiagnosticRecorded

# Sets the title of the window, hides what follows, goes up a line.
_CONTROLS = "\x1b]0;owned\x07\x1b[8m\x1b[1A\x9b2J\r"


def test_names_of_files_are_text_in_messages(tmp_path: Path) -> None:
    """Of files that are refused and of those that are no logs, also with line breaks in their names."""
    for name, content in (("a.jsonl", '{"role": "user", "content": 1}\n'), ("b.json", "no log")):
        (tmp_path / f"{_CONTROLS}\nimported 9 sessions {name}").write_text(content)
    done = CliRunner().invoke(app, ["import", str(tmp_path), "--store", str(tmp_path / "s.db")])
    assert "9 sessions a.jsonl" in done.output and "9 sessions b.json" in done.output
    assert not {"\x1b", "\x07", "\x9b", "\r"} & set(done.output)
    assert not any(line.startswith("imported 9") for line in done.output.splitlines())


def test_a_run_says_that_a_request_was_sent_again_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line; what else an agent's session notes is not printed."""
    screen, shown = Screen("run", yes=False), io.StringIO()
    monkeypatch.setattr(screen, "_console", Console(file=shown, width=200, color_system=None))
    text = "the request is longer than the window; sent again, with 800 tokens instead of 2,000"
    screen.noted("developer", DiagnosticRecorded(code="window_exceeded", phase="send", text=text, subject="3"))
    screen.noted("developer", DiagnosticRecorded(code="usage_unknown", phase="usage", text="no count", subject="3"))
    assert shown.getvalue() == f"  developer ! call 3: {text}\n"


def test_a_model_cannot_hide_the_command_that_it_wants_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a model writes stands above the question whether a command may run."""
    screen, shown = Screen("run", yes=False), io.StringIO()
    monkeypatch.setattr(screen, "_console", Console(file=shown, force_terminal=True, color_system=None))
    screen.wrote(f"I will list the files.{_CONTROLS}\n")
    assert shown.getvalue().startswith("I will list the files.")
    assert not {"\x1b", "\x07", "\x9b", "\r"} & set(shown.getvalue())
