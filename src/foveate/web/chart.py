"""The chart of a session: its window by fate, its cache and its costs, over all calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from foveate.inspect.call_history import CallHistory, HistoryEntry
from foveate.inspect.fates import PARTS
from foveate.web.fates import COLOURS
from foveate.web.phrases import money, tokens

TRIGGERS: Final[Mapping[str, tuple[str, str]]] = {
    "must": ("#d0483e", "the budget left no room, or something pinned had to be shown again"),
    "free": ("#35a05c", "the cache was cold anyway, so the rewrite cost nothing"),
    "pays": ("#2f7fd0", "at the cache's prices, a rewrite now is cheaper than carrying the old text on"),
    "asked": ("#8b6fd6", "somebody asked for it"),
    "due": ("#c07a2c", "the template wants its summary written anew"),
    "capped": ("#98a1aa", "new outputs came in too large and are shown by their beginning and end"),
    "request": ("#6f8296", "a pass that runs on every request rewrote messages"),
}
"""Why compactions are made: the colour of each reason, and what it means."""

CACHED: Final = "#69b3ab"
FRESH: Final = "#e2925f"
SENT: Final = "#178f87"
UNTOUCHED: Final = "#98a1aa"
MOST: Final = 600

# Readable on light and on dark ground: a canvas does not know the theme.
_WORDS: Final = "#7d868e"
_RULE: Final = "rgba(128, 136, 144, .22)"
_SHORT: Final = "(value) => foveate.short(value)"
_LEFT: Final = 62
_GRIDS: Final = ((26, 290), (362, 92), (500, 116))
HEIGHT: Final = 690


def chart_of(found: CallHistory, first: int | None = None, last: int | None = None) -> dict[str, Any]:
    """The options of the chart; between two calls in full detail, elsewhere thinned."""
    calls = _drawn(found.entries, first, last)
    numbers = [found.entries[0].number, found.entries[-1].number]
    zoom = {"start": 0, "end": 100} if first is None or last is None else {"startValue": first, "endValue": last}
    return {
        "animation": False,
        "textStyle": {"fontFamily": "system-ui, sans-serif", "color": _WORDS},
        "grid": [{"left": _LEFT, "right": 18, "top": top, "height": height} for top, height in _GRIDS],
        "xAxis": [_x_axis(grid, numbers) for grid in range(3)],
        "yAxis": [
            _y_axis(0, "tokens in the window", _ceiling(found)),
            _y_axis(1, "cached and fresh", None),
            _cost_axis(found),
        ],
        "axisPointer": {"link": [{"xAxisIndex": "all"}], "label": {"show": False}, "lineStyle": {"color": _WORDS}},
        "tooltip": _tooltip(),
        "dataZoom": [
            {
                "type": "slider",
                "xAxisIndex": [0, 1, 2],
                "bottom": 8,
                "height": 20,
                "filterMode": "none",
                **_slider(),
                **zoom,
            },
            {"type": "inside", "xAxisIndex": [0, 1, 2], "zoomOnMouseWheel": "ctrl", "filterMode": "none", **zoom},
        ],
        "series": [*_window(calls, found.unit), *_cache(calls), *_costs(found, calls)],
    }


def parts_in(found: CallHistory) -> list[str]:
    """What the windows of these calls are made of, in the order it is drawn."""
    there = {name for entry in found.entries for name in entry.parts}
    return [name for name in PARTS if name in there]


def triggers_in(found: CallHistory) -> dict[str, int]:
    """How often each reason led to a compaction."""
    counts = found.triggers()
    return {trigger: counts[trigger] for trigger in TRIGGERS if counts[trigger]}


def trigger_colour(trigger: str) -> str:
    """The colour of a reason."""
    return TRIGGERS[trigger][0] if trigger in TRIGGERS else COLOURS["other"]


def thinned(entries: Sequence[HistoryEntry], most: int) -> list[HistoryEntry]:
    """At most about so many calls of many, evenly, and of those with a compaction as many as go in."""
    if len(entries) <= most:
        return list(entries)
    step = len(entries) / most
    chosen = {round(place * step) for place in range(most)} | {0, len(entries) - 1}
    compactions = [place for place, entry in enumerate(entries) if entry.call.reductions]
    some = compactions[:: max(1, -(-len(compactions) // (most // 2)))]
    # The call before shows from where it came down.
    chosen |= {place + step for place in some for step in (-1, 0)}
    return [entry for place, entry in enumerate(entries) if place in chosen]


def _drawn(calls: Sequence[HistoryEntry], first: int | None, last: int | None) -> list[HistoryEntry]:
    if first is None or last is None:
        return thinned(calls, MOST)
    near = [entry for entry in calls if first <= entry.number <= last]
    before = [entry for entry in calls if entry.number < first]
    after = [entry for entry in calls if entry.number > last]
    return [*thinned(before, MOST // 4), *thinned(near, MOST), *thinned(after, MOST // 4)]


def _ceiling(found: CallHistory) -> int | None:
    """Where the axis ends; a budget far above all requests would press them to the ground."""
    peak = max(entry.call.tokens for entry in found.entries)
    limit = max((entry.call.budget or 0) for entry in found.entries)
    return int(peak * 1.25) if limit > 2 * peak else None


def _x_axis(grid: int, numbers: Sequence[int]) -> dict[str, Any]:
    return {
        "type": "value",
        "gridIndex": grid,
        "min": numbers[0],
        "max": max(numbers[1], numbers[0] + 1),
        "minInterval": 1,
        "axisLabel": {"show": grid == 2, "color": _WORDS, "hideOverlap": True},
        "axisTick": {"show": grid == 2},
        "axisLine": {"lineStyle": {"color": _RULE}},
        "splitLine": {"show": False},
    }


def _y_axis(grid: int, name: str, ceiling: int | None, label: str = _SHORT) -> dict[str, Any]:
    return {
        "type": "value",
        "gridIndex": grid,
        "name": name,
        "nameTextStyle": {"align": "left", "color": _WORDS, "padding": [0, 0, 0, -_LEFT + 4]},
        "nameGap": 12,
        "min": 0,
        "max": ceiling,
        "splitNumber": 4 if grid == 0 else 2,
        "axisLabel": {"color": _WORDS, ":formatter": label},
        "splitLine": {"lineStyle": {"color": _RULE}},
    }


def _cost_axis(found: CallHistory) -> dict[str, Any]:
    label = "(value) => foveate.money(value)" if found.unit == "USD" else _SHORT
    return _y_axis(2, f"cost so far ({'$' if found.unit == 'USD' else 'in input tokens'})", None, label)


def _slider() -> dict[str, Any]:
    return {
        "borderColor": _RULE,
        "fillerColor": "rgba(23, 143, 135, .12)",
        "backgroundColor": "transparent",
        "dataBackground": {"lineStyle": {"opacity": 0}, "areaStyle": {"opacity": 0}},
        "selectedDataBackground": {"lineStyle": {"opacity": 0}, "areaStyle": {"opacity": 0}},
        "handleStyle": {"color": "#178f87", "borderColor": "#178f87"},
        "moveHandleStyle": {"color": "rgba(128, 136, 144, .4)"},
        "handleSize": "70%",
        "showDetail": False,
        "brushSelect": False,
    }


def _tooltip() -> dict[str, Any]:
    # What is in it is put together in the browser, from numbers, and texts that are escaped there.
    return {
        "trigger": "axis",
        "className": "tip-of-chart",
        "confine": True,
        "backgroundColor": "transparent",
        "borderWidth": 0,
        "padding": 0,
        "extraCssText": "box-shadow: none",
        ":formatter": "(points) => foveate.tip(points)",
    }


def _window(calls: Sequence[HistoryEntry], unit: str) -> list[dict[str, Any]]:
    there = {name for entry in calls for name in entry.parts}
    areas = [
        {
            "name": name,
            "type": "line",
            "stack": "window",
            "symbol": "none",
            "lineStyle": {"width": 0},
            "areaStyle": {"color": COLOURS[name], "opacity": 0.88},
            "itemStyle": {"color": COLOURS[name]},
            "emphasis": {"disabled": True},
            "data": [[entry.number, entry.parts.get(name, 0)] for entry in calls],
        }
        for name in PARTS
        if name in there
    ]
    return [
        *areas,
        _line("budget", [[entry.number, entry.call.budget] for entry in calls], "#d0483e", width=1.5),
        _line("pays at", [[entry.number, entry.pays_at] for entry in calls], "#2f7fd0", dash="dashed"),
        _line("low mark", [[entry.number, entry.low_mark] for entry in calls], _WORDS, dash="dotted"),
        *_markers(calls),
        {
            "name": "calls",
            "type": "line",
            "symbol": "none",
            "lineStyle": {"width": 0, "opacity": 0},
            "emphasis": {"disabled": True},
            "data": [{"value": [entry.number, entry.call.tokens], "info": _told(entry, unit)} for entry in calls],
        },
    ]


def _line(name: str, points: list[list[Any]], shade: str, *, dash: str = "solid", width: float = 1.2) -> dict[str, Any]:
    return {
        "name": name,
        "type": "line",
        "symbol": "none",
        "step": "middle" if name == "budget" else False,
        "lineStyle": {"color": shade, "width": width, "type": dash},
        "itemStyle": {"color": shade},
        "emphasis": {"disabled": True},
        "data": points,
    }


def _markers(calls: Sequence[HistoryEntry]) -> list[dict[str, Any]]:
    return [
        {
            "name": f"compaction: {trigger}",
            "type": "scatter",
            "symbol": "path://M0 0 L10 0 L5 8 Z",
            "symbolSize": [11, 9],
            "symbolOffset": [0, "-90%"],
            "itemStyle": {"color": shade, "opacity": 1, "borderColor": "#ffffff", "borderWidth": 1},
            "z": 5,
            "data": [
                [entry.number, entry.call.tokens]
                for entry in calls
                if any(reduction.trigger == trigger for reduction in entry.call.reductions)
            ],
        }
        for trigger, (shade, _) in TRIGGERS.items()
    ]


def _cache(calls: Sequence[HistoryEntry]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "type": "line",
            "xAxisIndex": 1,
            "yAxisIndex": 1,
            "stack": "cache",
            "symbol": "none",
            "lineStyle": {"width": 0},
            "areaStyle": {"color": shade, "opacity": 0.9},
            "itemStyle": {"color": shade},
            "emphasis": {"disabled": True},
            "data": [
                [entry.number, entry.sent.cached if name == "cached" else entry.sent.tokens - entry.sent.cached]
                for entry in calls
            ],
        }
        for name, shade in (("cached", CACHED), ("fresh", FRESH))
    ]


def _costs(found: CallHistory, calls: Sequence[HistoryEntry]) -> list[dict[str, Any]]:
    drawn = {entry.number for entry in calls}
    numbers = [entry.number for entry in found.entries]
    sent = accumulate(entry.sent.cost for entry in found.entries)
    untouched = accumulate(entry.untouched.cost for entry in found.entries)
    lines = (
        ("untouched history", untouched, UNTOUCHED, "dashed", 1.5),
        ("as sent", sent, SENT, "solid", 2.2),
    )
    return [
        {
            **_line(
                name,
                [[at, round(cost, 6)] for at, cost in zip(numbers, costs, strict=True) if at in drawn],
                shade,
                dash=dash,
                width=width,
            ),
            "xAxisIndex": 2,
            "yAxisIndex": 2,
        }
        for name, costs, shade, dash, width in lines
    ]


def _told(entry: HistoryEntry, unit: str) -> dict[str, Any]:
    """What is said of a call when somebody points at it."""
    return {
        "parts": [[name, COLOURS[name], size] for name, size in entry.parts.items()],
        "budget": tokens(entry.call.budget) if entry.call.budget is not None else "",
        "cached": [entry.sent.cached, entry.sent.tokens - entry.sent.cached],
        "isMoney": unit == "USD",
        "reported": [entry.call.reported_input, entry.call.reported_cached],
        "compactions": [
            [one.trigger, trigger_colour(one.trigger), one.reason, tokens(one.before), tokens(one.after)]
            for one in entry.call.reductions
        ],
    }


def told_cost(found: CallHistory) -> str:
    """What the untouched history would have cost."""
    return f"the untouched history: {money(found.untouched.cost, found.unit)}" if found.untouched.cost else ""
