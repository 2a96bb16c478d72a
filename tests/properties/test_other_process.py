"""A session rebuilt in another process goes on where the live one stands."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

import foveate

from .play import Player, random_ops

REBUILD = """
import sys
import foveate
events = foveate.load_events(sys.stdin.buffer.read())
session = foveate.Session.from_events(events, budget=int(sys.argv[1]))
sys.stdout.buffer.write(session.compile(now=float(sys.argv[2])).payload)
"""


@pytest.mark.parametrize("seed", range(6))
def test_the_same_bytes_in_another_process(seed: int, tmp_path: Path) -> None:
    """Neither the hash seed nor the memo of a live session decides a single byte of a request."""
    budget = (2_000, 8_000)[seed % 2]
    session = foveate.Session(budget=budget, system="Be brief.")
    player = Player(session)
    for op in random_ops(random.Random(seed), 250):
        try:
            player.apply(op)
        except foveate.BudgetError:
            continue
    session.append({"role": "user", "content": "What did parse_order do in src/app.py?"})
    done = subprocess.run(
        [sys.executable, "-c", REBUILD, str(budget), "99999"],
        input=session.dump(),
        capture_output=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHONHASHSEED": str(seed + 1)},
    )
    assert done.stdout == session.compile(now=99_999.0).payload
