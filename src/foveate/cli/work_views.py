"""What agents of a run would see, and how far it is."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import typer

from foveate.agents import Agent, Driver, Means, Reply, Schema
from foveate.agents.driver import OnText
from foveate.cli.knowledge import known_if_any
from foveate.cli.output import print_table, print_text
from foveate.cli.phrases import shown
from foveate.cli.work_run import DescribedRun
from foveate.knowledge.debugging import debug_printer
from foveate.knowledge.project import project_of
from foveate.lab.config import config_at
from foveate.log.state import AgentState
from foveate.session import Session
from foveate.store import SessionInfo
from foveate.wire.format import Request
from foveate.work.models import Task
from foveate.work.plan import TaskDAG
from foveate.workflow.learning import Learning
from foveate.workflow.progress import Begun, Progress
from foveate.workflow.roles import agent_named
from foveate.workflow.workspace import Workspace

_NO_DIFF = "(the diff of the task, once there is one)"


def print_views(begun: Begun, plan: TaskDAG | None, store: str | None = None, system: str | None = None) -> None:
    """Print every agent's first request; no model is asked and nothing is written."""
    project = project_of(Path(begun.repo), begun.project or None)
    with known_if_any(store, system, project) as knowledge:
        domains = config_at(start=Path(begun.repo)).domains
        learning = (
            Learning(knowledge=knowledge, run="", domains=domains, on_debug=debug_printer(os.environ))
            if knowledge is not None
            else None
        )
        _print_views(begun, plan, learning)


def print_progress(run: DescribedRun) -> None:
    """Print the tasks of a run and the sessions of its agents."""
    progress, begun = run.progress, run.progress.begun
    title = begun.issue.title if begun is not None else ""
    spent = f" · ${progress.spent:.4f}" if progress.spent else ""
    typer.echo(f"{shown(run.name)}: {shown(title)} · {run.status}{spent}")
    tasks = progress.plan.tasks if progress.plan is not None else ()
    if tasks:
        rows = [
            [shown(task.id), _standing(progress, task), str(_rounds(progress, task.id)), shown(task.description)]
            for task in tasks
        ]
        print_table({"task": "name", "status": "name", "rounds": "number", "what": "words"}, rows)
    for task_id, doing in run.doing.items():
        print_text(f"{task_id}: {doing}")
    for task in tasks:
        if task.status == "failed":
            print_text(f"{task.id}: {progress.reason(task.id)}")
        for command in progress.denied(task.id):
            print_text(f"{task.id}: denied, so not run: {shown(command)}")
    if run.sessions:
        _print_sessions(run.sessions)


def _print_sessions(sessions: Sequence[SessionInfo]) -> None:
    typer.echo("")
    rows = [
        [shown(info.session_id), str(info.calls), f"{info.tokens:,}"]
        for info in sorted(sessions, key=lambda info: info.created_at)
    ]
    print_table({"session": "name", "calls": "number", "tokens": "number"}, rows)
    asked = next((info for info in sessions if info.calls), None)
    if asked is not None:
        typer.echo(f"look at a call with `foveate explain {shlex.quote(shown(asked.session_id))} --call 1`")


def as_data(run: DescribedRun) -> dict[str, Any]:
    """The same for machines."""
    progress = run.progress
    tasks = progress.plan.tasks if progress.plan is not None else ()
    return {
        "run": run.name,
        "status": run.status,
        "cost_usd": round(progress.spent, 6),
        "doing": dict(run.doing),
        "tasks": [
            {
                **msgspec.to_builtins(task),
                "status": task.status,
                "rounds": _rounds(progress, task.id),
                "reason": progress.reason(task.id),
                "denied_commands": list(progress.denied(task.id)),
            }
            for task in tasks
        ],
        "sessions": [
            {"session": info.session_id, "calls": info.calls, "tokens": info.tokens, "tags": info.tags}
            for info in run.sessions
        ],
    }


def _standing(progress: Progress, task: Task) -> str:
    denied = task.status == "completed" and progress.denied(task.id)
    return f"{task.status}, commands denied" if denied else task.status


def _print_views(begun: Begun, plan: TaskDAG | None, learning: Learning | None) -> None:
    without = [Path(path) for path in begun.hidden]
    means = Means(driver=_Nobody())
    reading = (Workspace(Path(begun.repo), writable=False, without=without),)
    writing = (Workspace(Path(begun.repo), without=without),)
    state = AgentState(issue=begun.issue, design=begun.design, plan=plan)
    taught = replace(state, sections=(learning.for_issue(begun.issue),)) if learning is not None else state
    _print_view(agent_named(begun.architect, "architect")(means, reading), taught, begun.budget, "")
    if plan is None:
        typer.echo("\ndeveloper and reviewer see tasks of a plan; give one with `--plan` to see theirs")
        return
    for task in plan.tasks:
        at = replace(state, current_task_id=task.id, code_changes=_NO_DIFF)
        # What the tasks before it will hand over, nobody knows yet.
        alone = msgspec.structs.replace(task, dependencies=())
        taught = replace(at, sections=(learning.for_task(alone),)) if learning is not None else at
        _print_view(agent_named(begun.developer, "developer")(means, writing), taught, begun.budget, task.id)
        for persona in begun.personas:
            reviewer = agent_named(begun.reviewer, "reviewer")(means, reading, persona=persona)
            _print_view(reviewer, at, begun.budget, task.id)


def _print_view(agent: Agent[Any], state: AgentState, budget: int, about: str) -> None:
    session = Session(budget=budget)
    agent.frame(session)
    view = session.preview(**agent.seen(state))
    tools = ", ".join(one["function"]["name"] for one in session.context.tools)
    typer.echo(f"\n=== {agent.label}{f', {shown(about)}' if about else ''} · {view.tokens:,} tokens · tools: {tools}")
    print_text(view.to("text"))


def _rounds(progress: Progress, task_id: str) -> int:
    attempt = progress.attempt_at(task_id)
    return attempt.round if attempt is not None else 0


class _Nobody:
    """Nobody is asked when views are only printed."""

    name = "none"

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: OnText | None = None) -> Reply:
        raise AssertionError("a view is printed without asking a model")


_: type[Driver] = _Nobody
