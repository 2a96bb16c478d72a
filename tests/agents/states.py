"""States with a marker in every part, so that a test can tell which parts an agent was shown."""

from __future__ import annotations

from foveate.log.sections import ContextSection
from foveate.log.state import AgentState
from foveate.work import Design, FileOperation, Issue, ReviewResult, Task, TaskDAG, TaskOutcome, TaskStep


def marked_task(id: str, **changes: object) -> Task:
    return Task(
        id=id,
        description=f"{id}-DESCRIPTION",
        files=(FileOperation(operation="modify", path=f"{id}-PATH.py", line_range=(3, 9)),),
        steps=(
            TaskStep(
                description=f"{id}-STEP", code=f"{id}-CODE", command=f"{id}-COMMAND", expected_output=f"{id}-EXPECTED"
            ),
        ),
        acceptance_criteria=(f"{id}-CRITERION",),
        commit_message=f"{id}-COMMIT",
        **changes,
    )


def computed() -> ContextSection:
    """What knowledge has for a task; every agent may be given it."""
    return ContextSection(name="Computed Context", content="CONTEXT-WORDS", source="knowledge", tier="stable")


def marked_state(**changes: object) -> AgentState:
    parts: dict[str, object] = {
        "sections": (computed(),),
        "issue": Issue(id="ISSUE-ID", title="ISSUE-TITLE", description="ISSUE-DESCRIPTION"),
        "design": Design(
            title="DESIGN-TITLE",
            goal="DESIGN-GOAL",
            architecture="DESIGN-ARCHITECTURE",
            tech_stack=("DESIGN-STACK",),
            components=("DESIGN-COMPONENT",),
            data_flow="DESIGN-FLOW",
            error_handling="DESIGN-ERRORS",
            testing_strategy="DESIGN-TESTING",
            conventions="DESIGN-CONVENTIONS",
            relevant_files=("DESIGN-FILE",),
        ),
        "plan": TaskDAG(
            tasks=(
                marked_task("DONE", status="completed"),
                marked_task("NOW", dependencies=("DONE",)),
                marked_task("LATER"),
            ),
            original_issue="PLAN-ISSUE",
        ),
        "current_task_id": "NOW",
        "code_changes": "+DIFF-LINE",
        "review": ReviewResult(persona="REVIEW-PERSONA", approved=False, comments=("REVIEW-COMMENT",), severity="high"),
        "outcomes": (
            TaskOutcome(
                task_id="DONE", summary="OUTCOME-SUMMARY", parts={"diff": "OUTCOME-DIFF", "notes": "OUTCOME-NOTES"}
            ),
        ),
    }
    return AgentState(**{**parts, **changes})  # type: ignore[arg-type]


MARKERS = (
    "ISSUE-ID", "ISSUE-TITLE", "ISSUE-DESCRIPTION", "DESIGN-TITLE", "DESIGN-GOAL", "DESIGN-COMPONENT", "DESIGN-FILE",
    "DESIGN-ARCHITECTURE", "DESIGN-STACK", "DESIGN-FLOW", "DESIGN-ERRORS", "DESIGN-TESTING", "DESIGN-CONVENTIONS",
    "CONTEXT-WORDS",
    *(f"{task}-{part}" for task in ("DONE", "NOW", "LATER")
      for part in ("DESCRIPTION", "PATH", "STEP", "CODE", "COMMAND", "EXPECTED", "CRITERION", "COMMIT")),
    "PLAN-ISSUE", "DIFF-LINE", "REVIEW-PERSONA", "REVIEW-COMMENT", "OUTCOME-SUMMARY", "OUTCOME-DIFF", "OUTCOME-NOTES",
)  # fmt: skip
