"""Rewrites between turns as arms: policies that reduce as a turn begins if there is no room for another one.

Beside the same policies as they are, which reduce wherever the budget is used up, mid-turn too:

    foveate-bench read make --arm note --arm bench.turn_ends:NOTE --arm default --arm bench.turn_ends:DEFAULT …
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from foveate.compile.moments import BetweenTurns
from foveate.compile.policy import POLICIES

NOTE: Final = replace(POLICIES["note"], name="note-between-turns", when=BetweenTurns())
DEFAULT: Final = replace(POLICIES["default"], name="default-between-turns", when=BetweenTurns())
