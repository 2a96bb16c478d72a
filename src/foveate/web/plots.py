"""Plots of a comparison: costs, windows, and what was kept, policy beside policy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from foveate.lab.result import Result, SessionResult

_POINTS: Final = 400
_SHADES: Final = ("#178f87", "#d55e00", "#2f7fd0", "#cc79a7", "#e0a300", "#7565d2", "#56b4e9", "#a5627f")
_WORDS: Final = "#7d868e"
_RULE: Final = "rgba(128, 136, 144, .22)"


def costs_chart(result: Result) -> dict[str, Any]:
    """What each policy has cost after so many calls, one session after the other."""
    names = [one.name for one in result.policies]
    columns = []
    for name in names:
        costs = accumulate(cost for session in result.sessions for cost in session.lanes[name].series.cost)
        columns.append(_some([(place, round(cost, 6)) for place, cost in enumerate(costs, start=1)]))
    return _lines(names, columns, result.cost_unit)


def inputs_chart(session: SessionResult, names: Sequence[str]) -> dict[str, Any]:
    """The input tokens of every call of a session under each policy."""
    columns = [
        _some([(place, float(size)) for place, size in enumerate(session.lanes[name].series.tokens, start=1)])
        for name in names
    ]
    return _lines(names, columns, "tokens")


def references_chart(result: Result) -> dict[str, Any]:
    """Of what recorded actions took from the history, how much each policy kept."""
    names = [one.name for one in result.policies][::-1]
    totals = [result.totals[name] for name in names]
    kinds = (("kept", "#35a05c"), ("restorable", "#d9b84a"), ("lost", "#d0483e"))
    return {
        "animation": False,
        "textStyle": {"fontFamily": "system-ui, sans-serif", "color": _WORDS},
        "legend": {"top": 0, "left": 0, "itemWidth": 10, "itemHeight": 10, "textStyle": {"color": _WORDS}},
        "grid": {"left": 110, "right": 24, "top": 32, "bottom": 24},
        "xAxis": {
            "type": "value",
            "max": 100,
            "axisLabel": {"color": _WORDS, "formatter": "{value} %"},
            "splitLine": {"lineStyle": {"color": _RULE}},
        },
        "yAxis": {
            "type": "category",
            "data": names,
            "axisLabel": {"color": _WORDS},
            "axisLine": {"lineStyle": {"color": _RULE}},
        },
        "tooltip": {"trigger": "axis", "renderMode": "richText", "axisPointer": {"type": "shadow"}},
        "series": [
            {
                "name": kind,
                "type": "bar",
                "stack": "references",
                "barWidth": 16,
                "itemStyle": {"color": shade},
                "data": [round(100 * getattr(one, kind) / max(1, one.references), 1) for one in totals],
            }
            for kind, shade in kinds
        ],
    }


def _lines(names: Sequence[str], columns: Sequence[Sequence[tuple[int, float]]], unit: str) -> dict[str, Any]:
    label = "(value) => foveate.money(value)" if unit == "USD" else "(value) => foveate.short(value)"
    return {
        "animation": False,
        "textStyle": {"fontFamily": "system-ui, sans-serif", "color": _WORDS},
        "legend": {
            "top": 0,
            "left": 0,
            "itemWidth": 14,
            "itemHeight": 3,
            "icon": "rect",
            "textStyle": {"color": _WORDS},
        },
        "grid": {"left": 62, "right": 16, "top": 40, "bottom": 30},
        "xAxis": {
            "type": "value",
            "name": "",
            "min": "dataMin",
            "max": "dataMax",
            "splitLine": {"show": False},
            "axisLabel": {"color": _WORDS},
            "axisLine": {"lineStyle": {"color": _RULE}},
        },
        "yAxis": {
            "type": "value",
            "axisLabel": {"color": _WORDS, ":formatter": label},
            "splitLine": {"lineStyle": {"color": _RULE}},
        },
        "tooltip": {"trigger": "axis", "renderMode": "richText", ":valueFormatter": label},
        "series": [
            {
                "name": name,
                "type": "line",
                "symbol": "none",
                "lineStyle": {"width": 2, "color": shade},
                "itemStyle": {"color": shade},
                "data": [list(point) for point in column],
            }
            for name, column, shade in zip(names, columns, _SHADES * len(names), strict=False)
        ],
    }


def _some(points: Sequence[tuple[int, float]]) -> Sequence[tuple[int, float]]:
    """As many points as can be told apart, the last among them."""
    step = max(1, len(points) // _POINTS)
    return [*points[:-1:step], *points[-1:]]
