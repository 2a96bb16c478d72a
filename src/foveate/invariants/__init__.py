"""Rules that every compiled request keeps, each an object with safe cut points and a check."""

from foveate.invariants.rules import INVARIANTS, Facts, Invariant, broken, safe_cuts

__all__ = ["INVARIANTS", "Facts", "Invariant", "broken", "safe_cuts"]
