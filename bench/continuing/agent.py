"""A real agent: mini-swe-agent goes on from an arm's request in its own loop, in an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bench.continuing.requests import Begun
from bench.continuing.work import MOST_STEPS, Worked, paths_in
from bench.reading.rendering import request_text
from foveate.errors import ConfigError

NAME: Final = "mini-swe-agent"
# In a folder of its own: Python looks beside a script first, and modules of ours must not be taken for packages.
ADAPTER: Final = Path(__file__).parent / "agents" / "with_mini_swe_agent.py"
# Making the environment the first time, and all steps.
_SECONDS: Final = 1_800


def work_with_agent(
    begun: Begun, model: str, folder: Path, known: Iterable[str], most_steps: int = MOST_STEPS
) -> Worked:
    """Let the agent do the follow-up; it has the keys of the environment, as agents do."""
    uv = shutil.which("uv")
    if uv is None:
        raise ConfigError(f"`uv` is not installed; {NAME} needs it for its environment: `pip install uv`")
    asked = {"model": model, "task": request_text(begun.chats), "folder": str(folder), "steps": most_steps}
    process = subprocess.Popen(
        [uv, "run", "--quiet", "--script", str(ADAPTER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
        text=True,
    )
    try:
        output, errors = process.communicate(json.dumps(asked), timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Worked(ended=f"stopped after {_SECONDS} seconds")
    if process.returncode:
        raise ConfigError(f"{NAME} with the model {model!r} failed: {errors.strip()[-600:]}")
    done = json.loads(output.strip().splitlines()[-1])
    known = frozenset(known)
    read = {path for command in done["commands"] for path in paths_in(command, known)}
    return Worked(steps=done["steps"], read_again=read, ended=done["ended"])
