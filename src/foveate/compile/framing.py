"""Framing: what stands around the history in a request, and what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from foveate.budget.accounting import framing_tokens, message_tokens
from foveate.budget.tokens import TokenCounter
from foveate.compile.projection import SentPrefix
from foveate.log.context import AgentContext
from foveate.log.events import FramingSet
from foveate.log.messages import Message, MessageMeta, text_message
from foveate.log.sections import CacheTier, ContextSection
from foveate.log.state import AgentState
from foveate.log.text import encodable
from foveate.wire.anthropic_rules import is_of_unknown_type

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """System prompt, tools and response format, and the sections before and after the history."""

    system: str | None
    forms: dict[str, Any]
    tools: tuple[dict[str, Any], ...]
    response_format: dict[str, Any] | None
    before: tuple[Message, ...]
    after: tuple[Message, ...]
    # The tokens of system prompt, tools and response format; with the sections before the history; with all of it.
    base: int
    fixed: int
    tokens: int

    def begins_like(self, prefix: SentPrefix) -> bool:
        """Whether requests with this framing begin with the same bytes as that of the last call."""
        is_same = _is_base_of(prefix, self.system, self.tools, self.response_format) and self.before == prefix.before
        # They are few; equal ones may have their keys in another order.
        return is_same and _encode(self.forms) == _encode(prefix.forms)


def framing_of(state: AgentState, counter: TokenCounter, known: SentPrefix | None = None) -> Framing:
    """The framing of a state, counted; what is `known` of the last call is not counted again."""
    context = state.context
    if state.override is not None:
        return _overridden(context, state.override, counter)
    count = partial(message_tokens, counter=counter)
    added = _instructions(state.sections)
    system = "\n\n".join(filter(None, (context.system, *added))) or None
    before = _sections(state.sections, "stable")
    after = _sections(state.sections, "volatile")
    tools, form = context.tools, context.response_format
    counted = _counted(system, context.forms)
    if known is not None and counted == system and _is_base_of(known, system, tools, form):
        base = known.framing_tokens
    else:
        base = framing_tokens(counter, system=counted, tools=tools, response_format=form)
    fixed = base + sum(map(count, before))
    return Framing(
        system=system,
        forms=_forms(context, added),
        tools=tools,
        response_format=form,
        before=before,
        after=after,
        base=base,
        fixed=fixed,
        tokens=fixed + sum(map(count, after)),
    )


def _overridden(context: AgentContext, messages: tuple[Message, ...], counter: TokenCounter) -> Framing:
    """Messages that are sent as they are; what a model may call is no message, and stays."""
    alone = FramingSet(tools=context.tools, response_format=context.response_format)
    return framing_around(messages, alone, counter)


def framing_around(messages: tuple[Message, ...], around: FramingSet, counter: TokenCounter) -> Framing:
    """The framing of a request that has no items, only messages that are sent as they are."""
    system, tools, form = around.system, around.tools, around.response_format
    counted = _counted(system, around.forms)
    base = framing_tokens(counter, system=counted, tools=tools, response_format=form)
    tokens = base + sum(message_tokens(message, counter) for message in messages)
    return Framing(
        system=system,
        forms=dict(around.forms),
        tools=tools,
        response_format=form,
        before=messages,
        after=(),
        base=base,
        fixed=tokens,
        tokens=tokens,
    )


def _counted(system: str | None, forms: Mapping[str, Any]) -> str | None:
    """What is sent of a system prompt: its text, and blocks of unknown types, which have none."""
    opaque = [block for block in forms.get("anthropic", ()) if is_of_unknown_type(block)]
    return "\n".join(filter(None, (system, _encode(opaque).decode()))) if opaque else system


def _is_base_of(
    prefix: SentPrefix, system: str | None, tools: tuple[dict[str, Any], ...], form: dict[str, Any] | None
) -> bool:
    # The same objects: dicts that are equal may still have their keys in another order, and other bytes.
    return prefix.system == system and prefix.tools is tools and prefix.response_format is form


def _instructions(sections: tuple[ContextSection, ...]) -> list[str]:
    """What the sections add to the system prompt."""
    texts = [encodable(one.content).strip() for one in sections if one.tier == "instructions"] if sections else []
    return list(filter(None, texts))


def _forms(context: AgentContext, added: list[str]) -> dict[str, Any]:
    """The system prompt in the form it was given in, with what sections add to it."""
    if not added:
        return dict(context.forms)
    more = "\n\n".join(added)
    forms: dict[str, Any] = {}
    for format, given in context.forms.items():
        if format == "anthropic":
            forms[format] = [*given, {"type": "text", "text": more}]
        else:
            forms[format] = {**given, "parts": [*given["parts"], {"text": more}]}
    return forms


def _sections(sections: tuple[ContextSection, ...], tier: CacheTier) -> tuple[Message, ...]:
    """The sections of a tier as one message; empty ones are left out."""
    shown = [one for one in sections if one.tier == tier and one.content.strip()] if sections else []
    if not shown:
        return ()
    text = encodable("\n\n".join(f"## {section.name}\n{section.content}" for section in shown))
    return (text_message(f"sections-{tier}", "user", text, MessageMeta(origin="system", kind="sections")),)
