"""The sandbox: a folder with the repository, in which solutions are applied and checks run, each with a time limit.

It keeps an honest agent from waiting forever, not a hostile one from doing harm: what runs here runs with the rights
of the user who runs the benchmark.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.continuing.scenario import Check

CHECK_SECONDS: Final = 20
COMMAND_SECONDS: Final = 60
_PRELUDE: Final = """import json, os, re, subprocess, sys
from pathlib import Path
sys.path.insert(0, os.getcwd())
def read(path):
    return Path(path).read_text()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a command printed and how it ended; None if it was stopped for its time."""

    output: str
    code: int | None


@contextmanager
def sandbox(files: Mapping[str, str]) -> Iterator[Path]:
    """A folder with these files, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="foveate-continue-") as place:
        folder = Path(place).resolve()
        write_files(folder, files)
        yield folder


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run_checks(folder: Path, checks: Sequence[Check]) -> dict[str, str]:
    """For each check why it failed, "" if it passed."""
    return {check.name: _run_check(folder, check) for check in checks}


def run_command(folder: Path, command: Sequence[str], seconds: float = COMMAND_SECONDS) -> Ran:
    """Run a command in the folder; it and all that it started is ended when its time is up."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return Ran(output=f"{output.decode(errors='replace')}\nstopped after {seconds:g} seconds", code=None)
    return Ran(output=output.decode(errors="replace"), code=process.returncode)


def _run_check(folder: Path, check: Check) -> str:
    ran = run_command(folder, [sys.executable, "-B", "-c", _PRELUDE + check.code], CHECK_SECONDS)
    return "" if ran.code == 0 else ran.output.strip()[-400:] or f"ended with {ran.code}"


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of ours: no keys, no settings."""
    python = Path(sys.executable).parent
    return {
        "PATH": f"{python}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }
