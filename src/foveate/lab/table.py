"""Tables: what a replay measured, in rows of text."""

from __future__ import annotations

from typing import Final, NamedTuple

from foveate.inspect.costs import SessionCosts
from foveate.inspect.rates import RequestCost
from foveate.lab.result import Result, SessionResult, Totals

_RAW: Final = "raw"


class Table(NamedTuple):
    """Names of columns, and rows of as many cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def table(result: Result) -> Table:
    """One row for each policy."""
    columns = (
        "policy",
        "input tokens",
        "cached",
        "cost $" if result.cost_unit == "USD" else "cost (tokens)",
        "vs raw",
        "over",
        "invalid",
        "refused",
        "failed",
        "refs kept",
        "restorable",
        "lost",
        "user msgs",
        "ms/call",
    )
    return Table(columns, tuple(_row(name, totals, result) for name, totals in result.totals.items()))


def recorded_table(result: Result) -> Table:
    """One row for each session whose usage was recorded, beside what was simulated for it."""
    columns = (
        *("session", "calls", "recorded input", "cost $", "untouched $"),
        *("overhead", "ratio", "cached", "simulated", "error", "cause"),
    )
    return Table(columns, tuple(_session_row(one) for one in result.sessions if one.usage is not None))


def _row(name: str, totals: Totals, result: Result) -> tuple[str, ...]:
    raw = result.totals.get(_RAW)
    return (
        name,
        f"{totals.tokens:,}",
        _share(totals.cached, totals.tokens),
        f"{totals.cost:,.2f}" if result.cost_unit == "USD" else f"{totals.cost:,.0f}",
        # Calls that were not made cost nothing, which is no saving.
        f"{totals.cost / raw.cost:.2f}" if raw is not None and raw.cost and totals.sent == totals.calls else "-",
        *(f"{count:,}" for count in (totals.over, totals.invalid, totals.refused, totals.failed)),
        _share(totals.kept, totals.references),
        _share(totals.restorable, totals.references),
        _share(totals.lost, totals.references),
        _share(totals.user_kept, totals.judged),
        f"{totals.milliseconds:.1f}" if totals.milliseconds is not None else "-",
    )


def _session_row(session: SessionResult) -> tuple[str, ...]:
    learned = session.calibration
    return (
        session.name,
        f"{session.calls:,}",
        f"{session.usage.input_tokens:,}" if session.usage is not None else "-",
        _dollars(session.costs, session.costs.sent),
        _dollars(session.costs, session.costs.untouched),
        f"{learned.overhead:,}",
        f"{learned.ratio:.2f}",
        _number(learned.recorded_share),
        _number(learned.simulated_share),
        _number(learned.error),
        learned.cause,
    )


def _dollars(costs: SessionCosts, cost: RequestCost) -> str:
    return f"{cost.cost:,.2f}" if costs.unit == "USD" else "-"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.3f}" if whole else "-"


def _number(value: float | None) -> str:
    return f"{value:.3f}" if value is not None else "-"
