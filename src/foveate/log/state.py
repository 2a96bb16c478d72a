"""What an agent is doing right now, with the context it does it in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foveate.log.context import AgentContext
from foveate.log.events import RecallRecorded
from foveate.log.sections import ContextSection


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentState:
    """The context plus the work at hand; the one argument of every compiler.

    `now` is the caller's clock: a compiler has none of its own. `recalled` are passages looked up for this call that
    the log does not have yet.
    """

    context: AgentContext
    sections: tuple[ContextSection, ...] = ()
    now: float | None = None
    recalled: tuple[RecallRecorded, ...] = ()
    issue: Any = None
    design: Any = None
    plan: Any = None
    current_task_id: str | None = None
    code_changes: str | None = None
