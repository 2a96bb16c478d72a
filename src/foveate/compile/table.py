"""The explanation as a table for people."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from foveate.log.text import printable

if TYPE_CHECKING:
    from foveate.compile.explain import Explanation, FateRecord

_STYLES: Final = {
    "verbatim": "green",
    "rewritten": "cyan",
    "repaired": "cyan",
    "superseded": "magenta",
    "masked": "yellow",
    "trimmed": "yellow",
    "folded": "blue",
    "summarised": "blue",
    "dropped": "red",
    "recalled": "cyan",
}
_MANY: Final = 60


def renderables(explanation: Explanation, *, full: bool = False) -> Iterator[RenderableType]:
    """The pieces of an explanation as Rich renders them."""
    yield _summary(explanation)
    if explanation.sections:
        yield _sections(explanation)
    if explanation.fates or not explanation.sections:
        yield _fates(explanation, full=full)
    for access in explanation.accesses:
        what = f"{access.reference} {access.part}".strip()
        got = f"{access.tokens:,} tokens" if access.found else "nothing found"
        yield Text(printable(f"{access.agent} asked for {what}: {got}, from call {access.call} on"), style="cyan")
    if explanation.stages:
        yield _stages(explanation)
    if explanation.recorded_in in ("held", "memory"):
        where = "in a file" if explanation.recorded_in == "held" else "in memory only"
        yield Text(f"! the record of this call is held {where} until the store can be written", style="yellow")
    for line in explanation.diagnostics[-10:]:
        yield Text(f"! {line}", style="yellow")


def as_text(explanation: Explanation, *, width: int = 120) -> str:
    """An explanation as plain text."""
    output = io.StringIO()
    console = Console(file=output, width=width, color_system=None)
    console.print(*renderables(explanation), sep="\n")
    return output.getvalue()


def _summary(explanation: Explanation) -> Text:
    budget = f" of {explanation.budget:,}" if explanation.budget is not None else ", no budget"
    counts = ", ".join(f"{count} {fate}" for fate, count in explanation.counts().items())
    names = ", ".join(name for name in (explanation.agent, explanation.context_strategy) if name)
    agent = f"{printable(names)} · " if names else ""
    lines = [
        (
            f"call {explanation.call} · {agent}{explanation.strategy} · {explanation.used:,} tokens{budget} "
            f"({explanation.framing:,} framing) · {explanation.predicted_cached:,} predicted cached"
        ),
        f"{len(explanation.fates):,} messages: {counts}" if explanation.fates else "no messages",
    ]
    if explanation.declined:
        lines.append(f"not reduced ({explanation.trigger}): {explanation.declined}")
    elif explanation.trigger:
        lines.append(f"reduced ({explanation.trigger}): {explanation.reason}")
    if explanation.budget is not None and explanation.fullness:
        lines.append(explanation.fullness)
    if explanation.corrected is not None and explanation.corrected > explanation.used:
        lines.append(f"the provider will probably count {explanation.corrected:,} tokens")
    if explanation.cache_marks:
        lines.append(f"cache marks behind {', '.join(map(printable, explanation.cache_marks))}")
    if explanation.unrecorded:
        lines.append(f"not recorded by 0.1: {', '.join(explanation.unrecorded)}")
    return Text("\n".join(lines))


def _sections(explanation: Explanation) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("section", "tier", "tokens", "source"):
        table.add_column(name, justify="right" if name == "tokens" else "left")
    for section in explanation.sections:
        table.add_row(
            Text(printable(section.name)), section.tier, f"{section.tokens:,}", Text(printable(section.source or ""))
        )
    return table


def _fates(explanation: Explanation, *, full: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name, width in (("id", 6), ("role", 9), ("fate", 10)):
        table.add_column(name, no_wrap=True, min_width=width)
    table.add_column("tokens", justify="right", no_wrap=True, min_width=10)
    # What is left of the width goes to the words: on a narrow screen they are cut, never the columns before them.
    table.add_column("why", overflow="ellipsis", no_wrap=True, ratio=2)
    table.add_column("message", overflow="ellipsis", no_wrap=True, ratio=3)
    for row in _rows(explanation, full=full):
        if isinstance(row, str):
            table.add_row("…", "", Text(row, style="dim"), "", "", "")
            continue
        same = row.tokens_after == row.tokens_before
        size = str(row.tokens_before) if same else f"{row.tokens_before}→{row.tokens_after}"
        why = f"{row.by}: {row.why}" if row.why else row.by
        table.add_row(
            printable(row.id),
            row.role,
            Text(row.fate, style=_STYLES[row.fate]),
            size,
            why,
            Text(printable(row.preview)),
        )
    return table


def _rows(explanation: Explanation, *, full: bool) -> Iterator[FateRecord | str]:
    """All rows, or the first and last ones around a count of what lies between."""
    fates = explanation.fates
    if full or len(fates) <= _MANY:
        yield from fates
        return
    yield from fates[:10]
    hidden = fates[10 : len(fates) - _MANY + 10]
    yield f"{len(hidden)} more"
    yield from fates[len(fates) - _MANY + 10 :]


def _stages(explanation: Explanation) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("pass", "tokens", "rewritten", "removed", "added"):
        table.add_column(name, justify="left" if name == "pass" else "right")
    for stage in explanation.stages:
        table.add_row(
            stage["name"],
            f"{stage['tokens_before']:,}→{stage['tokens_after']:,}",
            str(len(stage["rewritten"])),
            str(len(stage["removed"])),
            str(len(stage["added"])),
        )
    return table
