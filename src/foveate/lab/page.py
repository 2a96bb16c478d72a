"""The report of a replay as one page that needs neither network nor server."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.resources import files
from itertools import accumulate
from typing import Any

from foveate.errors import ConfigError
from foveate.lab.result import Lane, Problem, RecordedUsage, Result, SessionResult

# Calls drawn of one session: as many as keep all series together within MOST_VALUES.
MOST_POINTS = 400
LEAST_POINTS = 6
# About six bytes each: with the plot library and the tables this stays below 15 MB.
MOST_VALUES = 1_300_000
VALUES_OF_A_BREAK = 8
LONGEST_LABEL = 80
LONGEST_PROBLEM = 300
MOST_PROBLEMS = 20


def page(result: Result) -> str:
    """The report as HTML text: tables and plots, with its numbers and the plot library inside."""
    parts = {
        "plotly": _plot_library(),
        "report": _embedded(_report(result)),
        "plots": _packaged("plots.js"),
        "script": _packaged("page.js"),
        "style": _packaged("page.css"),
    }
    # In one pass, so that nothing inside a part is taken for a place of another.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _packaged("page.html"))


def _plot_library() -> str:
    try:
        # By name and not on top: it comes with an extra, without types, and takes long to import.
        library = import_module("plotly.offline")
    except ImportError as error:
        raise ConfigError("`--html` needs plotly, which is not installed; pip install 'foveate[report]'") from error
    source: str = library.get_plotlyjs()
    return source


def _packaged(name: str) -> str:
    return files("foveate.lab").joinpath(name).read_text(encoding="utf-8")


def _embedded(report: dict[str, Any]) -> str:
    """JSON that cannot end the element it stands in: ASCII only, and no character that begins or ends a tag."""
    text = json.dumps(report, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _report(result: Result) -> dict[str, Any]:
    names = [policy.name for policy in result.policies]
    points = _affordable(result)
    return {
        "model": result.model,
        "budget": result.budget,
        "unit": result.cost_unit,
        "prices": result.prices_from,
        "calls": result.calls,
        "shareError": result.share_error,
        "policies": [asdict(policy) for policy in result.policies],
        "totals": [_finite(asdict(result.totals[name])) for name in names],
        "overall": _overall(result, names),
        "sessions": [_session(session, names, points) for session in result.sessions],
        "leftOut": [asdict(one) for one in result.left_out],
        "points": points,
    }


def _affordable(result: Result) -> int:
    """How many calls of each session can be drawn in a page of reasonable size."""

    def values(points: int) -> int:
        return sum(
            min(session.calls, points) * (4 + len(lane.series.fates))
            + min(len(lane.series.breaks), points // 2) * VALUES_OF_A_BREAK
            for session in result.sessions
            for lane in session.lanes.values()
        )

    choices = range(LEAST_POINTS, MOST_POINTS + 1)
    return choices[max(0, bisect_right(choices, MOST_VALUES, key=values) - 1)]


def _overall(result: Result, names: Sequence[str]) -> dict[str, Any]:
    """What each policy has cost after so many calls, one session after the other."""
    at = _evenly(result.calls, MOST_POINTS)
    return {"at": at, "costs": [_picked(_running(_all_costs(result, name)), at) for name in names]}


def _all_costs(result: Result, name: str) -> Iterable[float]:
    return (cost for session in result.sessions for cost in session.lanes[name].series.cost)


def _session(session: SessionResult, names: Sequence[str], points: int) -> dict[str, Any]:
    return {
        "name": session.name,
        "source": session.source,
        "format": session.format,
        "model": session.model,
        "pricedAs": session.priced_as,
        "limit": session.limit,
        "messages": session.messages,
        "calls": session.calls,
        "usage": _usage(session.usage, session.calls, points),
        "calibration": _finite(asdict(session.calibration)),
        "lanes": [_lane(session.lanes[name], points) for name in names],
    }


def _usage(usage: RecordedUsage | None, calls: int, points: int) -> dict[str, Any] | None:
    if usage is None:
        return None
    at = _evenly(calls, points)
    return {"at": at, "inputs": [usage.inputs[call] for call in at], "cached": [usage.cached[call] for call in at]}


def _lane(lane: Lane, points: int) -> dict[str, Any]:
    series = lane.series
    breaks = sorted(series.breaks, key=lambda one: (-one.lost, one.call))[: points // 2]
    # A sample must not leave out what is pointed at.
    at = sorted({*_evenly(len(series.tokens), points), *(one.call for one in breaks)})
    return {
        "cost": _finite({"total": lane.totals.cost})["total"],
        "at": at,
        "tokens": [series.tokens[call] for call in at],
        "cached": [series.cached[call] for call in at],
        "costs": _picked(_running(series.cost), at),
        "fates": {fate: [tokens[call] for call in at] for fate, tokens in series.fates.items() if any(tokens)},
        "breaks": [
            [one.call, one.message, one.role, _short(one.reference, LONGEST_LABEL), one.cause, one.lost]
            for one in sorted(breaks, key=lambda one: one.call)
        ],
        "allBreaks": len(series.breaks),
        "problems": _grouped(series.problems),
    }


def _grouped(problems: Iterable[Problem]) -> list[list[Any]]:
    """Problems said once: kind, text, how often, first call."""
    listed = [(one.kind, _short(one.text, LONGEST_PROBLEM), one.call) for one in problems]
    counts = Counter((kind, text) for kind, text, _ in listed)
    first = {(kind, text): call for kind, text, call in reversed(listed)}
    return [[*key, count, first[key]] for key, count in counts.most_common(MOST_PROBLEMS)]


def _evenly(count: int, most: int) -> list[int]:
    """At most `most` indices below `count`, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(step * (count - 1) / (most - 1)) for step in range(most)})


def _running(costs: Iterable[float]) -> list[float]:
    return list(accumulate(costs))


def _picked(values: Sequence[float], at: Iterable[int]) -> list[float | None]:
    """Values to draw: six digits are more than a screen can show."""
    return [float(f"{values[call]:.6g}") if math.isfinite(values[call]) else None for call in at]


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """The row with nothing in it that JSON has no number for."""
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
