"""Rebuilding: a past call from the events recorded for it, without deciding or judging anything again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foveate.budget.profiles import DEFAULT_RULES
from foveate.budget.tokens import TokenCounter
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.framing import framing_of
from foveate.compiler.reduction import Reduced
from foveate.errors import LogError, UnknownReferenceError
from foveate.log.context import AgentContext
from foveate.log.events import CallRecorded, Event
from foveate.log.state import AgentState
from foveate.views.timeline import timeline_of


def rebuilt_call(context: AgentContext, number: int, counter: TokenCounter) -> CompiledContext:
    """Call `number` of a log: the fold of everything up to it, reductions included, checked against its hash."""
    for event in context.log.events(0, context.length):
        if isinstance(event.body, CallRecorded) and event.body.number == number:
            past = AgentContext.from_events(context.log.events(0, event.seq))
            return rebuilt(past, event.body, counter)
    raise UnknownReferenceError(f"no call {number} in this log")


def rebuilt_calls(
    events: Iterable[Event], counter: TokenCounter
) -> Iterator[tuple[CallRecorded, CompiledContext | LogError]]:
    """Every call of a log in order, each rebuilt in one pass over its events, or what is wrong with it."""
    past = AgentContext()
    for event in events:
        if isinstance(event.body, CallRecorded):
            try:
                yield event.body, rebuilt(past, event.body, counter)
            except LogError as error:
                yield event.body, error
        past = past.with_recorded([event])


def rebuilt(past: AgentContext, body: CallRecorded, counter: TokenCounter) -> CompiledContext:
    """A recorded call from the snapshot of everything before it."""
    # The reductions of a call stand before it in the log, so the fold alone gives its items.
    state = AgentState(context=past, now=body.now, sections=body.sections, override=body.override)
    timeline = timeline_of(past, counter)
    items = timeline.mender.projected() if body.override is None else []
    framing = framing_of(state, counter)
    view = CompiledContext.of(state, body.strategy, framing, timeline, items, Reduced(items), None, None, DEFAULT_RULES)
    if view.payload_sha256 != body.payload_sha256:
        raise LogError(
            f"call {body.number} was recorded with payload {body.payload_sha256} but its events give "
            f"{view.payload_sha256}; the log was changed, or written by an incompatible version"
        )
    return view
