"""Lab: recorded sessions under several policies, side by side; no model is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element

from foveate.api.sessions import list_sessions
from foveate.api.shapes import SessionShape
from foveate.errors import FoveateError
from foveate.lab.config import config_at
from foveate.lab.page import page
from foveate.lab.policies import described
from foveate.lab.replay import DEFAULT_POLICIES
from foveate.lab.result import PolicyInfo, Result, SessionResult, as_dict
from foveate.lab.table import table as rows_of
from foveate.web.desk import Desk
from foveate.web.frame import failed, framed, headed, loaded
from foveate.web.phrases import tokens
from foveate.web.pieces import Words, box, button, checks, choice, empty, entry, notice, progress, say, table
from foveate.web.replaying import compared
from foveate.web.worker import Stopped, Worker

_LISTED: Final = 200
_POINTS: Final = 400
_SHADES: Final = ("#178f87", "#d55e00", "#2f7fd0", "#cc79a7", "#e0a300", "#7565d2", "#56b4e9", "#a5627f")
_WORDS: Final = "#7d868e"
_RULE: Final = "rgba(128, 136, 144, .22)"


def lab_page(desk: Desk, session: str) -> None:
    """Build the page."""

    async def fetch() -> list[SessionShape]:
        store = await desk.open()
        found = await asyncio.to_thread(list_sessions, store, limit=_LISTED)
        return found.sessions

    with framed("Lab"):
        headed(
            "Lab",
            "Every recorded model call is made again under every policy: tokens, cache hits, cost, and what each would "
            "have lost. No model is asked, and nothing leaves this machine.",
        )
        loaded(fetch, lambda sessions: _Lab(desk, session).show(sessions), "Looking for sessions")


@dataclass
class _Lab:
    """What is to be compared, and the comparison that is under way."""

    desk: Desk
    session: str
    sessions: set[str] = field(default_factory=set)
    policies: list[str] = field(default_factory=lambda: list(DEFAULT_POLICIES))
    budget: str = "32000"
    model: str = ""
    worker: Worker[Result] | None = None

    def show(self, sessions: Sequence[SessionShape]) -> None:
        if not sessions:
            empty("No sessions to replay", "Import a log on the page Sessions first.")
            return
        known = [one.session_id for one in sessions]
        self.sessions = {self.session} if self.session in known else set(known[:1])
        infos = described(config_at())
        with box("stack"):
            with box("card padded stack").style("margin: 0"):
                self._choices(sessions, infos)
            self.outcome = box("stack").style("margin: 0")

    def _choices(self, sessions: Sequence[SessionShape], infos: Sequence[PolicyInfo]) -> None:
        with box():
            Words("h3", "Sessions")
            names = {one.session_id: f"{one.title} · {one.messages:,} messages" for one in sessions}
            with box().style("max-height: 190px; overflow: auto; margin-top: 6px"):
                checks(names, self.sessions, self._chose_session)
        with box():
            Words("h3", "Policies")
            with box().style("margin-top: 6px"):
                checks({one.name: one.description for one in infos}, self.policies, self._chose_policy)
        with box("row").style("align-items: flex-end"):
            entry("Budget, tokens", self.budget, lambda value: setattr(self, "budget", value), width="130px", number=True)
            entry("Model, for prices", self.model, lambda value: setattr(self, "model", value), width="220px")
            self.start = button("Compare", self._run, "main")
            say("Without a model, each session's own prices count; without a budget, its model's window.", "soft small")

    def _chose_session(self, name: str, on: bool) -> None:
        self.sessions = self.sessions | {name} if on else self.sessions - {name}

    def _chose_policy(self, name: str, on: bool) -> None:
        self.policies = [one for one in self.policies if one != name] + ([name] if on else [])

    async def _run(self) -> None:
        if self.worker is not None:
            return
        self.outcome.clear()
        if not self.sessions or not self.policies:
            with self.outcome:
                notice("Choose at least one session and one policy.", "warn")
            return
        if self.budget.strip() and not self.budget.strip().isdigit():
            with self.outcome:
                notice(f"The budget {self.budget!r} is no number of tokens; leave it empty for the model's window.", "warn")
            return
        with self.outcome:
            place = box("card padded")
        budget = int(self.budget) if self.budget.strip() else None
        arguments = (sorted(self.sessions), self.policies, budget or None, self.model.strip() or None)
        self.worker = Worker(compared, self.desk.location, *arguments)
        with place:
            shown = box()
            button("Stop", self.worker.stop).style("margin-top: 10px")
            watch = ui.timer(0.3, lambda: self._tell(shown))
        await self._finish(watch)

    async def _finish(self, watch: ui.timer) -> None:
        assert self.worker is not None, "it was begun just now"  # noqa: S101
        try:
            result = await self.worker.result()
        except Stopped:
            self.outcome.clear()
        except FoveateError as error:
            self.outcome.clear()
            with self.outcome:
                failed(error)
        else:
            self.outcome.clear()
            with self.outcome:
                _Shown(result).show()
        finally:
            watch.cancel()
            self.worker = None

    def _tell(self, place: Element) -> None:
        if self.worker is None:
            return
        place.clear()
        with place:
            progress(self.worker.share, f"{self.worker.text[:1].upper()}{self.worker.text[1:]}")


@dataclass
class _Shown:
    """A comparison, in a table and in plots."""

    result: Result

    def show(self) -> None:
        result = self.result
        for one in result.left_out:
            notice(one.reason, "warn", strong=f"Left out: {one.name}.")
        if not result.sessions:
            empty("Nothing could be compared", "No session had a model call that could be made again.")
            return
        with box("row"):
            Words("h2", f"{len(result.sessions):,} sessions, {result.calls:,} calls")
            limit = f"at most {tokens(result.budget)} tokens" if result.budget is not None else "up to the model's window"
            say(f"{limit}; prices from {result.prices_from}", "soft small")
            box("grow")
            button("Download report", self._report)
            button("Download JSON", self._json, "quiet")
        made = rows_of(result)
        with box("card"):
            table([(name, "" if place == 0 else "number") for place, name in enumerate(made.columns)], made.rows)
        with box("card padded"):
            Words("h3", f"Cost so far, {'in dollars' if result.cost_unit == 'USD' else 'in input tokens'}")
            say("All sessions one after the other.", "soft small")
            _drawn(_costs(result))
        with box("card padded"):
            Words("h3", "What the recorded actions took from the history")
            say("Kept in the window, out of it but named so that it can be recalled, or lost.", "soft small")
            _drawn(_references(result), 60 + 34 * len(result.policies))
        with box("card padded"):
            self._windows()

    def _windows(self) -> None:
        with box("row"):
            Words("h3", "Input tokens of every call")
            box("grow")
            if len(self.result.sessions) > 1:
                names = {str(place): one.name for place, one in enumerate(self.result.sessions)}
                choice("Session", names, "0", self._chosen)
        self.window = box()
        self._chosen("0")

    def _chosen(self, place: str) -> None:
        self.window.clear()
        with self.window:
            _drawn(_inputs(self.result.sessions[int(place)], [one.name for one in self.result.policies]))

    async def _report(self) -> None:
        try:
            html = await asyncio.to_thread(page, self.result)
        except FoveateError as error:
            ui.notify(str(error), position="bottom", multi_line=True)
            return
        ui.download.content(html, "foveate-report.html", "text/html")

    async def _json(self) -> None:
        text = await asyncio.to_thread(lambda: json.dumps(as_dict(self.result), ensure_ascii=False))
        ui.download.content(text, "foveate-replay.json", "application/json")


def _drawn(options: dict[str, Any], height: int = 280) -> None:
    ui.echart(options).classes("chart").style(f"height: {height}px")


def _lines(names: Sequence[str], columns: Sequence[Sequence[tuple[int, float]]], unit: str) -> dict[str, Any]:
    label = "(value) => foveate.money(value)" if unit == "USD" else "(value) => foveate.short(value)"
    return {
        "animation": False,
        "textStyle": {"fontFamily": "system-ui, sans-serif", "color": _WORDS},
        "legend": {"top": 0, "left": 0, "itemWidth": 14, "itemHeight": 3, "icon": "rect", "textStyle": {"color": _WORDS}},
        "grid": {"left": 62, "right": 16, "top": 40, "bottom": 30},
        "xAxis": {"type": "value", "name": "", "min": "dataMin", "max": "dataMax", "splitLine": {"show": False},
                  "axisLabel": {"color": _WORDS}, "axisLine": {"lineStyle": {"color": _RULE}}},
        "yAxis": {"type": "value", "axisLabel": {"color": _WORDS, ":formatter": label}, "splitLine": {"lineStyle": {"color": _RULE}}},
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
    }  # fmt: skip


def _costs(result: Result) -> dict[str, Any]:
    names = [one.name for one in result.policies]
    columns = []
    for name in names:
        costs = accumulate(cost for session in result.sessions for cost in session.lanes[name].series.cost)
        columns.append(_some([(place, round(cost, 6)) for place, cost in enumerate(costs, start=1)]))
    return _lines(names, columns, result.cost_unit)


def _inputs(session: SessionResult, names: Sequence[str]) -> dict[str, Any]:
    columns = [
        _some([(place, float(size)) for place, size in enumerate(session.lanes[name].series.tokens, start=1)])
        for name in names
    ]
    return _lines(names, columns, "tokens")


def _some(points: Sequence[tuple[int, float]]) -> Sequence[tuple[int, float]]:
    """As many points as can be told apart, the last among them."""
    step = max(1, len(points) // _POINTS)
    return [*points[:-1:step], *points[-1:]]


def _references(result: Result) -> dict[str, Any]:
    names = [one.name for one in result.policies][::-1]
    totals = [result.totals[name] for name in names]
    kinds = (("kept", "#35a05c"), ("restorable", "#d9b84a"), ("lost", "#d0483e"))
    return {
        "animation": False,
        "textStyle": {"fontFamily": "system-ui, sans-serif", "color": _WORDS},
        "legend": {"top": 0, "left": 0, "itemWidth": 10, "itemHeight": 10, "textStyle": {"color": _WORDS}},
        "grid": {"left": 110, "right": 24, "top": 32, "bottom": 24},
        "xAxis": {"type": "value", "max": 100, "axisLabel": {"color": _WORDS, "formatter": "{value} %"}, "splitLine": {"lineStyle": {"color": _RULE}}},
        "yAxis": {"type": "category", "data": names, "axisLabel": {"color": _WORDS}, "axisLine": {"lineStyle": {"color": _RULE}}},
        "tooltip": {"trigger": "axis", "renderMode": "richText", "axisPointer": {"type": "shadow"}},
        "series": [
            {
                "name": kind,
                "type": "bar",
                "stack": "references",
                "barWidth": 16,
                "itemStyle": {"color": shade},
                "data": [round(100 * getattr(one, kind) / one.references, 1) if one.references else 0 for one in totals],
            }
            for kind, shade in kinds
        ],
    }  # fmt: skip
