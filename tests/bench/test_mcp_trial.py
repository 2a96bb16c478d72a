"""Real agents get the recorded bytes from `foveate mcp`, without searching for the tool."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bench.agents import AGENTS, AgentError, find_program
from bench.mcp_trial import CLIENTS, run_trial

INSTALLED = os.environ.get("FOVEATE_AGENTS")


@pytest.mark.skipif(INSTALLED is None, reason="slow, and needs agents: FOVEATE_AGENTS names the folder they are in")
@pytest.mark.parametrize("name", CLIENTS)
def test_a_real_agent_recalls_what_the_store_has(name: str) -> None:
    """It is installed by our command, started by the agent, and called by the name that the agent gives it."""
    assert INSTALLED is not None
    try:
        find_program(AGENTS[name], Path(INSTALLED))
    except AgentError as missing:
        pytest.skip(str(missing))
    trial = run_trial(name, Path(INSTALLED))
    assert trial.exits == (0,), trial.output
    assert trial.is_exact, (trial.offered, trial.answer, trial.output)
