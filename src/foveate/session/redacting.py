"""Redacting: secrets never reach the log of a session that was asked to redact."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from foveate.log.context import AgentContext
from foveate.log.events import DiagnosticRecorded, FramingSet
from foveate.log.router import AgentStep, Router
from foveate.privacy import Redactor

REDACTED = "redacted"
"""The code of the event that says how many secrets were taken out, and of which kinds."""


@dataclass(frozen=True, slots=True)
class RedactingRouter:
    """Routes messages without the secrets in them, and records how many these were."""

    router: Router

    def route(self, context: AgentContext, step: AgentStep, /) -> AgentContext:
        redactor = Redactor()
        messages = tuple(map(redactor.message, step.messages))
        routed = self.router.route(context, replace(step, messages=messages))
        if not redactor.counts:
            return routed
        return routed.with_events([DiagnosticRecorded(code=REDACTED, phase="record", text=redactor.summary)])

    def next_execution(self, context: AgentContext, /, *, time: float | None = None) -> AgentContext:
        return self.router.next_execution(context, time=time)


def redacted_framing(framing: FramingSet) -> FramingSet:
    """What stands around the messages, without the secrets in it."""
    redactor = Redactor()
    return msgspec.structs.replace(
        framing,
        system=redactor.text(framing.system) if framing.system is not None else None,
        tools=redactor.value(framing.tools),
        response_format=redactor.value(framing.response_format),
        forms=redactor.value(framing.forms),
    )
