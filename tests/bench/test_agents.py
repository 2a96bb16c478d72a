"""Recordings of real agents: each that is installed runs through, and its requests are kept as it sent them."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from bench.agents import AGENTS, AgentError, find_program, main, record

INSTALLED = os.environ.get("FOVEATE_AGENTS")


@pytest.mark.skipif(INSTALLED is None, reason="slow, and needs agents: FOVEATE_AGENTS names the folder they are in")
@pytest.mark.parametrize("name", AGENTS)
def test_a_real_agent_runs_to_its_end(name: str, tmp_path: Path) -> None:
    """It does every step, its tools run, and what it sent on the way is in the folder."""
    agent = AGENTS[name]
    assert INSTALLED is not None
    try:
        find_program(agent, Path(INSTALLED))
    except AgentError as missing:
        pytest.skip(str(missing))

    recording = record(agent, to=tmp_path, agents=Path(INSTALLED), tasks=2)

    provider = recording.provider
    assert (recording.exits, provider.errors) == ((0, 0), [])
    assert len(provider.requests) >= 9
    # The last request may be a side call of the agent, with a conversation of its own; and on a busy machine an agent
    # may miss the output of a command that ends at once.
    sent = b"\n".join(one.body for one in provider.requests).decode()
    assert "git diff" in sent, "the last step was done"
    assert "def add(a, b):" in sent, "the output of commands came back"
    kept: list[Any] = [json.loads(path.read_bytes()) for path in sorted(tmp_path.glob("[0-9][0-9][0-9].json"))]
    assert kept == [json.loads(one.body) for one in provider.received if one.body]


def test_an_agent_that_is_not_installed_is_refused_with_the_remedy(tmp_path: Path) -> None:
    """The command that installs it, for the folder that was named."""
    with pytest.raises(
        AgentError, match=r"opencode is not installed in .*: there, run `npm i node@24 opencode-ai@1.18.33`"
    ):
        find_program(AGENTS["opencode"], tmp_path)
    with pytest.raises(AgentError, match="set FOVEATE_AGENTS, or pass --agents"):
        find_program(AGENTS["opencode"], None)


def test_an_agent_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    """A child that outlives its agent would hold its output open for ever."""
    program = tmp_path / "bin" / "pi"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho begun\nsleep 600 &\nsleep 600\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    with pytest.raises(AgentError, match=r"not done after 1 seconds and was ended; .*begun"):
        record(AGENTS["pi"], to=None, agents=tmp_path, seconds=1)


def test_two_recordings_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that holds something is refused before an agent starts."""
    (tmp_path / "001.json").write_text("{}", encoding="utf-8")

    assert main(["record", "pi", "--to", str(tmp_path), "--agents", str(tmp_path)]) == 1
    assert "is not empty" in capsys.readouterr().err


def test_the_command_of_each_agent_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """With pinned versions: what an agent sends changes with them."""
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(AGENTS)
    assert all("@" in line.split()[-1] or "==" in line.split()[-1] for line in lines)
