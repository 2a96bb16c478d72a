"""Rebuilding: a past call from the events recorded for it, without deciding or judging anything again."""

from __future__ import annotations

from foveate.budget.profiles import DEFAULT_RULES
from foveate.budget.tokens import TokenCounter
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.framing import framing_of
from foveate.compiler.reduction import Reduced
from foveate.errors import LogError, UnknownReferenceError
from foveate.log.context import AgentContext
from foveate.log.events import CallRecorded
from foveate.log.state import AgentState
from foveate.views.timeline import timeline_of


def rebuilt_call(context: AgentContext, number: int, counter: TokenCounter) -> CompiledContext:
    """Call `number` of a log: the fold of everything up to it, reductions included, checked against its hash."""
    for index in range(context.length):
        body = context.log.events[index].body
        if isinstance(body, CallRecorded) and body.number == number:
            return _rebuilt(context, index, body, counter)
    raise UnknownReferenceError(f"no call {number} in this log")


def _rebuilt(context: AgentContext, index: int, body: CallRecorded, counter: TokenCounter) -> CompiledContext:
    # The reductions of a call stand before it in the log, so the fold alone gives its items.
    past = AgentContext.from_events(context.log.events[:index])
    state = AgentState(context=past, now=body.now, sections=body.sections)
    timeline = timeline_of(past, counter)
    items = timeline.mender.projected()
    framing = framing_of(state, counter)
    view = CompiledContext.of(state, body.strategy, framing, timeline, items, Reduced(items), None, None, DEFAULT_RULES)
    if view.payload_sha256 != body.payload_sha256:
        raise LogError(
            f"call {body.number} was recorded with payload {body.payload_sha256} but its events give "
            f"{view.payload_sha256}; the log was changed, or written by an incompatible version"
        )
    return view
