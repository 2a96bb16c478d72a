"""Lab: recorded sessions under several policies, side by side; no model is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element

from foveate.errors import FoveateError
from foveate.inspect.sessions import list_sessions
from foveate.lab.config import config_at
from foveate.lab.page import page
from foveate.lab.policies import described
from foveate.lab.replay import DEFAULT_POLICIES
from foveate.lab.result import PolicyInfo, Result, as_dict
from foveate.lab.table import table as rows_of
from foveate.store import SessionInfo, Store
from foveate.web.desk import Desk
from foveate.web.frame import failed, framed, headed, loaded
from foveate.web.phrases import counted, tokens
from foveate.web.pieces import Words, box, button, checks, choice, empty, entry, notice, progress, say, table
from foveate.web.plots import costs_chart, inputs_chart, references_chart
from foveate.web.replaying import compared
from foveate.web.worker import StoppedError, Worker

_LISTED: Final = 200
_ONE: Final = "There was one call only, and the table above says all of it."


def lab_page(desk: Desk, session: str) -> None:
    """Build the page."""

    async def fetch() -> list[SessionInfo]:
        store = await desk.open()
        found = await asyncio.to_thread(partial(list_sessions, store, limit=_LISTED, read_costs=_without_costs))
        return [one.info for one in found.sessions]

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

    def show(self, sessions: Sequence[SessionInfo]) -> None:
        if not sessions:
            empty("No sessions to replay", "Import a log on the page Sessions first.")
            return
        known = [one.session_id for one in sessions]
        # Of what there is, the longest has most to compare.
        longest = max(sessions, key=lambda one: one.calls).session_id
        self.sessions = {self.session if self.session in known else longest}
        infos = described(config_at())
        with box("stack"):
            with box("card padded stack").style("margin: 0"):
                self._choices(sessions, infos)
            self.outcome = box("stack").style("margin: 0")

    def _choices(self, sessions: Sequence[SessionInfo], infos: Sequence[PolicyInfo]) -> None:
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
            entry(
                "Budget, tokens", self.budget, lambda value: setattr(self, "budget", value), width="130px", number=True
            )
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
                notice(
                    f"The budget {self.budget!r} is no number of tokens; leave it empty for the model's window.", "warn"
                )
            return
        with self.outcome:
            place = box("card padded")
        budget = int(self.budget) if self.budget.strip() else None
        arguments = (sorted(self.sessions), self.policies, budget or None, self.model.strip() or None)
        self.worker = Worker(compared, self.desk.location, *arguments)
        # Who has left does not wait for it.
        ui.context.client.on_delete(self.worker.stop)
        with place:
            shown = box()
            button("Stop", self.worker.stop).style("margin-top: 10px")
            watch = ui.timer(0.3, lambda: self._tell(shown))
        await self._finish(watch)

    async def _finish(self, watch: ui.timer) -> None:
        assert self.worker is not None, "it was begun just now"  # noqa: S101
        try:
            result = await self.worker.result()
        except StoppedError:
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
            Words("h2", f"{counted(len(result.sessions), 'session')}, {counted(result.calls, 'call')}")
            limit = (
                f"at most {tokens(result.budget)} tokens" if result.budget is not None else "up to the model's window"
            )
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
            _drawn(costs_chart(result)) if result.calls > 1 else say(_ONE, "soft small")
        with box("card padded"):
            Words("h3", "What the recorded actions took from the history")
            say("Kept in the window, out of it but named so that it can be recalled, or lost.", "soft small")
            if any(one.references for one in result.totals.values()):
                _drawn(references_chart(result), 60 + 34 * len(result.policies))
            else:
                say("No recorded action took anything from the history.", "soft small")
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
            names, session = [one.name for one in self.result.policies], self.result.sessions[int(place)]
            is_long = any(len(lane.series.tokens) > 1 for lane in session.lanes.values())
            _drawn(inputs_chart(session, names)) if is_long else say(_ONE, "soft small")

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


def _without_costs(_store: Store, _infos: Sequence[SessionInfo]) -> dict[int, float | None]:
    """Sessions are chosen here by their names; nothing must be read of their calls."""
    return {}


def _drawn(options: dict[str, Any], height: int = 280) -> None:
    ui.echart(options).classes("chart").style(f"height: {height}px")
