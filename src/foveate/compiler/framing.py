"""Framing: what stands around the history in a request, and what it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foveate.budget.accounting import framing_tokens, message_tokens
from foveate.budget.tokens import TokenCounter
from foveate.log.context import AgentContext
from foveate.log.messages import Message, MessageMeta, text_message
from foveate.log.sections import CacheTier, ContextSection
from foveate.log.state import AgentState
from foveate.log.text import encodable


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """System prompt, tools and response format, and the sections before and after the history."""

    system: str | None
    tools: tuple[dict[str, Any], ...]
    response_format: dict[str, Any] | None
    before: tuple[Message, ...]
    after: tuple[Message, ...]
    fixed: int
    tokens: int


def framing_of(state: AgentState, counter: TokenCounter) -> Framing:
    """The framing of a state, counted."""
    context = state.context
    if state.override is not None:
        return _overridden(context, state.override, counter)
    system = _system(context.system, state.sections)
    before = _sections(state.sections, "stable")
    after = _sections(state.sections, "volatile")
    fixed = _counted(context, system, counter) + sum(message_tokens(message, counter) for message in before)
    return Framing(
        system=system,
        tools=context.tools,
        response_format=context.response_format,
        before=before,
        after=after,
        fixed=fixed,
        tokens=fixed + sum(message_tokens(message, counter) for message in after),
    )


def _overridden(context: AgentContext, messages: tuple[Message, ...], counter: TokenCounter) -> Framing:
    """Messages that are sent as they are; what a model may call is no message, and stays."""
    tools, form = context.tools, context.response_format
    tokens = framing_tokens(counter, system=None, tools=tools, response_format=form)
    tokens += sum(message_tokens(message, counter) for message in messages)
    return Framing(
        system=None, tools=tools, response_format=form, before=messages, after=(), fixed=tokens, tokens=tokens
    )


def _system(system: str | None, sections: tuple[ContextSection, ...]) -> str | None:
    """The system prompt with the sections that belong to it."""
    more = [encodable(one.content).strip() for one in sections if one.tier == "instructions"]
    return "\n\n".join(text for text in (system, *more) if text) or None


def _counted(context: AgentContext, system: str | None, counter: TokenCounter) -> int:
    """Tokens of system prompt, tools and response format; counted once as long as they stay the same."""
    key = ("framing", counter.name)
    given = (system, context.tools, context.response_format)
    known = context.log.memo.get(key)
    if known is not None and known[0] == given:
        return int(known[1])
    tokens = framing_tokens(counter, system=system, tools=context.tools, response_format=context.response_format)
    context.log.memo[key] = (given, tokens)
    return tokens


def _sections(sections: tuple[ContextSection, ...], tier: CacheTier) -> tuple[Message, ...]:
    """The sections of a tier as one message; empty ones are left out."""
    shown = [section for section in sections if section.tier == tier and section.content.strip()]
    if not shown:
        return ()
    text = encodable("\n\n".join(f"## {section.name}\n{section.content}" for section in shown))
    return (text_message(f"sections-{tier}", "user", text, MessageMeta(origin="system")),)
