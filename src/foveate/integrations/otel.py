"""OpenTelemetry: one span for each compile (extra: `foveate[otel]`)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from opentelemetry import trace

from foveate.compile.compiled import CompiledContext
from foveate.session import Session


def instrument(session: Session, tracer: trace.Tracer | None = None) -> None:
    """Give a session a span "foveate.compile" around each compile, with its numbers as attributes."""
    chosen = tracer or trace.get_tracer("foveate")

    @contextmanager
    def around(watched: Session) -> Generator[Callable[[CompiledContext], None], None, None]:
        with chosen.start_as_current_span("foveate.compile") as span:
            span.set_attribute("foveate.session", watched.id)
            yield lambda view: _describe(span, view)

    session.around_compile(around)


def _describe(span: trace.Span, view: CompiledContext) -> None:
    span.set_attribute("foveate.call", view.number)
    span.set_attribute("foveate.strategy", view.strategy)
    span.set_attribute("foveate.tokens", view.tokens)
    span.set_attribute("foveate.predicted_cached", view.predicted_cached)
    if view.budget is not None:
        span.set_attribute("foveate.budget", view.budget.limit)
    if view.decision is not None:
        span.set_attribute("foveate.trigger", view.decision.trigger)
        span.set_attribute("foveate.reason", view.decision.reason)
    span.set_attribute("foveate.stages", [record.name for record in view.records])
