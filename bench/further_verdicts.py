"""Verdicts beyond the replay: whether time is flat, and whether evidence is found in conversations."""

from __future__ import annotations

from typing import Final

from bench.blocks import literal, milliseconds, number
from bench.outcome import GrowthCurve, GrowthOutcome, GrowthPoint, RecallOutcome, RecallTable
from bench.standings import share
from bench.verdicts import Verdict

# A step at the longest history may take this much longer than one at a thousand messages and still be called flat.
FLAT: Final = 1.5
# Differences that vanish at three digits are none.
SAME: Final = 5e-4
_SHORT: Final = 1_000
_RIVALS: Final = ("recency", "bm25")
_OURS: Final = {"foveate-chat": "Foveate's policy `chat`", "foveate": "Foveate as it comes"}


def flatness(growth: GrowthOutcome) -> Verdict | None:
    """Whether the usual time for a request depends on the length of the history; None if there are too few lengths."""
    found = _ends(growth)
    if found is None:
        return None
    curve, short, long = found
    ratio = share(long.p50_ms, short.p50_ms)
    if ratio is None:
        return None
    return Verdict(
        claim=f"Foveate's time for a request is flat at p50, at most {FLAT} × from {short.messages:,} to "
        f"{long.messages:,} messages",
        where=f"{growth.budget:,} tokens, generated",
        holds=ratio <= FLAT and not curve.stopped,
        numbers=f"{milliseconds(short.p50_ms)} ms and {milliseconds(long.p50_ms)} ms, {number(ratio)} ×",
    )


def growing(growth: GrowthOutcome) -> Verdict | None:
    """The same for the slowest of the steps after a history was taken up, and for the live loop beside it."""
    found = _ends(growth)
    if found is None:
        return None
    curve, short, long = found
    ratio = share(long.p95_ms, short.p95_ms)
    if ratio is None:
        return None
    said = [f"p95 {milliseconds(short.p95_ms)} ms and {milliseconds(long.p95_ms)} ms, {number(ratio)} ×"]
    live = sorted(growth.live, key=lambda point: point.messages)
    if live:
        said.append(
            f"in the live loop p95 is {milliseconds(live[0].p95_ms)} ms at {live[0].messages:,} messages and "
            f"{milliseconds(live[-1].p95_ms)} ms at {live[-1].messages:,}"
        )
    return Verdict(
        claim="The same is true of the first request of the user after a session was resumed, the slowest of the "
        f"{growth.steps} steps",
        where=f"{growth.budget:,} tokens, generated",
        holds=ratio <= FLAT and not curve.stopped,
        numbers="; ".join(said),
    )


def finding(recall: RecallOutcome) -> list[Verdict]:
    """Whether Foveate finds evidence as often as the better of two simple methods, for each material."""
    return [verdict for method in _OURS for table in recall.tables if (verdict := _found(table, method)) is not None]


def further(growth: GrowthOutcome | None, recall: RecallOutcome | None) -> list[Verdict]:
    """All of them, as far as they were measured."""
    times = [flatness(growth), growing(growth)] if growth is not None else []
    return [*(one for one in times if one is not None), *(finding(recall) if recall is not None else ())]


def _ends(growth: GrowthOutcome) -> tuple[GrowthCurve, GrowthPoint, GrowthPoint] | None:
    curve = next((one for one in growth.curves if one.family == "foveate" and len(one.points) > 1), None)
    if curve is None:
        return None
    short = min(curve.points, key=lambda point: (abs(point.messages - _SHORT), point.messages))
    long = max(curve.points, key=lambda point: point.messages)
    return (curve, short, long) if long.messages > short.messages else None


def _found(table: RecallTable, method: str) -> Verdict | None:
    ours = {row.budget: row.all for row in table.rows if row.method == method}
    best = {
        budget: max((row.all for row in table.rows if row.budget == budget and row.method in _RIVALS), default=None)
        for budget in sorted(ours)
    }
    pairs = {budget: (ours[budget], other) for budget, other in best.items() if other is not None}
    if not pairs:
        return None
    less = {budget: pair for budget, pair in pairs.items() if pair[0] < pair[1] - SAME}
    numbers = f"at {len(pairs) - len(less)} of {len(pairs)} budgets"
    if less:
        told = (f"{number(own, 3)} against {number(other, 3)} at {budget:,}" for budget, (own, other) in less.items())
        numbers += f"; not: {', '.join(told)}"
    return Verdict(
        claim=f"{_OURS[method]} finds all evidence as often as the better of recency and BM25",
        where=f"recall, {literal(table.name)}",
        holds=not less,
        numbers=numbers,
    )
