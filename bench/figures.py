"""Figures: the numbers as plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import Final, Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench.drawing import COLOURS, INK, RAISED, SOFT, WARNINGS, Label, Sheet, label_ends, label_points, look, note_at
from bench.engine_reading import readings
from bench.intervals import pareto
from bench.outcome import (
    EngineOutcome,
    Family,
    GrowthOutcome,
    GrowthPoint,
    RecallOutcome,
    RecallTable,
    Run,
)
from bench.standings import Contest, Standing, families_of, share

_WIDTH: Final = 920
_NAMES: Final = 200
_ENDS: Final = 300
_ROW: Final = 18
# Shares below this are said in numbers beside their bars.
_FEW: Final = 0.05
_FAMILIES: Final[dict[Family, str]] = {"foveate": "Foveate", "own": "simple arms of our own", "peer": "peers"}
_MARKERS: Final[dict[Family, str]] = {"foveate": "D", "own": "s", "peer": "o"}
_METHODS: Final = ("#b35300", SOFT, "#a3195b", "#44537a", "#e69f00")
_COSTS: Final = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10, 20, 50)
_SHARES: Final = (0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.92, 0.94, 0.96, 0.97, 0.98, 0.99, 0.995, 0.999)
# From here on nothing is lost.
_ALL: Final = 1 - 1e-4
_DASHES: Final = ("-", "--", ":", "-.")
# From this ratio of the dearest to the cheapest on, cost is drawn on a logarithmic axis.
_WIDE: Final = 4

Growing = Literal["time", "cold", "memory"]
GROWING: Final[dict[Growing, str]] = {
    "time": "milliseconds for one more request, p50",
    "cold": "milliseconds for a first request of so many messages",
    "memory": "megabytes",
}


def figures(
    held: Sequence[Contest],
    growth: GrowthOutcome | None,
    engine: EngineOutcome | None,
    recall: RecallOutcome | None,
) -> dict[str, str]:
    """All plots by name, as SVG."""
    drawn: dict[str, str] = {}
    with look():
        drawn |= {cost_name(one.run): _cost(one) for one in held}
        if held:
            drawn["violations"] = _violations(held)
        if growth is not None:
            drawn |= {growth_name(what): _growth(growth, what) for what in GROWING}
        if engine is not None:
            drawn["engine"] = _engine(engine, families_of(held))
        for place, table in enumerate(recall.tables if recall is not None else ()):
            drawn[recall_name(place)] = _recall(table, recall_name(place))
    return drawn


def cost_name(run: Run) -> str:
    return f"cost-{run.budget}-{run.material}"


def growth_name(what: Growing) -> str:
    return f"growth-{what}"


def recall_name(place: int) -> str:
    return f"recall-{place + 1}"


def front(arms: Sequence[Standing]) -> list[Standing]:
    """The arms, among those that are fit, that no other beats on both cost and references kept; the cheapest first."""
    known = [(one, cost, kept) for one, cost, kept in _points(arms) if one.is_fit]
    best = pareto([(cost, kept) for _, cost, kept in known])
    return [one for (one, _, _), is_best in sorted(zip(known, best, strict=True), key=lambda it: it[0][1]) if is_best]


def _points(arms: Sequence[Standing]) -> list[tuple[Standing, float, float]]:
    found = ((one, one.cost(0), one.kept) for one in arms)
    return [(one, cost, kept) for one, cost, kept in found if cost and kept is not None]


def _cost(contest: Contest) -> str:
    """Cost against references kept: the upper left corner is where everybody wants to be."""
    arms = contest.arms
    sheet = Sheet(cost_name(contest.run), _WIDTH, 760)
    axes = sheet.axes(48, 62, _WIDTH - 72, 650)
    known = _points(arms)
    top = _cost_axes(axes, known)
    path = _draw_front(axes, [(cost, _height(kept, top)) for _, cost, kept in _points(front(arms))])
    spots = [(cost, _height(kept, top)) for _, cost, kept in known]
    labels = []
    for (one, _, kept), (x, y) in zip(known, spots, strict=True):
        colour = COLOURS[one.arm.family]
        labels.append(Label(f"{one.name} 1.00 ↑" if kept > top else one.name, colour, is_quiet=not one.is_fit))
        axes.scatter(
            [x],
            [y],
            s=70 if one.arm.family == "foveate" else 44 if one.is_fit else 26,
            marker=_MARKERS[one.arm.family],
            facecolors=colour if one.is_fit else RAISED,
            edgecolors=colour,
            linewidths=1.4 if one.is_fit else 1,
            zorder=4 if one.arm.family == "foveate" else 3,
            clip_on=False,
        )
    label_points(sheet, axes, spots, labels, path=path)
    _cost_key(sheet)
    note_at(sheet, 14, 44, "↑ share of the references due that are kept; where half as much is lost, it is one step up")
    note_at(
        sheet, _WIDTH - 24, 748, "cost of the input at Anthropic, relative to the untouched history →", align="right"
    )
    return sheet.svg()


def _cost_axes(axes: Axes, known: Sequence[tuple[Standing, float, float]]) -> float:
    """Set up the axes; the largest share that is drawn in its place comes back."""
    costs = [cost for _, cost, _ in known] or [1.0]
    low, high = min(costs), max(costs)
    if high > _WIDE * low:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.12, high * 1.25)
        axes.xaxis.set_major_locator(FixedLocator([tick for tick in _COSTS if low / 1.12 <= tick <= high * 1.25]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        room = 0.08 * (high - low or 1)
        axes.set_xlim(low - room, high + 2 * room)
    kept = [kept for _, _, kept in known]
    # Whoever loses nothing is nowhere on such an axis, and is drawn above the others.
    top = 1 - 0.7 * (1 - max((one for one in kept if one < _ALL), default=0.9))
    least, most = _height(min(kept, default=0.0), top), _height(top, top)
    room = 0.04 * (most - least or 1)
    axes.set_ylim(least - room, most + room)
    ticks = [tick for tick in _SHARES if least - room <= _height(tick, top) <= most + room and tick <= top]
    axes.set_yticks([_height(tick, top) for tick in ticks], [f"{tick:g}" for tick in ticks])
    return top


def _height(kept: float, top: float) -> float:
    """Where a share is drawn: half as much lost is one step up."""
    return -log2(1 - min(kept, top))


def _draw_front(axes: Axes, spots: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """A line in steps from one arm of the front to the next; its corners come back."""
    corners: list[tuple[float, float]] = []
    for x, y in spots:
        corners += [(x, corners[-1][1]), (x, y)] if corners else [(x, y)]
    if corners:
        corners.append((axes.get_xlim()[1], corners[-1][1]))
        axes.plot(*zip(*corners, strict=True), color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    return corners


def _cost_key(sheet: Sheet) -> None:
    axes = sheet.axes(14, 6, _WIDTH - 28, 24)
    axes.set_axis_off()
    axes.set_xlim(0, _WIDTH - 28)
    axes.set_ylim(0, 24)
    x = 6.0
    for family, text in _FAMILIES.items():
        axes.scatter([x], [12], s=50, marker=_MARKERS[family], color=COLOURS[family], linewidths=1.4)
        x = _said(sheet, axes, x + 10, text)
    axes.scatter([x], [12], s=44, marker="o", facecolors=RAISED, edgecolors=COLOURS["peer"], linewidths=1.4)
    x = _said(sheet, axes, x + 10, "hollow: invalid, over, failed or refused at more than 1 % of calls")
    axes.plot([x - 4, x + 20], [12, 12], color=INK, linewidth=1, linestyle=(0, (4, 3)))
    _said(sheet, axes, x + 26, "best of the filled ones")


def _said(sheet: Sheet, axes: Axes, x: float, text: str) -> float:
    axes.text(x, 12, text, color=SOFT, va="center_baseline")
    return x + sheet.size(text)[0] + 22


def _violations(held: Sequence[Contest]) -> str:
    """For each arm and budget the calls that went wrong, by how."""
    families = {one.name: one.arm.family for family in _FAMILIES for contest in held for one in contest.of(family)}
    names = list(families)
    height = _ROW * len(names)
    sheet = Sheet("violations", _WIDTH, 62 + height + 30)
    width = (_WIDTH - _NAMES - 30) / len(held)
    for place, contest in enumerate(held):
        axes = sheet.axes(_NAMES + place * width, 62, width - 44, height)
        _share_axes(axes, names, [] if place else [COLOURS[family] for family in families.values()])
        found = {one.name: one for one in contest.arms}
        starts = [0.0] * len(names)
        for kind, colour in WARNINGS.items():
            values = [_wrong(found.get(name), kind) for name in names]
            axes.barh(range(len(names)), values, left=starts, color=colour, height=0.62, zorder=3)
            starts = [start + value for start, value in zip(starts, values, strict=True)]
        axes.set_xlim(0, max([1.0, *starts]) * 1.02)
        axes.xaxis.set_major_locator(FixedLocator([0, 0.5, 1]))
        for row, start in enumerate(starts):
            if 0 < start < _FEW:
                axes.text(start + 0.015, row, f"{100 * start:.1f} %", color=SOFT, va="center_baseline", fontsize=9)
        note_at(sheet, _NAMES + place * width, 50, contest.where, colour=INK)
    _bar_key(sheet, WARNINGS)
    return sheet.svg()


def _wrong(one: Standing | None, kind: str) -> float:
    return (share(getattr(one.total, kind), one.total.calls) or 0.0) if one is not None else 0.0


def _share_axes(axes: Axes, names: Sequence[str], colours: Sequence[str]) -> None:
    """Axes for bars of shares, one row for each name; without colours the names are left out."""
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set_yticks(range(len(names)), names if colours else [""] * len(names))
    axes.tick_params(axis="y", length=0)
    for label, colour in zip(axes.get_yticklabels(), colours, strict=False):
        label.set_color(colour)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))


def _bar_key(sheet: Sheet, kinds: dict[str, str]) -> None:
    axes = sheet.axes(_NAMES, 6, _WIDTH - _NAMES - 14, 24)
    axes.set_axis_off()
    axes.set_xlim(0, _WIDTH - _NAMES - 14)
    axes.set_ylim(0, 24)
    x = 0.0
    for text, colour in kinds.items():
        axes.barh([12], [12], left=[x], height=11, color=colour)
        x = _said(sheet, axes, x + 18, text)


def _growth(growth: GrowthOutcome, what: Growing) -> str:
    """How time or memory grows with the length of the history, one line for each arm."""
    sheet = Sheet(growth_name(what), _WIDTH, 620)
    axes = sheet.axes(56, 44, _WIDTH - 56 - _ENDS, 528)
    drawn = [
        (curve, [(point.messages, value) for point in curve.points if (value := _grown(point, what)) > 0])
        for curve in growth.curves
    ]
    drawn = [(curve, points) for curve, points in drawn if points]
    axes.set_xscale("log")
    axes.set_yscale("log")
    for curve, points in drawn:
        x, y = zip(*points, strict=True)
        is_ours = curve.family == "foveate"
        axes.plot(
            x,
            y,
            color=COLOURS[curve.family],
            linewidth=2.6 if is_ours else 1.1,
            marker=_MARKERS[curve.family],
            markersize=5 if is_ours else 3,
            alpha=1 if is_ours else 0.75,
            zorder=4 if is_ours else 2,
        )
    _growth_axes(axes, [x for _, points in drawn for x, _ in points], [y for _, points in drawn for _, y in points])
    texts = [curve.arm + (" (stopped)" if curve.stopped else "") for curve, _ in drawn]
    label_ends(
        axes, [points[-1] for _, points in drawn], texts, [COLOURS[curve.family] for curve, _ in drawn], right=34
    )
    note_at(sheet, 14, 24, f"↑ {GROWING[what]}")
    note_at(sheet, _WIDTH - _ENDS, 608, "messages so far →", align="right")
    return sheet.svg()


def _grown(point: GrowthPoint, what: Growing) -> float:
    return {"time": point.p50_ms, "cold": point.cold_ms, "memory": point.megabytes}[what]


def _growth_axes(axes: Axes, lengths: Sequence[float], values: Sequence[float]) -> None:
    if not lengths:
        return
    axes.set_xlim(min(lengths) / 1.2, max(lengths) * 1.1)
    axes.set_ylim(min(values) / 1.4, max(values) * 1.4)
    axes.xaxis.set_major_locator(FixedLocator(sorted(set(lengths))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _engine(engine: EngineOutcome, families: Mapping[str, Family]) -> str:
    """What the engine reused beside what the simulation says, and how long it read."""
    found = readings(engine)
    arms = [one.marked for one in found]
    height = 44 * len(arms)
    sheet = Sheet("engine", _WIDTH, 62 + height + 30)
    half = (_WIDTH - _NAMES - 30) / 2
    colours = [COLOURS[families.get(one.arm, "own")] for one in found]
    reuse = sheet.axes(_NAMES, 62, half - 30, height)
    _share_axes(reuse, arms, colours)
    for row, one in enumerate(found):
        real, simulated = share(one.reused, one.tokens) or 0.0, share(one.simulated, one.tokens) or 0.0
        reuse.barh([row - 0.17], [real], height=0.3, color=colours[row], zorder=3)
        reuse.barh(
            [row + 0.17], [simulated], height=0.3, facecolor=RAISED, edgecolor=colours[row], hatch="////", zorder=3
        )
    reuse.set_xlim(0, 1)
    times = sheet.axes(_NAMES + half + 10, 62, half - 40, height)
    _share_axes(times, arms, [])
    spent = [one.milliseconds or 0.0 for one in found]
    times.barh(range(len(arms)), spent, height=0.5, color=colours, zorder=3)
    times.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    note_at(sheet, _NAMES, 50, "prompt tokens reused", colour=INK)
    note_at(sheet, _NAMES + half + 10, 50, "milliseconds to read a prompt, mean", colour=INK)
    note_at(sheet, _NAMES, 24, "filled: the real engine; hatched: the simulation; ‡ stopped for time; § too few calls")
    return sheet.svg()


def _recall(table: RecallTable, name: str) -> str:
    """Evidence found within a budget, by method."""
    sheet = Sheet(name, _WIDTH, 420)
    axes = sheet.axes(56, 44, _WIDTH - 56 - 190, 328)
    methods = list(dict.fromkeys(row.method for row in table.rows))
    ours = sorted(method for method in methods if method.startswith("foveate"))
    others = [method for method in methods if method not in ours]
    ends, colours = [], []
    axes.set_xscale("log")
    for place, method in enumerate(methods):
        rows = sorted((row for row in table.rows if row.method == method), key=lambda row: row.budget)
        is_ours = method in ours
        colour = COLOURS["foveate"] if is_ours else _METHODS[others.index(method) % len(_METHODS)]
        # A little apart, or the whiskers of all methods would stand on one another.
        budgets = [row.budget * 1.02 ** (place - len(methods) // 2) for row in rows]
        axes.vlines(budgets, [row.all_low for row in rows], [row.all_high for row in rows], color=colour, alpha=0.45)
        axes.plot(
            budgets,
            [row.all for row in rows],
            color=colour,
            linewidth=2.4 if is_ours else 1.5,
            linestyle=_DASHES[ours.index(method) % len(_DASHES)] if is_ours else "-",
            marker="D" if is_ours else "o",
            markersize=5,
        )
        ends.append((budgets[-1], rows[-1].all))
        colours.append(colour)
    ticks = sorted({row.budget for row in table.rows})
    axes.set_ylim(0, 1.02)
    axes.set_xlim(min(ticks, default=1) / 1.1, max(ticks, default=10) * 1.1)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    label_ends(axes, ends, methods, colours, right=30)
    note_at(sheet, 14, 24, "↑ share of questions for which all evidence is found; whiskers are 95 % intervals")
    note_at(sheet, _WIDTH - 190, 408, "tokens →", align="right")
    return sheet.svg()
