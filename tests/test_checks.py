"""The static checks are part of the tests: types, style and the direction of imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

CHECKS = {
    "ruff": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy"],
    "basedpyright": ["basedpyright", "--level", "error"],
    "layers": ["lint-imports"],
}


@pytest.mark.parametrize("name", CHECKS)
def test_static_check(name: str) -> None:
    """Style, types and layers hold for the whole tree."""
    program, *arguments = CHECKS[name]
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
