"""The other measurements on the page: growth, a real engine, recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.added import added_later
from bench.blocks import NOTHING, Block, Figure, Heading, Items, Paragraph, Row, Table, literal, milliseconds, number
from bench.engine_reading import ArmReading, readings
from bench.figures import GROWING, growth_name, recall_name
from bench.outcome import (
    EngineOutcome,
    EngineRow,
    Family,
    GrowthCurve,
    GrowthOutcome,
    GrowthPoint,
    RecallOutcome,
    RecallRow,
    RecallTable,
    Stamp,
)
from bench.standings import share


def grown(growth: GrowthOutcome) -> list[Block]:
    """Time and memory by the length of the history."""
    lengths = sorted({point.messages for curve in growth.curves for point in curve.points})
    command = growth.stamp.command
    blocks: list[Block] = [
        Heading("Growth"),
        Paragraph(
            f"One generated conversation at a budget of {growth.budget:,} tokens, cut at each length. *Cold*: the "
            f"first request made of that many messages at once. *p50*: the median of the {growth.steps} steps after "
            f"it, one exchange each. {_measured(growth.stamp)} {added_later(growth.stamp, growth.later)}".strip()
        ),
    ]
    for what, measure in GROWING.items():
        title = f"{measure[0].upper()}{measure[1:]}"
        blocks += [
            Figure(
                name=growth_name(what),
                alt=f"{title}, against the number of messages, both logarithmic, {len(growth.curves)} arms.",
                caption=f"{title}, by messages so far. Both axes are logarithmic: a level line is the same at every "
                "length.",
                command=command,
            ),
            _growth_table(growth, lengths, what, title),
        ]
    if growth.live:
        blocks.append(_live_table(growth.live, command))
    stopped = [f"{literal(curve.arm)}: {literal(curve.stopped)}" for curve in growth.curves if curve.stopped]
    return [*blocks, Items(tuple(stopped), title="Arms that were stopped")] if stopped else blocks


def on_engine(engine: EngineOutcome, families: Mapping[str, Family]) -> list[Block]:
    """What a real engine reuses, beside the simulation."""
    command = engine.stamp.command
    found = readings(engine)
    stopped = [
        *(f"{literal(row.arm)}, {literal(row.session)}: {literal(row.stopped)}" for row in engine.rows if row.stopped),
        *map(literal, engine.left_out),
    ]
    blocks: list[Block] = [
        Heading("A real engine"),
        Paragraph(
            f"The cache that costs are simulated with, on hardware: llama.cpp with {literal(engine.model)} reads the "
            f"same requests of {len(engine.sessions)} recorded sessions at a budget of {engine.budget:,} of the "
            f"model's own tokens, in a window of {engine.window:,}. *Simulated* is the longest common prefix with the "
            "request before, in whole messages. *Refused*: calls at which an arm made no request, or one that the "
            "window does not hold. Arms are compared at the calls that all of them have read; an arm with ‡ was "
            f"stopped for time, one with § read too few of its calls and stands at its own. {_measured(engine.stamp)}"
        ),
        Figure(
            name="engine",
            alt="Share of prompt tokens reused, real beside simulated, and milliseconds to read a prompt, by arm: "
            + "; ".join(f"{one.arm} {number(share(one.reused, one.tokens))}" for one in found)
            + ".",
            caption="What the engine reused beside what the simulation says, and the mean time to read a prompt.",
            command=command,
        ),
        Table(
            title="Real and simulated reuse",
            head=("arm", "session", "calls", "prompt tokens", "reused", "simulated", "ms a call", "over", "refused"),
            rows=(
                *(_compared_row(one, families.get(one.arm, "own")) for one in found),
                *(_engine_row(row, families.get(row.arm, "own")) for row in engine.rows),
            ),
            command=command,
            words=2,
        ),
    ]
    return [*blocks, Items(tuple(stopped), title="Stopped early or left out")] if stopped else blocks


def recalled(recall: RecallOutcome) -> list[Block]:
    """Whether evidence is found within a budget."""
    blocks: list[Block] = [
        Heading("Recall"),
        Paragraph(
            "Whether what a later action or question needs is in the request, at small budgets, beside taking the "
            f"newest messages and beside BM25. {_measured(recall.stamp)}"
        ),
    ]
    methods = tuple(f"**{literal(name)}**: {literal(told)}." for name, told in recall.methods.items())
    blocks += [Items(methods)] if methods else []
    for place, table in enumerate(recall.tables):
        blocks += _recall_blocks(table, place, recall.stamp.command)
    return blocks


def _measured(stamp: Stamp) -> str:
    return f"Measured on {literal(stamp.date)} (commit {literal(stamp.commit)}, {literal(stamp.machine)})."


def _growth_table(growth: GrowthOutcome, lengths: Sequence[int], what: str, title: str) -> Table:
    return Table(
        title=f"{title}{' / p95' if what == 'time' else ''}",
        head=("arm", *(f"{length:,}" for length in lengths)),
        rows=tuple(_growth_row(curve, lengths, what) for curve in growth.curves),
        command=growth.stamp.command,
    )


def _growth_row(curve: GrowthCurve, lengths: Sequence[int], what: str) -> Row:
    at = {point.messages: point for point in curve.points}
    name = literal(curve.arm)
    cells = [_grown(at.get(length), what) for length in lengths]
    return Row((f"**{name}**" if curve.family == "foveate" else name, *cells), curve.family)


def _grown(point: GrowthPoint | None, what: str) -> str:
    if point is None:
        return number(None)
    if what == "memory":
        return number(point.megabytes, 1)
    return (
        milliseconds(point.cold_ms)
        if what == "cold"
        else f"{milliseconds(point.p50_ms)} / {milliseconds(point.p95_ms)}"
    )


def _live_table(live: Sequence[GrowthPoint], command: str) -> Table:
    return Table(
        title="Foveate's live loop, message by message to the end",
        head=("messages", "tokens", "ms, p50", "ms, p95", "megabytes"),
        rows=tuple(
            Row(
                (
                    f"{point.messages:,}",
                    f"{point.tokens:,}",
                    milliseconds(point.p50_ms),
                    milliseconds(point.p95_ms),
                    number(point.megabytes, 1),
                ),
                "foveate",
            )
            for point in live
        ),
        command=command,
    )


def _compared_row(one: ArmReading, family: Family) -> Row:
    name = literal(one.marked)
    return Row(
        (
            f"**{name}**" if family == "foveate" else name,
            "calls that all have read" if one.is_compared else "its own calls",
            f"{one.calls:,}",
            f"{one.tokens:,}",
            number(share(one.reused, one.tokens), 3),
            number(share(one.simulated, one.tokens), 3),
            milliseconds(one.milliseconds),
            NOTHING,
            f"{100 * one.refused:.0f} %",
        ),
        family,
    )


def _engine_row(row: EngineRow, family: Family) -> Row:
    return Row(
        (
            f"**{literal(row.arm)}**" if family == "foveate" else literal(row.arm),
            literal(row.session),
            f"{row.calls:,}",
            f"{row.prompt_tokens:,}",
            number(share(row.reused, row.prompt_tokens), 3),
            number(share(row.simulated, row.prompt_tokens), 3),
            milliseconds(share(row.prompt_ms, row.calls)),
            f"{row.over:,}",
            f"{row.refused:,}",
        ),
        family,
    )


def _recall_blocks(table: RecallTable, place: int, command: str) -> list[Block]:
    name = literal(table.name)
    methods = _methods(table)
    blocks: list[Block] = [
        Heading(f"Recall {place + 1}: {table.name}", 3),
        Paragraph(
            f"{table.conversations:,} conversations, {table.questions:,} questions. {literal(table.note)}".strip()
        ),
        Figure(
            name=recall_name(place),
            alt=f"Share of questions for which all evidence is found, by budget, for {', '.join(methods)}.",
            caption=f"All evidence found, by budget: {name}. Whiskers are 95 % intervals over conversations.",
            command=command,
        ),
        Table(
            title=f"Evidence found, {name}",
            head=("method", "budget", "any", "all", "95 %", "tokens used", "ms"),
            rows=tuple(map(_recall_row, table.rows)),
            command=command,
        ),
    ]
    return [*blocks, _kinds(table, command)] if table.kinds else blocks


def _methods(table: RecallTable) -> list[str]:
    return list(dict.fromkeys(row.method for row in table.rows))


def _recall_row(row: RecallRow) -> Row:
    return Row(
        (
            literal(row.method),
            f"{row.budget:,}",
            number(row.any, 3),
            number(row.all, 3),
            f"{number(row.all_low)}–{number(row.all_high)}",
            number(row.tokens, 0),
            milliseconds(row.milliseconds),
        ),
        "foveate" if row.method.startswith("foveate") else "",
    )


def _kinds(table: RecallTable, command: str) -> Table:
    methods = _methods(table)
    return Table(
        title=f"All evidence by kind of question at {table.kinds_budget:,} tokens, {literal(table.name)}",
        head=("kind", *map(literal, methods)),
        rows=tuple(
            Row((literal(kind), *(number(found.get(method), 3) for method in methods)))
            for kind, found in table.kinds.items()
        ),
        command=command,
    )
