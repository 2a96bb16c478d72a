"""Routing: where a step's output goes in the log, and with which meta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import msgspec

from foveate.log.context import AgentContext
from foveate.log.events import Body, DiagnosticRecorded, ExecutionEnded, ExecutionStarted, MessageAppended
from foveate.log.messages import Message, MessageMeta, Origin, Role, ToolCall, ToolResult, fields_of, says_something
from foveate.log.outcomes import outcome_of
from foveate.log.semantics import TOOLS, ToolSemantics, declared_tools, understood

# So many calls are remembered, at the least, by who routes without keeping the log.
_CALLS: Final = 1_000
_WITHOUT_IDS: Final = "gemini"


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
        place = _Place(context)
        bodies = [body for message in step.messages for body in self.bodies(place, message)]
        return context.with_events(bodies, time=step.time)

    def next_execution(self, context: AgentContext, /, *, time: float | None = None) -> AgentContext:
        """The context with the running turn ended and a new one begun."""
        return context.with_events(_boundary(context.execution_id, context.turn), time=time)

    def bodies(self, place: _Place, message: Message) -> list[Body]:
        """The events of a message at its place."""
        bodies: list[Body] = []
        # What a program wrote in the user's name belongs to the turn it falls into.
        opens = message.role == "user" and not (place.turn and message.meta.extra.get("program"))
        if opens and not place.fresh:
            bodies += place.next_turn()
        place.fresh = False
        calls, result = message.calls, message.result
        if result is not None and _is_made(result):
            message = place.paired(message, result)
            result = message.result
        place.messages += 1
        place.step += message.role == "assistant"
        routed = msgspec.structs.replace(
            message,
            id=message.id or f"m{place.messages}",
            meta=msgspec.structs.replace(
                self._meta(place, message, calls, result),
                turn=place.turn,
                execution_id=place.execution,
                step_id=f"s{place.step}",
                step=place.step,
            ),
        )
        bodies.append(MessageAppended(message=routed))
        bodies += _oddities(place, routed, calls, result)
        place.note(routed, calls, result)
        return bodies

    def _meta(
        self, place: _Place, message: Message, calls: Sequence[ToolCall], result: ToolResult | None
    ) -> MessageMeta:
        meta = message.meta
        if result is None:
            names = [call.name for call in calls]
            plan = any(map(_is_plan, map(self.tools.get, names)))
            declared = declared_tools(names, self.tools)
            return msgspec.structs.replace(meta, origin=_origin(message.role, calls), plan=plan, declared=declared)
        call = place.call(result.call_id)
        if call is None:
            outcome = meta.outcome or outcome_of(result.text, extra=message.extra)
            return msgspec.structs.replace(meta, origin="tool_result", outcome=outcome, quoted=True)
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
            declared=declared_tools((call.name,), self.tools),
            quoted=True,
        )


class Routing:
    """Routes the messages of one session as they come by, without keeping them."""

    def __init__(self, session: str, router: DefaultRouter | None = None) -> None:
        self._router = router or DefaultRouter()
        self._place = _Place(AgentContext(session=session))

    def bodies(self, message: Message) -> list[Body]:
        """The events of the next message."""
        bodies = self._router.bodies(self._place, message)
        calls = self._place.calls
        # Results come soon after their calls; those of calls long gone are taken for results without one.
        for call_id in list(calls)[: max(0, len(calls) - _CALLS)] if len(calls) > 2 * _CALLS else ():
            del calls[call_id]
        return bodies


class _Place:
    """Where in the log the next message of a step goes."""

    __slots__ = ("_answered", "_asked", "_context", "calls", "execution", "fresh", "messages", "step", "turn")

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self.messages = context.message_count
        self.step = context.step
        self.turn = context.turn
        self.execution = context.execution_id
        self.fresh = _fresh_execution(context)
        self.calls: dict[str, ToolCall] = {}
        self._asked: tuple[ToolCall, ...] | None = None
        self._answered: set[str] = set()

    def note(self, message: Message, calls: tuple[ToolCall, ...], result: ToolResult | None) -> None:
        """Note what a message asks for or answers."""
        if message.role == "assistant" and calls:
            self.calls.update({call.id: call for call in calls})
            self._asked, self._answered = calls, set()
        elif result is not None:
            self._answered.add(result.call_id)

    def paired(self, message: Message, result: ToolResult) -> Message:
        """A result that says the name of its tool alone, as the answer to the first open call of that tool."""
        if self._asked is None:
            self._look_back()
        waiting = [call for call in self._asked or () if call.id not in self._answered]
        if any(call.id == result.call_id for call in waiting):
            return message
        call = next((call for call in waiting if _is_of(result, call)), None)
        if call is None:
            return message
        parts = tuple(
            msgspec.structs.replace(part, call_id=call.id) if part is result else part for part in message.parts
        )
        return msgspec.structs.replace(message, parts=parts)

    def _look_back(self) -> None:
        """Find the newest calls in the log, and what was answered since."""
        said = self._context.messages
        for index in range(len(said) - 1, max(-1, len(said) - 1 - _CALLS), -1):
            message = said[index]
            if message.role == "assistant" and message.calls:
                self._asked = message.calls
                return
            if message.result is not None:
                self._answered.add(message.result.call_id)
        self._asked = ()

    def call(self, call_id: str) -> ToolCall | None:
        """The newest tool call with an id."""
        return self.calls.get(call_id) or self._context.call(call_id)

    def next_turn(self) -> list[Body]:
        """Begin a turn; the events that say so."""
        bodies = _boundary(self.execution, self.turn)
        self.turn += 1
        self.execution = f"x{self.turn}"
        return bodies


def _is_plan(semantics: ToolSemantics | None) -> bool:
    return semantics is not None and semantics.access == "plan"


def _fresh_execution(context: AgentContext) -> bool:
    """Whether a turn was begun explicitly and nothing was said in it yet."""
    if context.execution_id is None or not context.length:
        return False
    return isinstance(context.log.event(context.length - 1).body, ExecutionStarted)


def _boundary(execution: str | None, turn: int) -> list[Body]:
    ended: list[Body] = [] if execution is None else [ExecutionEnded(execution_id=execution)]
    return [*ended, ExecutionStarted(execution_id=f"x{turn + 1}")]


def _origin(role: Role, calls: Sequence[ToolCall]) -> Origin:
    match role:
        case "assistant":
            return "tool_call" if calls else "assistant"
        case "tool":
            return "tool_result"
        case _:
            return role


def _oddities(place: _Place, message: Message, calls: Sequence[ToolCall], result: ToolResult | None) -> list[Body]:
    """Structural defects that real logs have: accepted, and said."""
    if result is not None:
        if place.call(result.call_id) is None:
            return [_odd("orphan_tool_return", f"result for unknown call {result.call_id!r}", message)]
        return []
    if not calls:
        is_empty = not any(map(says_something, message.parts))
        return [_odd("empty_content", f"{message.role} message without content", message)] if is_empty else []
    found: list[Body] = []
    seen: set[str] = set()
    for call in calls:
        if call.id in seen or (place.call(call.id) is not None and not _is_made(call)):
            found.append(_odd("duplicate_tool_call_id", f"call id {call.id!r} was used before", message))
        seen.add(call.id)
    return found


def _is_made(part: ToolCall | ToolResult) -> bool:
    """Whether the id of a call was not given but made when it was read: Gemini may leave it out."""
    return bool(part.extra) and fields_of(part.extra, _WITHOUT_IDS).get("minted") is True


def _is_of(result: ToolResult, call: ToolCall) -> bool:
    # A made id is the name that was sent and a number; the call may have its original name again.
    same = _is_made(call) and call.id.rpartition("-")[0] == result.call_id.rpartition("-")[0]
    return same or call.name == fields_of(result.extra, _WITHOUT_IDS).get("name")


def _odd(code: str, text: str, message: Message) -> DiagnosticRecorded:
    return DiagnosticRecorded(code=code, phase="append", text=text, subject=message.id)
