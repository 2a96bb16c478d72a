"""The journal: the tasks of a project, what came of them, and what stands in their way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Row, delete, insert, select, update

from foveate.knowledge.models import Blocker, Handoff, JournalTask
from foveate.knowledge.project import Change
from foveate.store.schema import journal_blockers as blockers
from foveate.store.schema import journal_tasks as tasks

_DONE: Final = ("completed", "skipped")
_texts: Final = msgspec.json.Decoder(tuple[str, ...])
_handoff: Final = msgspec.json.Decoder(Handoff)


def task(connection: Connection, project: int, task_id: str) -> JournalTask | None:
    """The task with an id, or None."""
    row = connection.execute(select(tasks).where(tasks.c.project == project, tasks.c.task == task_id)).first()
    return None if row is None else _task(row)


def every_task(connection: Connection, project: int) -> list[JournalTask]:
    """All tasks, in the order they came."""
    rows = connection.execute(select(tasks).where(tasks.c.project == project).order_by(tasks.c.number))
    return [_task(row) for row in rows]


def put(change: Change, given: JournalTask) -> None:
    """Add a task, or put it in the place of the one that has its id; nothing stands in the way of one that is done."""
    values = {
        "name": given.name,
        "status": given.status,
        "summary": given.summary,
        "dependencies": _json(given.dependencies),
        "tags": _json(given.tags),
        "handoff": None if given.handoff is None else _json(given.handoff),
    }
    mine = (tasks.c.project == change.key) & (tasks.c.task == given.id)
    if not change.connection.execute(update(tasks).where(mine).values(values)).rowcount:
        row = change.row(number=change.number("journal"), task=given.id, **values)
        change.connection.execute(insert(tasks), row)
    if given.status in _DONE:
        block(change, given.id, ())


def block(change: Change, task_id: str, given: Sequence[Blocker]) -> None:
    """Say what stands in the way of a task now; what did before no longer does."""
    change.connection.execute(delete(blockers).where(blockers.c.project == change.key, blockers.c.task == task_id))
    rows = [
        change.row(
            task=task_id,
            place=place,
            blocker=one.blocker,
            impact=one.impact,
            suggested_resolution=one.suggested_resolution,
            blocking_tasks=_json(one.blocking_tasks),
        )
        for place, one in enumerate(given)
    ]
    if rows:
        change.connection.execute(insert(blockers), rows)


def blocked(connection: Connection, project: int) -> list[tuple[str, Blocker]]:
    """What stands in the way of which task, in the order of the tasks."""
    rows = connection.execute(
        select(blockers)
        .join(tasks, (tasks.c.project == blockers.c.project) & (tasks.c.task == blockers.c.task))
        .where(blockers.c.project == project)
        .order_by(tasks.c.number, blockers.c.place)
    )
    return [(row.task, _blocker(row)) for row in rows]


def _task(row: Row[Any]) -> JournalTask:
    return JournalTask(
        id=row.task,
        name=row.name,
        status=row.status,
        summary=row.summary,
        dependencies=_texts.decode(row.dependencies),
        tags=_texts.decode(row.tags),
        handoff=None if row.handoff is None else _handoff.decode(row.handoff),
    )


def _blocker(row: Row[Any]) -> Blocker:
    return Blocker(
        blocker=row.blocker,
        impact=row.impact,
        suggested_resolution=row.suggested_resolution,
        blocking_tasks=_texts.decode(row.blocking_tasks),
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
