"""`foveate-bench read edits`: which old lines of an edit a request shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.reading.edits import old_lines, shown_lines
from tests.bench.reading_logs import write_logs
from tests.bench.test_cli import run

PATCH = """*** Begin Patch
*** Add File: new.py
+def brand_new():
+    return 1
*** Update File: old.py
@@ def load():
 def load(path):
-    return open(path).read()
+    return path.read_text()
*** End Patch"""
BLOCK = "old.py\n<<<<<<< SEARCH\ndef load(path):\n    return open(path).read()\n=======\ndef load(path): ...\n>>>>>>> REPLACE"


def answer(**arguments: Any) -> dict[str, Any]:
    function = {"name": "edit", "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": function}]}


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "old.py", "old_string": "def load(path):\n    return open(path).read()\n}\n", "new_string": "x = 1"},
        {"edits": [{"old_str": "def load(path):"}, {"old_str": "    return open(path).read()"}]},
        {"input": PATCH},
        {"command": ["bash", "-c", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]},
        {"diff": BLOCK},
    ],
)
def test_old_lines_are_read_off_any_form_of_edit(arguments: dict[str, Any]) -> None:
    """What is added is not old, and lines that are everywhere do not count."""
    assert old_lines(answer(**arguments)) == ["def load(path):", "return open(path).read()"]


def test_a_call_that_edits_nothing_has_no_old_lines() -> None:
    assert old_lines(answer(command="grep -n load old.py")) == []


def test_a_line_is_in_view_wherever_a_request_shows_it() -> None:
    """With a number in front, indented otherwise, or in the arguments of an earlier call."""
    lines = ["def load(path):", "return open(path).read()", "never seen at all"]
    request = [{"role": "tool", "content": "12→def load(path):"}, answer(new="  return   open(path).read()")]
    assert shown_lines(lines, request) == 2


def test_arms_are_compared_on_the_same_edits(tmp_path: Path) -> None:
    """The whole history shows what was there; a budget shows less, and four budgets no less than one."""
    logs = write_logs(tmp_path / "logs")
    arms = [part for arm in ("untouched", "ceiling", "drop-exact") for part in ("--arm", arm)]
    said = run("read", "edits", str(logs), "--budget", "1200", *arms)
    shares = {
        line.split("│")[1].strip(): float(line.split("│")[2].split()[0]) for line in said.splitlines() if "│" in line
    }
    assert 1 >= shares["untouched"] >= shares["ceiling"] >= shares["drop-exact"]


def test_a_folder_of_requests_has_no_edits(tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", sessions=1)
    (tmp_path / "requests").mkdir()
    said = run("read", "edits", str(logs), "--budget", "1200", "--arm", f"old={tmp_path / 'requests'}", code=1)
    assert "not in a folder of requests" in " ".join(said.split())
