"""The plan: tasks that stand on each other."""

from __future__ import annotations

from collections import Counter
from graphlib import CycleError, TopologicalSorter

import msgspec

from foveate.errors import ConfigError
from foveate.work.models import Task, TaskStatus


class TaskDAG(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Tasks and their dependencies, without a cycle; immutable."""

    tasks: tuple[Task, ...] = ()
    original_issue: str = ""

    def __post_init__(self) -> None:
        again = [id for id, count in Counter(task.id for task in self.tasks).items() if count > 1]
        if again:
            raise ConfigError(f"`tasks` has {again[0]!r} more than once; give each task an id of its own")
        known = {task.id for task in self.tasks}
        for task in self.tasks:
            for dependency in task.dependencies:
                if dependency not in known:
                    raise ConfigError(
                        f"task {task.id!r} depends on {dependency!r}, which the plan does not have; "
                        f"known are {', '.join(sorted(known))}"
                    )
        try:
            TopologicalSorter({task.id: task.dependencies for task in self.tasks}).prepare()
        except CycleError as error:
            raise ConfigError(f"tasks wait for each other in a circle: {' → '.join(error.args[1][::-1])}") from None

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
