"""Elsewhere: requests compiled by another checkout of Foveate, so that an earlier version can be read beside this."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.lanes import MODELS
from bench.material import Material
from bench.reading.requests import ElsewhereRequest, steps_of
from bench.reading.situations import Situation
from foveate.errors import ConfigError

WORKER: Final = Path(__file__).parent / "with_checkout.py"
# To make the checkout's environment, and for the longest session.
_SECONDS: Final = 900


def compile_elsewhere(
    checkout: Path, material: Material, situations: Sequence[Situation], *, budget: int, policy: str
) -> list[ElsewhereRequest]:
    """The requests of a checkout's Foveate at the situations of one session."""
    wanted = {one.call: one for one in situations}
    steps = [step for number, step in enumerate(steps_of(material.script)) if number <= max(wanted)]
    asked = {
        "system": material.script.system,
        "tools": material.script.tools,
        "model": MODELS[0],
        "budget": budget,
        "policy": policy,
        "wanted": sorted(wanted),
        "calls": [
            {"messages": [msgspec.structs.replace(message, id="") for message in step.messages], "at": step.at}
            for step in steps
        ],
    }
    return [
        ElsewhereRequest(
            situation=wanted[made["call"]].id,
            history_sha256=wanted[made["call"]].history_sha256,
            budget=budget,
            policy=policy,
            chats=made.get("chats", []),
            problem=made.get("problem", ""),
        )
        for made in _run(checkout, msgspec.json.encode(asked), material.name)
    ]


def _run(checkout: Path, asked: bytes, name: str) -> list[dict[str, Any]]:
    if not (checkout / "pyproject.toml").exists():
        raise ConfigError(f"{checkout} is not a checkout of Foveate; `git worktree add FOLDER COMMIT` makes one")
    uv = shutil.which("uv")
    if uv is None:
        raise ConfigError("`uv` is not installed; the checkout's environment needs it: `pip install uv`")
    # Ours must not be taken for the checkout's.
    environment = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    command = [uv, "run", "--quiet", "--project", str(checkout), "python", "-P", str(WORKER)]
    done = subprocess.run(
        command, input=asked, capture_output=True, timeout=_SECONDS, check=False, cwd=checkout, env=environment
    )
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip()[-600:]
        raise ConfigError(f"{checkout} could not compile {name}: {last}")
    return [msgspec.json.decode(line) for line in done.stdout.splitlines()]
