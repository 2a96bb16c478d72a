"""Rebuilding: a past call from the events recorded for it, without deciding anything again."""

from __future__ import annotations

from foveate.budget.tokens import TokenCounter
from foveate.compiler.compiled import CompiledContext
from foveate.compiler.compilers import PragmaticCompiler
from foveate.errors import UnknownReferenceError
from foveate.log.context import AgentContext
from foveate.log.events import CallRecorded
from foveate.log.state import AgentState


def rebuilt_call(context: AgentContext, number: int, counter: TokenCounter) -> CompiledContext:
    """Call `number` of a log: the fold of everything up to it, reductions included."""
    for index in range(context.length):
        body = context.log.events[index].body
        if isinstance(body, CallRecorded) and body.number == number:
            # The reductions of a call stand before it in the log, so the fold alone gives its items.
            past = AgentContext.from_events(context.log.events[:index])
            return PragmaticCompiler(counter=counter).compile(
                AgentState(context=past, now=body.now, sections=body.sections)
            )
    raise UnknownReferenceError(f"no call {number} in this log")
