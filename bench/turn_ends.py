"""Rewrites between turns as arms: policies that reduce as a turn begins if there is no room for another one.

Beside the same policies as they are, which reduce wherever the budget is used up, mid-turn too:

    foveate-bench read make --arm default --arm bench.turn_ends:DEFAULT --arm lines --arm bench.turn_ends:LINES …
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from foveate.compile.moments import BetweenTurns
from foveate.compile.policy import POLICIES

DEFAULT: Final = replace(POLICIES["default"], name="default-between-turns", when=BetweenTurns())
LINES: Final = replace(POLICIES["lines"], name="lines-between-turns", when=BetweenTurns())
