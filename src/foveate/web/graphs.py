"""Graphs: nodes and what connects them, as a chart; names of others are drawn as text and never interpreted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from typing import Any, Final

from foveate.knowledge.models import Node
from foveate.work.models import Task

TYPES: Final[Mapping[str, str]] = {
    "task": "#98a1aa",
    "decision": "#2f7fd0",
    "pattern": "#35a05c",
    "gotcha": "#d0483e",
    "insight": "#d9b84a",
}
STATES: Final[Mapping[str, str]] = {
    "pending": "#98a1aa",
    "in_progress": "#2f7fd0",
    "completed": "#35a05c",
    "failed": "#d0483e",
}
_WORDS: Final = "#7d868e"
_LABEL: Final = 34
_NAMED: Final = 60


def knowledge_graph(nodes: Sequence[Node], chosen: str = "") -> dict[str, Any]:
    """What a project knows: a node for each thing, larger the more it is connected to."""
    shown = {node.id for node in nodes}
    links = {tuple(sorted((node.id, other))) for node in nodes for other in node.connections if other in shown}
    degree = dict.fromkeys(shown, 0)
    for pair in links:
        for end in pair:
            degree[end] += 1
    names, is_small = list(TYPES), len(nodes) <= _NAMED
    return {
        **_frame(),
        "legend": {"bottom": 0, "textStyle": {"color": _WORDS}, "data": names, "itemWidth": 11, "itemHeight": 11},
        "color": list(TYPES.values()),
        "series": [
            {
                "type": "graph",
                "layout": "force",
                "roam": True,
                "draggable": True,
                # Few nodes have room for their names, many are a cloud.
                "force": {
                    "repulsion": max(26, 12_000 // max(1, len(nodes))),
                    "edgeLength": [60, 170] if is_small else [8, 40],
                    "gravity": 0.12,
                    "layoutAnimation": False,
                },
                "categories": [{"name": name} for name in names],
                "label": {"show": is_small, "position": "right", "color": _WORDS, "fontSize": 11},
                "labelLayout": {"hideOverlap": True},
                "lineStyle": {"color": "rgba(128, 136, 144, .5)"},
                "emphasis": {"focus": "adjacency", "label": {"show": True}},
                "data": [
                    {
                        "id": node.id,
                        "name": _short(f"{node.id} {node.summary}"),
                        "category": names.index(node.type),
                        "symbolSize": 11 + min(22, 3 * degree[node.id]) if is_small else 6 + min(10, degree[node.id]),
                        "itemStyle": {"borderColor": "#178f87", "borderWidth": 4 if node.id == chosen else 0},
                    }
                    for node in nodes
                ],
                "links": [{"source": source, "target": target} for source, target in sorted(links)],
            }
        ],
    }


def plan_graph(tasks: Sequence[Task]) -> dict[str, Any]:
    """A plan from left to right: each task behind those it waits for, in the colour of its state."""
    columns = _columns(tasks)
    high = max((len(column) for column in columns), default=1)
    places = {
        id: (column, (row + 0.5) * high / len(ids)) for column, ids in enumerate(columns) for row, id in enumerate(ids)
    }
    hidden = {"type": "value", "show": False}
    return {
        **_frame(),
        "grid": {"left": 84, "right": 84, "top": 6, "bottom": 6},
        "xAxis": {**hidden, "min": 0, "max": max(1, len(columns) - 1)},
        "yAxis": {**hidden, "min": 0, "max": high, "inverse": True},
        "series": [
            {
                "type": "graph",
                # On axes nothing is scaled: every task is a box of the same size.
                "coordinateSystem": "cartesian2d",
                "lineStyle": {"color": "rgba(128, 136, 144, .75)", "width": 1.5, "curveness": 0.08},
                "label": {"show": True, "color": "#ffffff", "fontSize": 12, "fontWeight": 600},
                "symbol": "roundRect",
                "symbolSize": [136, 34],
                "data": [
                    {
                        "id": task.id,
                        "name": _short(task.id, 18),
                        "value": list(places[task.id]),
                        "itemStyle": {"color": STATES[task.status]},
                    }
                    for task in tasks
                ],
                "links": [{"source": other, "target": task.id} for task in tasks for other in task.dependencies],
            }
        ],
    }


def plan_height(tasks: Sequence[Task]) -> int:
    """How high a plan is drawn, in pixels."""
    return 24 + 58 * max((len(column) for column in _columns(tasks)), default=1)


def depth(tasks: Sequence[Task]) -> int:
    """How many tasks of a plan must come one after the other."""
    return len(_columns(tasks))


def _columns(tasks: Sequence[Task]) -> list[list[str]]:
    """The tasks by how many others they wait for in a row."""
    depths: dict[str, int] = {}
    needs = {task.id: task.dependencies for task in tasks}
    for id in TopologicalSorter(needs).static_order():
        depths[id] = 1 + max((depths[other] for other in needs[id]), default=-1)
    return [[id for id in needs if depths[id] == depth] for depth in range(max(depths.values(), default=-1) + 1)]


def _frame() -> dict[str, Any]:
    # Rich text is drawn on the canvas: nothing in it can be a tag.
    return {
        "animation": False,
        "textStyle": {"fontFamily": "system-ui, sans-serif", "color": _WORDS},
        "tooltip": {"renderMode": "richText", "formatter": "{b}"},
    }


def _short(text: str, most: int = _LABEL) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
