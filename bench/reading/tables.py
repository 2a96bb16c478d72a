"""Tables of the reading test, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from bench.reading.edits import EditRow
from bench.reading.reporting import MEASURES, Mean, ReadingReport


def reading_table(report: ReadingReport) -> Table:
    """What each arm was given."""
    title = f"{report.situations} situations of {report.sessions} sessions ({report.split}) at {report.budget:,} tokens"
    table = Table("arm", "answers", "tokens sent", *_titles(), title=title)
    for arm in report.arms:
        low, mean, high = arm.tokens
        table.add_row(
            arm.name, str(arm.answers), f"{low:,}–{high:,}, mean {mean:,}", *(_cell(arm.means[key]) for key in MEASURES)
        )
    return table


def difference_table(report: ReadingReport) -> Table:
    """Each pair of arms."""
    table = Table("difference", "situations", *_titles(), title="Differences, where both arms were graded")
    for one in report.differences:
        cells = (_cell(one.means[key], sign="+") for key in MEASURES)
        table.add_row(f"{one.arm} − {one.other}", str(one.situations), *cells)
    return table


def agreement_table(report: ReadingReport) -> Table:
    """How far graders agree."""
    table = Table("graders", "measure", "answers", "mean difference", "correlation", "within 1", title="Agreement")
    for one in report.agreement:
        for key in MEASURES:
            correlation = one.correlation[key]
            table.add_row(
                f"{one.grader}, {one.other}",
                key,
                str(one.answers),
                f"{one.difference[key]:.2f}",
                "–" if correlation is None else f"{correlation:.2f}",
                f"{one.within_one[key]:.0%}",
            )
    return table


def edits_table(rows: Sequence[EditRow], budget: int, depth: float, split: str) -> Table:
    """The share of old lines in view."""
    sessions = max((row.sessions for row in rows), default=0)
    edits = max((row.edits for row in rows), default=0)
    title = (
        f"Old lines of the next edit in view: {edits} edits of {sessions} sessions ({split}) "
        f"after {depth:g} × {budget:,} tokens"
    )
    table = Table("arm", "share, mean of edits", "edits in view whole", "lines in view", "tokens sent", "no request")
    table.title = title
    for row in rows:
        table.add_row(
            row.arm,
            f"{row.share:.3f} [{row.low:.3f}, {row.high:.3f}]",
            str(row.whole),
            f"{row.shown:,} of {row.lines:,}",
            f"{row.tokens:,}",
            str(row.refused),
        )
    return table


def _titles() -> list[str]:
    return [{"false": "false statements"}.get(key, key) for key in MEASURES]


def _cell(mean: Mean, sign: str = "") -> str:
    return f"{mean.value:{sign}.2f} [{mean.low:{sign}.2f}, {mean.high:{sign}.2f}]"
