"""Stamps: where and how a measurement was made."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from bench.outcome import Stamp

ROOT: Final = Path(__file__).resolve().parents[1]
_PACKAGES: Final = ("foveate", "splintr-rs", "genai-prices")


def stamp(command: str, begun: float, packages: Sequence[str] = ()) -> Stamp:
    """The stamp of a measurement that began at `begun` of `time.perf_counter` and is done now.

    Args:
        command: such as `foveate-bench growth`.
        begun: when it began.
        packages: that bear on the numbers, besides the usual ones.

    """
    return Stamp(
        date=datetime.now(UTC).date().isoformat(),
        command=f"uv run --group bench {command}",
        commit=_commit(),
        versions={"python": platform.python_version(), **{name: version(name) for name in (*_PACKAGES, *packages)}},
        machine=_machine(),
        seconds=round(time.perf_counter() - begun, 1),
    )


def _commit() -> str:
    commit = _git("rev-parse", "--short", "HEAD")
    # Results are written into the repository, so they do not count as a change.
    changed = _git("status", "--porcelain", "--", ".", ":!docs/benchmarks")
    return f"{commit}+" if commit and changed else commit or "unknown"


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _machine() -> str:
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    return f"{platform.system()} {platform.machine()}, {cores} cores, {memory:.0f} GB"
