"""A first look at a run in the terminal; the page has the rest."""

from __future__ import annotations

from collections.abc import Callable

from rich.table import Table

from bench.outcome import Run, Tally

_COLUMNS: tuple[tuple[str, Callable[[Tally], str]], ...] = (
    ("calls", lambda t: str(t.calls)),
    ("invalid", lambda t: str(t.invalid)),
    ("over", lambda t: str(t.over)),
    ("refused", lambda t: str(t.refused)),
    ("failed", lambda t: str(t.failed)),
    ("tokens", lambda t: _share(t.tokens, t.raw_tokens)),
    ("prefix", lambda t: _share(t.prefix, t.tokens)),
    ("cost", lambda t: _share(t.cost[0], t.raw_cost[0], 3)),
    ("openai", lambda t: _share(t.cost[1], t.raw_cost[1])),
    ("gemini", lambda t: _share(t.cost[2], t.raw_cost[2])),
    ("kept", lambda t: _share(t.kept, t.references, 3)),
    ("restorable", lambda t: _share(t.restorable, t.references, 3)),
    ("within", lambda t: _share(t.kept, t.judged_references, 3)),
    ("far", lambda t: _share(t.far_kept, t.far)),
    ("observed", lambda t: _share(t.observed_kept, t.observed)),
    ("modified", lambda t: _share(t.modified_kept, t.modified)),
    ("last 3", lambda t: _share(t.recent, t.judged)),
    ("users", lambda t: _share(t.users, t.judged)),
    ("first", lambda t: _share(t.first, t.judged)),
    ("errors", lambda t: _share(t.errors_kept, t.errors)),
)


def overview(run: Run) -> Table:
    """Every arm of a run, one a line; costs are relative to the untouched history."""
    table = Table(title=f"budget {run.budget:,}, {len(run.sessions)} {run.material} sessions", title_justify="left")
    table.add_column("arm", no_wrap=True)
    for name, _ in _COLUMNS:
        table.add_column(name, justify="right")
    table.add_column("ms", justify="right")
    for arm, parts in run.tallies.items():
        tally = Tally.of(parts)
        table.add_row(arm, *(show(tally) for _, show in _COLUMNS), f"{run.times[arm].p50:.2f}")
    return table


def _share(part: float, whole: float, digits: int = 2) -> str:
    return f"{part / whole:.{digits}f}" if whole else "-"
