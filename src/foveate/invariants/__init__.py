"""Rules that every compiled request keeps, each an object with safe cut points and a check."""

from foveate.invariants.rules import INVARIANTS, Facts, Invariant, broken, safe_cuts
from foveate.invariants.turns import KeepTurns, KeptTurns

__all__ = ["INVARIANTS", "Facts", "Invariant", "KeepTurns", "KeptTurns", "broken", "safe_cuts"]
