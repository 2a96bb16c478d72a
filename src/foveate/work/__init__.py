"""Work: issue, design, plan and reviews, as plain data that every agent's view is made from."""

from foveate.work.loading import load_design, load_issue, load_plan, read_plan, written_plan
from foveate.work.models import Design, FileOperation, Issue, ReviewResult, Task, TaskOutcome, TaskStep, combined
from foveate.work.plan import TaskDAG

__all__ = [
    "Design",
    "FileOperation",
    "Issue",
    "ReviewResult",
    "Task",
    "TaskDAG",
    "TaskOutcome",
    "TaskStep",
    "combined",
    "load_design",
    "load_issue",
    "load_plan",
    "read_plan",
    "written_plan",
]
