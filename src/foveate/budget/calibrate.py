"""Correction of our token counts by the usage that providers report."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foveate.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How many tokens the provider sees for each thousand that we count."""

    # Per mille and an integer: a recorded session must replay to the same bytes everywhere.
    ratio: int = 1_000

    def __post_init__(self) -> None:
        if not _LOWEST <= self.ratio <= _HIGHEST:
            raise ConfigError(
                f"`ratio` must be from {_LOWEST} to {_HIGHEST} per mille, got {self.ratio!r};"
                " 1000 leaves counts as they are"
            )

    def observe(self, estimated: int, reported: int) -> Calibration:
        """Learn from one call: up at once, because too low overflows; down by an eighth."""
        if estimated < _SMALLEST_SAMPLE or reported <= 0:
            return self
        seen = min(_HIGHEST, max(_LOWEST, -(-reported * 1_000 // estimated)))
        if seen >= self.ratio:
            return replace(self, ratio=seen)
        return replace(self, ratio=self.ratio - -(-(self.ratio - seen) // _FALL))

    def correct(self, tokens: int) -> int:
        """What the provider will probably count, rounded up."""
        return -(-tokens * self.ratio // 1_000)


_LOWEST = 500
_HIGHEST = 3_000
_FALL = 8
# In a tiny request the provider's fixed framing outweighs the text.
_SMALLEST_SAMPLE = 100
