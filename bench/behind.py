"""What remains behind: measures by which others do better than Foveate as it comes, each with the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.blocks import listed, literal, milliseconds, number
from bench.engine_reading import readings
from bench.further_verdicts import SAME, growing
from bench.outcome import EngineOutcome, GrowthOutcome, RecallOutcome, RecallTable
from bench.reasons import REASONS
from bench.standings import MOST_WRONG, Contest, Standing, share
from bench.verdicts import rivals_of

Value = Callable[[Standing], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """A measure by which an arm of others, valid and within the budget, does better than Foveate as it comes.

    `why` says what makes the difference.
    """

    where: str
    measure: str
    numbers: str
    why: str = ""


def behind(held: Sequence[Contest]) -> list[Behind]:
    """Where Foveate as it comes is not best, run by run."""
    return [
        Behind(where=contest.where, measure=measure, numbers=numbers, why=REASONS[measure])
        for contest in held
        if (ours := contest.default) is not None
        for measure, value, sign in MEASURES
        if (numbers := _ahead(ours, rivals_of(ours, contest), value, sign))
    ]


def behind_elsewhere(
    growth: GrowthOutcome | None, engine: EngineOutcome | None, recall: RecallOutcome | None
) -> list[Behind]:
    """The same for growth, the real engine and recall."""
    found = [_slower(growth), _resumed(growth)] if growth is not None else []
    found += [_reread(engine)] if engine is not None else []
    found += [_found_less(table) for table in (recall.tables if recall is not None else ())]
    return [one for one in found if one is not None]


def _users(one: Standing) -> float | None:
    return share(one.total.users, one.total.judged)


# What arms are compared by: a name, the value, and 1 if more is better.
MEASURES: Final[tuple[tuple[str, Value, int], ...]] = (
    ("cost at Anthropic", lambda one: one.cost(0), -1),
    ("cost at OpenAI", lambda one: one.cost(1), -1),
    ("cost at Gemini", lambda one: one.cost(2), -1),
    ("references kept", lambda one: one.kept, 1),
    ("references last seen far back", lambda one: share(one.total.far_kept, one.total.far), 1),
    ("references seen in tool output only", lambda one: share(one.total.observed_kept, one.total.observed), 1),
    ("references to files that were changed", lambda one: share(one.total.modified_kept, one.total.modified), 1),
    ("last three exchanges unchanged", lambda one: share(one.total.recent, one.total.judged), 1),
    ("user messages", _users, 1),
    ("first request", lambda one: share(one.total.first, one.total.judged), 1),
    ("open errors", lambda one: share(one.total.errors_kept, one.total.errors), 1),
    ("time for a request, ms at p50", lambda one: one.p50, -1),
)


def _ahead(ours: Standing, rivals: Sequence[Standing], value: Value, sign: int) -> str:
    own = value(ours)
    if own is None:
        return ""
    others = [(one, found) for one in rivals if (found := value(one)) is not None]
    ahead = sorted((pair for pair in others if sign * pair[1] > sign * own + SAME), key=lambda pair: -sign * pair[1])
    if not ahead:
        return ""
    named = listed(f"{literal(one.name)} {number(found, 3)}" for one, found in ahead)
    return f"{literal(ours.name)} {number(own, 3)}, better {named}"


def _slower(growth: GrowthOutcome) -> Behind | None:
    ours = next((one for one in growth.curves if one.family == "foveate" and one.points), None)
    if ours is None:
        return None
    at = {point.messages: point.p50_ms for point in ours.points}
    length = max(at)
    faster = sorted(
        (point.p50_ms, curve.arm)
        for curve in growth.curves
        for point in curve.points
        if curve.family != "foveate" and point.messages == length and point.p50_ms < at[length]
    )
    if not faster:
        return None
    named = listed(f"{literal(arm)} {milliseconds(value)}" for value, arm in faster)
    return Behind(
        where=f"growth, {length:,} messages",
        measure="time for a request, ms at p50",
        numbers=f"{literal(ours.arm)} {milliseconds(at[length])}, better {named}",
        why=REASONS["time for a request, ms at p50"],
    )


def _resumed(growth: GrowthOutcome) -> Behind | None:
    """No other arm is named: the history itself makes this request slower, which is behind what Foveate claims."""
    grown = growing(growth)
    if grown is None or grown.holds:
        return None
    return Behind(
        where="growth",
        measure="first request of the user after resuming",
        numbers=grown.numbers,
        why=REASONS["resuming"],
    )


def _reread(engine: EngineOutcome) -> Behind | None:
    """At the calls that all arms have read; one that refuses more than one call in a hundred is not ahead by that."""
    found = {one.arm: one for one in readings(engine) if one.is_compared}
    ours = found.pop("foveate", None)
    own = ours.milliseconds if ours is not None else None
    if own is None:
        return None
    means = [(one.milliseconds, arm) for arm, one in found.items() if one.refused <= MOST_WRONG]
    faster = sorted((mean, arm) for mean, arm in means if mean is not None and mean < own)
    if not faster:
        return None
    named = listed(f"{literal(arm)} {milliseconds(mean)}" for mean, arm in faster)
    return Behind(
        where="real engine",
        measure="time to read a prompt, ms",
        numbers=f"foveate {milliseconds(own)}, better {named}",
        why=REASONS["reading"],
    )


def _found_less(table: RecallTable) -> Behind | None:
    ours = {row.budget: row.all for row in table.rows if row.method == "foveate"}
    others = [row for row in table.rows if row.budget in ours and not row.method.startswith("foveate")]
    best = {row.budget: row for row in sorted(others, key=lambda row: row.all)}
    ahead = [row for row in best.values() if row.all > ours[row.budget] + SAME]
    if not ahead:
        return None
    named = ", ".join(
        f"{literal(row.method)} {number(row.all, 3)} against {number(ours[row.budget], 3)} at {row.budget:,}"
        for row in sorted(ahead, key=lambda row: row.budget)
    )
    return Behind(
        where=f"recall, {literal(table.name)}", measure="all evidence found", numbers=named, why=REASONS["recall"]
    )
