"""The architect: from an issue to a plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from foveate.agents.agent import Agent
from foveate.agents.strategy import ContextStrategy, below_headings, listed
from foveate.errors import ConfigError
from foveate.log.quoting import flatten_text
from foveate.log.sections import ContextSection
from foveate.log.state import AgentState
from foveate.work.models import Design
from foveate.work.plan import TaskDAG

_DESIGN: Final = {
    "goal": "Goal",
    "architecture": "Architecture",
    "tech_stack": "Tech Stack",
    "components": "Components",
    "data_flow": "Data Flow",
    "error_handling": "Error Handling",
    "testing_strategy": "Testing Strategy",
    "conventions": "Conventions",
    "relevant_files": "Relevant Files",
}


class ArchitectContextStrategy(ContextStrategy):
    """The issue, and the design if there is one."""

    SYSTEM_PROMPT = (
        "You are a software architect. You turn an issue into a plan of small tasks that other developers carry out "
        "one by one, each seeing nothing but its own task. So every task says all that its developer needs: what to "
        "do, which files, the steps with exact code or commands where they matter, and acceptance criteria that can "
        "be checked. Tasks name the tasks they depend on. Look at the code before you plan; do not change it."
    )
    ALLOWED_SECTIONS = frozenset({"Issue", "Design", "Computed Context"})

    def sections(self, state: AgentState) -> Iterator[ContextSection]:
        """The issue is required."""
        summary = self.get_issue_summary(state)
        if summary is None:
            raise ConfigError("a plan needs an issue; set `issue` of the state, with a title or a description")
        yield ContextSection(name="Issue", content=summary, source="state.issue", tier="stable")
        if state.design is not None:
            yield ContextSection(name="Design", content=_rendered(state.design), source="state.design", tier="stable")


class Architect(Agent[TaskDAG]):
    """Makes the plan."""

    context_strategy = ArchitectContextStrategy
    name = "architect"
    result = TaskDAG

    def problem(self, result: TaskDAG) -> str | None:
        """A plan needs tasks."""
        return None if result.tasks else "the plan has no tasks"


def _rendered(design: Design) -> str:
    """The design with a heading for each field that says something."""
    blocks = [f"**{flatten_text(design.title)}**"] if design.title.strip() else []
    for field, heading in _DESIGN.items():
        value: str | tuple[str, ...] = getattr(design, field)
        text = value if isinstance(value, str) else listed(value)
        if text.strip():
            blocks.append(f"### {heading}\n{below_headings(text)}")
    return "\n\n".join(blocks)
