"""The contract: what an agent sees is decided by its strategy, and by nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Final, final

from foveate.compile.compiled import CompiledContext
from foveate.compile.compilers import Compiler, PragmaticCompiler
from foveate.errors import ConfigError
from foveate.log.events import FramingSet
from foveate.log.messages import Message, MessageMeta, text_message
from foveate.log.quoting import escape_lines, flatten_text, quote_rest
from foveate.log.sections import ContextSection, contain_section
from foveate.log.state import AgentState
from foveate.wire.formats import decode_any
from foveate.work.models import Task


class ContextStrategy(ABC):
    """Decides what one kind of agent sees: a system prompt that never changes, and sections made from the state.

    A subclass says which sections there are; the compiler puts them around the agent's own history, keeps the budget,
    recalls and explains.
    """

    SYSTEM_PROMPT: ClassVar[str] = ""
    ALLOWED_SECTIONS: ClassVar[frozenset[str]] = frozenset()

    @property
    def system_prompt(self) -> str:
        """The system prompt; the same bytes at every call."""
        return self.SYSTEM_PROMPT

    @abstractmethod
    def sections(self, state: AgentState) -> Iterable[ContextSection]:
        """What the agent is shown of the state, each section with its source."""

    def override(self, state: AgentState) -> Sequence[object] | None:
        """Messages to send as they are instead of everything else, even none; None is the usual way."""
        return None

    @final
    def compile(self, state: AgentState, compiler: Compiler | None = None) -> CompiledContext:
        """What the agent sees now; the session of an agent sends the same. Without a `compiler` nothing is reduced."""
        compiler = compiler or PragmaticCompiler()
        context = state.context
        if context.system != (self.system_prompt or None):
            framing = FramingSet(
                system=self.system_prompt or None,
                tools=context.tools,
                response_format=context.response_format,
                model=context.model,
            )
            context = context.with_events([framing])
        override = self.override(state)
        if override is not None:
            return compiler.compile(
                replace(state, context=context, sections=(), override=tuple(decode_any(list(override))))
            )
        return compiler.compile(replace(state, context=context, sections=self.checked(state)))

    def checked(self, state: AgentState) -> tuple[ContextSection, ...]:
        """The sections for a state, those that came with it last; one that is not allowed is an error."""
        sections = [one for one in (*self.sections(state), *state.sections) if one.content.strip()]
        for section in sections:
            if self.ALLOWED_SECTIONS and section.name not in self.ALLOWED_SECTIONS:
                raise ConfigError(
                    f"{type(self).__name__} may not show the section {section.name!r}; "
                    f"its `ALLOWED_SECTIONS` are {', '.join(sorted(self.ALLOWED_SECTIONS))}"
                )
            if not section.source:
                raise ConfigError(f"the section {section.name!r} of {type(self).__name__} has no `source`; name one")
        return tuple(map(contain_section, sections))

    def to_messages(self, context: CompiledContext) -> list[Message]:
        """The messages of a compiled context, the system prompt first: the same that every format is made from."""
        prompt = context.system_prompt
        first = [text_message("system", "system", prompt, MessageMeta(origin="system"))] if prompt else []
        return [*first, *context.messages]

    def get_current_task(self, state: AgentState) -> Task | None:
        """The task at hand."""
        if state.plan is None or state.current_task_id is None:
            return None
        return state.plan.get_task(state.current_task_id)

    def get_issue_summary(self, state: AgentState) -> str | None:
        """Title and description of the issue, whichever there are."""
        issue = state.issue
        if issue is None:
            return None
        title = flatten_text(issue.title)
        parts = [f"**{title}**" if title else "", below_headings(issue.description)]
        return "\n\n".join(part for part in parts if part) or None


def below_headings(text: str) -> str:
    """A text of others in a section: no line of it can pass for the heading of another section or of a part of one."""
    return escape_lines(text.strip(), *_HEADINGS)


_HEADINGS: Final = tuple("#" * level + blank for level in (1, 2, 3) for blank in " \t")


def listed(texts: Iterable[str]) -> str:
    """Texts of others as items of a list, each with its further lines below it."""
    return "\n".join("- " + quote_rest(one.strip()).replace("\n", "\n  ") for one in texts if one.strip())


def fenced(text: str, language: str = "") -> str:
    """A text in a fence that nothing in it can close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
