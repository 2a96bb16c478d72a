"""The plan: tasks that stand on each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import msgspec

from foveate.errors import ConfigError
from foveate.work.models import Task, TaskStatus


class TaskDAG(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Tasks and their dependencies, without a cycle; immutable."""

    tasks: tuple[Task, ...] = ()
    original_issue: str = ""

    def __post_init__(self) -> None:
        mistakes = graph_mistakes([(task.id, task.dependencies) for task in self.tasks])
        if mistakes:
            raise ConfigError("\n".join(mistakes))

    def get_task(self, task_id: str) -> Task | None:
        """The task with an id."""
        return next((task for task in self.tasks if task.id == task_id), None)

    def ready_tasks(self) -> tuple[Task, ...]:
        """The pending tasks whose dependencies are all completed, in the order of the plan."""
        done = {task.id for task in self.tasks if task.status == "completed"}
        return tuple(task for task in self.tasks if task.status == "pending" and done.issuperset(task.dependencies))

    def with_status(self, task_id: str, status: TaskStatus) -> TaskDAG:
        """The plan with one task moved on."""
        if self.get_task(task_id) is None:
            raise ConfigError(f"the plan has no task {task_id!r}; it has {', '.join(task.id for task in self.tasks)}")
        moved = (msgspec.structs.replace(task, status=status) if task.id == task_id else task for task in self.tasks)
        return msgspec.structs.replace(self, tasks=tuple(moved))


def graph_mistakes(tasks: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """All that is wrong with tasks, each with those that it depends on: ids, names of others, circles."""
    known = {id for id, _ in tasks}
    mistakes = [
        f"`tasks` has {id!r} more than once; give each task an id of its own"
        for id, count in Counter(id for id, _ in tasks).items()
        if count > 1
    ]
    mistakes += [
        f"task {id!r} depends on {other!r}, which the plan does not have; known are {', '.join(sorted(known))}"
        for id, others in tasks
        for other in others
        if other not in known
    ]
    try:
        TopologicalSorter(dict(tasks)).prepare()
    except CycleError as error:
        mistakes.append(f"tasks wait for each other in a circle: {' → '.join(error.args[1][::-1])}")
    return mistakes


def revised_plan(current: TaskDAG, edited: TaskDAG) -> TaskDAG:
    """A plan that somebody edited, with the state of what was begun; all that cannot be changed any more is named."""
    mistakes: list[str] = []
    for task in current.tasks:
        if task.status == "pending":
            continue
        found = edited.get_task(task.id)
        if found is None:
            mistakes.append(f"task {task.id!r} is {task.status} and cannot be left out")
        elif msgspec.structs.replace(found, status=task.status) != task:
            mistakes.append(f"task {task.id!r} is {task.status} and cannot be changed")
    for task in edited.tasks:
        known = current.get_task(task.id)
        if task.status not in ("pending", known.status if known is not None else "pending"):
            mistakes.append(f"task {task.id!r} has `status` {task.status!r}, which only the run decides; leave it out")
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    begun = {task.id: task.status for task in current.tasks}
    kept = (msgspec.structs.replace(task, status=begun.get(task.id, "pending")) for task in edited.tasks)
    return msgspec.structs.replace(edited, tasks=tuple(kept))
