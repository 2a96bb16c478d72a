"""One OpenTelemetry span for each compile."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import foveate
from foveate.integrations.otel import instrument


def test_each_compile_is_a_span_with_its_numbers() -> None:
    """Call, tokens, budget and trigger are attributes of the span."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    session = foveate.Session(budget=1_000)
    instrument(session, provider.get_tracer("test"))
    session.append({"role": "user", "content": "Hello"})
    view = session.compile()
    for step in range(30):
        session.append({"role": "assistant", "content": f"Answer {step}: " + "word " * 60})
        session.append({"role": "user", "content": f"Question {step}"})
    session.compile()
    first, second = exporter.get_finished_spans()
    assert first.name == "foveate.compile"
    assert first.attributes is not None
    assert second.attributes is not None
    assert first.attributes["foveate.tokens"] == view.tokens
    assert first.attributes["foveate.budget"] == 1_000
    assert second.attributes["foveate.trigger"] == "must"
    assert "note" in str(second.attributes["foveate.stages"])
