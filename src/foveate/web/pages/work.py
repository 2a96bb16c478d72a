"""Work: issues that agents carried out, the plan of each as a graph, and what every agent saw."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments

from foveate.errors import UnknownReferenceError
from foveate.store import SessionInfo, Store
from foveate.web.desk import Desk
from foveate.web.frame import framed, headed, loaded
from foveate.web.graphs import STATES, depth, plan_graph, plan_height
from foveate.web.links import to_call, to_log, to_session
from foveate.web.phrases import counted, tokens
from foveate.web.pieces import Words, box, button, chip, empty, facts, link, notice, say
from foveate.work.models import Task
from foveate.workflow.activity import describe_activity
from foveate.workflow.lock import is_held
from foveate.workflow.progress import Progress
from foveate.workflow.setting import lock_of

_DIFF: Final = 40_000
_KINDS: Final = {"completed": "good", "failed": "bad", "stopped": "warn", "planned": "warn", "running": "on"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A run with how far it has come, and the sessions of its agents."""

    name: str
    status: str
    progress: Progress
    sessions: tuple[SessionInfo, ...]
    doing: Mapping[str, str]

    @property
    def tasks(self) -> Sequence[Task]:
        return self.progress.plan.tasks if self.progress.plan is not None else ()

    @property
    def title(self) -> str:
        return self.progress.begun.issue.title if self.progress.begun is not None else self.name


def work_page(desk: Desk, run: str) -> None:
    """Build the page: all runs, or one."""

    async def fetch() -> list[_Run]:
        store = await desk.open()
        return await asyncio.to_thread(_runs, store, run)

    with framed("Work"):
        if run:
            loaded(fetch, lambda runs: _show_run(runs[0]), "Reading the run", back=lambda: [("All runs", "/work")])
            return
        headed("Work", "Issues that agents planned, carried out and reviewed, each seeing only its own view.")
        loaded(fetch, _show_runs, "Looking for runs")


def _runs(store: Store, wanted: str) -> list[_Run]:
    infos = store.sessions()
    named = [info for info in infos if info.tags.get("work") == "run" and wanted in ("", info.session_id)]
    if wanted and not named:
        raise UnknownReferenceError(f"there is no run {wanted!r}; the page Work lists those there are")
    runs = []
    for info in named:
        progress = Progress.of(store.reader(info).events())
        if progress.begun is None:
            continue
        is_open = progress.status == "running"
        left = "planned" if progress.is_planned_only else "stopped"
        status = progress.status if not is_open else "running" if is_held(lock_of(store, info.session_id)) else left
        sessions = sorted(
            (one for one in infos if one.tags.get("run") == info.session_id), key=lambda one: one.created_at
        )
        doing = describe_activity(store, info.session_id, progress)
        runs.append(_Run(name=info.session_id, status=status, progress=progress, sessions=tuple(sessions), doing=doing))
    return runs


def _show_runs(runs: Sequence[_Run]) -> None:
    if not runs:
        empty(
            "No runs yet",
            "Write down what is to be done, and have agents plan it, carry it out and review it:",
            command="foveate work run ISSUE.md --repo . --model anthropic:claude-sonnet-4-5",
        )
        return
    with box("stack"):
        for run in runs:
            done = sum(task.status == "completed" for task in run.tasks)
            with box("card padded"):
                with box("row"):
                    link(run.title or run.name, f"/work?{urlencode({'run': run.name})}").style(
                        "font-weight: 620; font-size: 16px"
                    )
                    chip(run.status, _KINDS.get(run.status, ""))
                    box("grow")
                    say(
                        f"{done:,} of {counted(len(run.tasks), 'task')}, {counted(len(run.sessions), 'agent')}",
                        "soft small",
                    )
                say(run.name, "soft small")
                for task, what in run.doing.items():
                    say(f"{task}: {what}", "soft small")


def _show_run(run: _Run) -> None:
    begun = run.progress.begun
    lede = begun.issue.description[:300] if begun is not None else ""
    with headed(run.title or run.name, lede, [("Work", "/work")]), box("row"):
        chip(run.status, _KINDS.get(run.status, ""))
        link("Log of the run", to_log(run.name), "button")
    with box("stack"):
        if not run.tasks:
            empty("No plan yet", "The architect has not handed one over.")
            _agents("What the agents saw", run.sessions)
            return
        _Plan(run).show()


@dataclass
class _Plan:
    """A plan, and the task of it that is open."""

    run: _Run

    def show(self) -> None:
        tasks = self.run.tasks
        with box("card scroll"):
            with box("title"):
                Words("h2", f"The plan: {counted(len(tasks), 'task')}")
                with box("legend"):
                    for state, shade in STATES.items():
                        Words("span", state.replace("_", " ")).style(f"--fate: {shade}")
            chart = ui.echart(plan_graph(tasks), on_point_click=self._clicked).classes("chart")
            chart.style(f"height: {plan_height(tasks)}px; min-width: {170 * depth(tasks)}px")
        with box("split").style("grid-template-columns: minmax(0, 1fr) minmax(0, 1fr)"):
            with box("card"):
                self._list(tasks)
            self.detail = box()
        with self.detail:
            _agents("What the agents saw", self.run.sessions)

    def _list(self, tasks: Sequence[Task]) -> None:
        with box("scroll"), box("list", "table"):
            with box(tag="thead"), box(tag="tr"):
                for name, kind in (("Task", ""), ("State", ""), ("Rounds", "number")):
                    Words("th", name, kind)
            with box(tag="tbody"):
                for task in tasks:
                    self._row(task)

    def _row(self, task: Task) -> None:
        attempt = self.run.progress.attempt_at(task.id)
        with box(tag="tr"):
            with box("name", "td"):
                button(task.id, partial(self._open, task.id), "quiet").style("padding: 0; min-height: 0")
                say(task.description, "small soft")
                if what := self.run.doing.get(task.id):
                    say(what, "small soft")
                if task.status == "completed" and self.run.progress.denied(task.id):
                    chip("commands denied", "warn")
            with box(tag="td"):
                chip(task.status.replace("_", " "), "dot").style(f"--fate: {STATES[task.status]}")
            Words("td", str(attempt.round) if attempt is not None else "–", "number")

    def _clicked(self, event: EChartPointClickEventArguments) -> None:
        data: Any = event.data
        if event.data_type == "node" and isinstance(data, dict):
            self._open(str(data.get("id", "")))

    def _open(self, task_id: str) -> None:
        task = self.run.progress.plan.get_task(task_id) if self.run.progress.plan is not None else None
        if task is None:
            return
        attempt = self.run.progress.attempt_at(task_id)
        reason = self.run.progress.reason(task_id)
        self.detail.clear()
        with self.detail, box("card padded stack").style("margin: 0; gap: 12px"):
            with box("row"):
                Words("h2", task.id)
                chip(task.status.replace("_", " "), "dot").style(f"--fate: {STATES[task.status]}")
            say(task.description)
            facts(_facts(task))
            if reason and task.status == "failed":
                notice(reason, "bad", strong="It failed.")
            if denied := self.run.progress.denied(task_id):
                notice("; ".join(denied), "warn", strong="Denied, so not run.")
            if attempt is not None and attempt.review is not None:
                verdict = "approved" if attempt.review.approved else "sent back"
                facts(
                    [
                        ("Review", f"{verdict} by {attempt.review.persona}"),
                        *(("", one) for one in attempt.review.comments),
                    ]
                )
            if attempt is not None and attempt.diff:
                Words("pre", attempt.diff[:_DIFF], "text").style("max-height: 300px; overflow: auto").props[
                    "tabindex"
                ] = "0"
        with self.detail:
            _agents("What its agents saw", [one for one in self.run.sessions if one.tags.get("task") == task_id])


def _facts(task: Task) -> list[tuple[str, str]]:
    named = (
        ("Waits for", ", ".join(task.dependencies)),
        ("Files", ", ".join(f"{one.operation} {one.path}" for one in task.files)),
        ("Done when", "; ".join(task.acceptance_criteria)),
    )
    return [(name, value) for name, value in named if value]


def _agents(title: str, sessions: Sequence[SessionInfo]) -> None:
    with box("card padded").style("margin-top: 20px" if title != "What the agents saw" else ""):
        Words("h2", title)
        if not sessions:
            say("No agent was asked yet.", "soft small")
        for info in sessions:
            with box("row").style("margin-top: 8px"):
                link(info.tags.get("agent", info.session_id), to_session(info.session_id)).style("font-weight: 550")
                say(info.tags.get("task", ""), "soft small")
                box("grow")
                say(f"{counted(info.calls, 'call')}, {tokens(info.tokens)} tokens said", "soft small")
                if info.calls:
                    link("first view", to_call(info.session_id, 1), "small")
