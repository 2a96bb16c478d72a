"""The reviewer: a change, judged by its diff."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

import msgspec

from foveate.agents.agent import Agent
from foveate.agents.strategy import ContextStrategy, below_headings, fenced, listed
from foveate.errors import ConfigError
from foveate.log.sections import ContextSection
from foveate.log.state import AgentState
from foveate.work.models import Severity

GENERAL: Final = "General"
_DENIED: Final = (
    "The user did not let these commands run, so nobody knows what they would have shown. A criterion that only they "
    "could prove is not met. If you approve, say in a comment what remains unverified."
)
PERSONAS: Final = {
    GENERAL: "You look at everything: whether it does what was asked, is correct, tested, and simple.",
    "Security": "You look at what an attacker could do: input that is trusted, secrets, permissions, injection.",
    "Performance": "You look at what it costs: time, memory, needless work, behaviour with much data.",
    "Usability": "You look at it as its user: names, messages, defaults, what happens on a mistake.",
}


class ReviewerContextStrategy(ContextStrategy):
    """The task, or the issue if there is none, its acceptance criteria, and the diff; never the developer's words."""

    SYSTEM_PROMPT_TEMPLATE: ClassVar[str] = (
        "You are a code reviewer ({persona}). {focus} Judge the diff against the task and its acceptance criteria "
        "alone. Approve only if every criterion is met. Each comment names the place, what is wrong, and what would "
        "be right. Severity is how bad it would be to keep the change as it is."
    )
    ALLOWED_SECTIONS = frozenset({"Task", "Issue", "Criteria", "Denied Commands", "Diff", "Computed Context"})

    def __init__(self, persona: str = GENERAL) -> None:
        if not persona.strip():
            raise ConfigError(f"`persona` needs a name, such as {', '.join(PERSONAS)}; got {persona!r}")
        self.persona = persona.strip()

    @property
    def system_prompt(self) -> str:
        """The same for every call of a persona."""
        focus = PERSONAS.get(self.persona, f"You look at it with the eyes of {self.persona}.")
        # Not format(): a persona may have braces in its name.
        return self.SYSTEM_PROMPT_TEMPLATE.replace("{persona}", self.persona).replace("{focus}", focus)

    def sections(self, state: AgentState) -> Iterator[ContextSection]:
        """A diff is required, and a task or an issue to judge it by."""
        if not (state.code_changes or "").strip():
            raise ConfigError("a review needs a diff; set `code_changes` of the state")
        task, issue = self.get_current_task(state), self.get_issue_summary(state)
        if task is not None:
            yield ContextSection(
                name="Task", content=below_headings(task.description), source=f"task:{task.id}", tier="stable"
            )
            criteria = listed(task.acceptance_criteria)
            yield ContextSection(name="Criteria", content=criteria, source=f"task:{task.id}:criteria", tier="stable")
        elif issue is not None:
            yield ContextSection(name="Issue", content=issue, source="state.issue", tier="stable")
        else:
            raise ConfigError("a review needs a task or an issue; set `plan` and `current_task_id`, or `issue`")
        if state.denied_commands:
            commands = "\n".join(fenced(one, "sh") for one in state.denied_commands)
            yield ContextSection(
                name="Denied Commands", content=f"{_DENIED}\n{commands}", source="state.denied_commands", tier="stable"
            )
        diff = fenced(state.code_changes or "", "diff")
        yield ContextSection(name="Diff", content=diff, source="state.code_changes", tier="stable")


def known_persona(name: str) -> str:
    """A persona by its name, however it is written; one that we do not know as it is."""
    plain = " ".join(name.split())
    return next((known for known in PERSONAS if known.casefold() == plain.casefold()), plain)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a reviewer thinks."""

    approved: bool
    comments: tuple[str, ...] = ()
    severity: Severity = "low"


class Reviewer(Agent[Verdict]):
    """Judges a change as one persona."""

    context_strategy = ReviewerContextStrategy
    name = "reviewer"
    result = Verdict

    def make_strategy(self) -> ContextStrategy:
        """The strategy with the persona that looks."""
        return self.context_strategy(self.persona or GENERAL)
