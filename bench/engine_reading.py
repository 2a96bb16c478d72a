"""What arms on the real engine are compared by: the calls that all of them have read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.outcome import EngineOutcome, EngineRow
from bench.standings import share

# Who made fewer of its requests than this would leave too few calls to compare the others by.
_LEAST_READ: Final = 0.9

Call = tuple[int, int, float, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmReading:
    """One arm over all sessions.

    Args:
        calls: with a request that was read; for an arm that `is_compared` only those that all such arms have read.
        tokens: of their prompts; `reused` of them, `simulated` those that the simulation has reused.
        prompt_ms: time to read them.
        refused: share of the calls at which it had no request that the window holds.
        is_complete: whether it was not stopped for time.
        is_compared: whether it read most of its calls, in every session.

    """

    arm: str
    calls: int
    tokens: int
    reused: int
    simulated: int
    prompt_ms: float
    refused: float
    is_complete: bool
    is_compared: bool

    @property
    def marked(self) -> str:
        """Its name, with a mark if it was stopped for time or cannot be compared."""
        return f"{self.arm}{'' if self.is_complete else ' ‡'}{'' if self.is_compared else ' §'}"

    @property
    def milliseconds(self) -> float | None:
        """The mean time to read a prompt."""
        return share(self.prompt_ms, self.calls)


def readings(engine: EngineOutcome) -> list[ArmReading]:
    """All arms, in their order."""
    arms = list(dict.fromkeys(row.arm for row in engine.rows))
    rows = {arm: [row for row in engine.rows if row.arm == arm] for arm in arms}
    compared = [arm for arm in arms if _is_compared(rows[arm], len(engine.sessions))]
    common = _common(engine, compared)
    return [_reading(arm, engine, rows[arm], common if arm in compared else None) for arm in arms]


def _is_compared(rows: Sequence[EngineRow], sessions: int) -> bool:
    made, refused = sum(row.calls for row in rows), sum(row.refused for row in rows)
    return len(rows) == sessions and all(row.calls for row in rows) and made >= _LEAST_READ * (made + refused)


def _common(engine: EngineOutcome, arms: Sequence[str]) -> dict[str, set[int]]:
    """For each session the numbers of the calls that all these arms have read."""
    found: dict[str, set[int]] = {}
    for arm in arms:
        for session, calls in engine.series.get(arm, {}).items():
            read = {number for number, call in enumerate(calls) if call[0]}
            found[session] = found[session] & read if session in found else read
    return found


def _reading(
    arm: str, engine: EngineOutcome, rows: Sequence[EngineRow], common: dict[str, set[int]] | None
) -> ArmReading:
    calls: list[Call] = [
        call
        for session, listed in engine.series.get(arm, {}).items()
        for number, call in enumerate(listed)
        if call[0] and (common is None or number in common.get(session, ()))
    ]
    if not engine.series:
        # Results without calls one by one have the sums alone.
        calls = [(row.prompt_tokens, row.reused, row.prompt_ms, row.simulated) for row in rows]
    made, refused = sum(row.calls for row in rows), sum(row.refused for row in rows)
    return ArmReading(
        arm=arm,
        calls=len(calls) if engine.series else made,
        tokens=sum(call[0] for call in calls),
        reused=sum(call[1] for call in calls),
        simulated=sum(call[3] for call in calls),
        prompt_ms=sum(call[2] for call in calls),
        refused=share(refused, made + refused) or 0.0,
        is_complete=not any(row.stopped for row in rows),
        is_compared=common is not None,
    )
