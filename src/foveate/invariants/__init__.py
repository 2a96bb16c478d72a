"""Rules that every compiled request keeps, each an object with a check."""

from foveate.invariants.rules import INVARIANTS, Facts, Invariant, broken
from foveate.invariants.turns import KeepTurns, KeptTurns

__all__ = ["INVARIANTS", "Facts", "Invariant", "KeepTurns", "KeptTurns", "broken"]
