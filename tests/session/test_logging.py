"""One debug line for each compile, for who wants to hear it."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import foveate
import loguru, sys
loguru.logger.remove()
loguru.logger.add(sys.stdout, format="{message}", level="DEBUG")
ENABLE
session = foveate.Session(budget=900)
session.append({"role": "user", "content": "hello"})
session.compile()
"""


def _output(enable: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("ENABLE", enable)], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_silent_by_default() -> None:
    """A library says nothing until it is asked to."""
    assert _output("") == ""


def test_enabled_it_says_one_line_with_the_numbers() -> None:
    """Call, tokens, sections and stages, whenever it was enabled."""
    line = _output('loguru.logger.enable("foveate")')
    assert line.startswith("compiled call 1 of session: ")
    assert line.count("\n") == 1
    assert "stages []" in line
    assert "agent none, strategy pipeline:default, system_prompt_length 0, " in line
