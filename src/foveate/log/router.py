"""Routing: where a step's output goes in the log, and with which meta."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from foveate.log.context import AgentContext
from foveate.log.events import Body, DiagnosticRecorded, ExecutionEnded, ExecutionStarted, MessageAppended
from foveate.log.messages import Media, Message, MessageMeta, Origin, Text, Thinking, ToolCall
from foveate.log.outcomes import outcome_of
from foveate.log.semantics import TOOLS, ToolSemantics, understood


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStep:
    """What one step produced: a response of the model, tool results, or a user's message."""

    messages: tuple[Message, ...]
    time: float | None = None


class Router(Protocol):
    """Puts a step's output into the log; it can change nothing but the context."""

    def route(self, context: AgentContext, step: AgentStep, /) -> AgentContext: ...

    def next_execution(self, context: AgentContext, /, *, time: float | None = None) -> AgentContext: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultRouter:
    """Appends every message with its turn, step, outcome and resources; a user message starts a turn."""

    tools: Mapping[str, ToolSemantics] = field(default_factory=lambda: TOOLS)

    def route(self, context: AgentContext, step: AgentStep, /) -> AgentContext:
        """The context with the step's messages appended."""
        for message in step.messages:
            context = context.with_events(self._bodies(context, message), time=step.time)
        return context

    def next_execution(self, context: AgentContext, /, *, time: float | None = None) -> AgentContext:
        """The context with the running turn ended and a new one begun."""
        return context.with_events(_boundary(context), time=time)

    def _bodies(self, context: AgentContext, message: Message) -> list[Body]:
        bodies: list[Body] = []
        turn, execution = context.turn, context.execution_id
        if message.role == "user" and not _fresh_execution(context):
            bodies += _boundary(context)
            turn, execution = turn + 1, f"x{turn + 1}"
        step = context.step + (message.role == "assistant")
        meta = self._meta(context, message)
        routed = msgspec.structs.replace(
            message,
            id=message.id or f"m{context.message_count + 1}",
            meta=msgspec.structs.replace(meta, turn=turn, execution_id=execution, step_id=f"s{step}"),
        )
        bodies.append(MessageAppended(message=routed))
        bodies += _oddities(context, routed)
        return bodies

    def _meta(self, context: AgentContext, message: Message) -> MessageMeta:
        meta = message.meta
        result = message.result
        if result is None:
            plan = any(_is_plan(self.tools.get(call.name)) for call in message.calls)
            return msgspec.structs.replace(meta, origin=_origin(message), plan=plan)
        call = context.call(result.call_id)
        if call is None:
            outcome = meta.outcome or outcome_of(result.text, extra=message.extra)
            return msgspec.structs.replace(meta, origin="tool_result", outcome=outcome)
        resources, attempt, access = understood(call, self.tools)
        # What a command prints of a file says nothing about how the command went.
        shell = access == "shell" and not resources.reads
        outcome = meta.outcome or outcome_of(result.text, shell=shell, extra=message.extra)
        return msgspec.structs.replace(
            meta,
            origin="tool_result" if outcome == "ok" else "error",
            tool_name=call.name,
            outcome=outcome,
            reads=resources.reads,
            writes=resources.writes,
            partial=resources.partial,
            attempt=attempt,
        )


def _is_plan(semantics: ToolSemantics | None) -> bool:
    return semantics is not None and semantics.access == "plan"


def _fresh_execution(context: AgentContext) -> bool:
    """Whether a turn was begun explicitly and nothing was said in it yet."""
    if context.execution_id is None or not context.length:
        return False
    return isinstance(context.log.events[context.length - 1].body, ExecutionStarted)


def _boundary(context: AgentContext) -> list[Body]:
    ended: list[Body] = []
    if context.execution_id is not None:
        ended.append(ExecutionEnded(execution_id=context.execution_id))
    return [*ended, ExecutionStarted(execution_id=f"x{context.turn + 1}")]


def _origin(message: Message) -> Origin:
    match message.role:
        case "assistant":
            return "tool_call" if message.calls else "assistant"
        case "tool":
            return "tool_result"
        case role:
            return role


def _oddities(context: AgentContext, message: Message) -> Iterator[Body]:
    """Structural defects that real logs have: accepted, and said."""
    result = message.result
    if result is not None:
        if context.call(result.call_id) is None:
            yield _odd("orphan_tool_return", f"result for unknown call {result.call_id!r}", message)
    elif message.calls:
        seen: set[str] = set()
        for call in message.calls:
            if call.id in seen or context.call(call.id) is not None:
                yield _odd("duplicate_tool_call_id", f"call id {call.id!r} was used before", message)
            seen.add(call.id)
    elif not any(_says_something(part) for part in message.parts):
        yield _odd("empty_content", f"{message.role} message without content", message)


def _says_something(part: object) -> bool:
    match part:
        case Text(text=text) | Thinking(text=text):
            return bool(text.strip())
        case ToolCall() | Media():
            return True
        case _:
            return False


def _odd(code: str, text: str, message: Message) -> DiagnosticRecorded:
    return DiagnosticRecorded(code=code, phase="append", text=text, subject=message.id)
