"""The summarizer on pydantic-ai: what the model is asked, and what becomes of its answer."""

from __future__ import annotations

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import foveate
from foveate.integrations.pydantic_ai import PydanticAISummarizer


class Scribe:
    """A model that remembers what it was asked."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[list[ModelMessage]] = []

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.asked.append(messages)
        return ModelResponse(parts=[TextPart(content=self.answer)])


async def _filled(scribe: Scribe, steps: int) -> foveate.Session:
    session = foveate.Session(
        budget=1_500, policy="patient", summarizer=PydanticAISummarizer(model=FunctionModel(scribe))
    )
    for step in range(steps):
        session.append(
            {"role": "user", "content": f"Step {step}: " + f"look at src/module_{step}.py and fix it. " * 12}
        )
        await session.acompile()
        session.append({"role": "assistant", "content": f"Done with module_{step}."})
    return session


async def test_the_summary_stands_in_the_request() -> None:
    """An accepted summary is recorded and shown, and the request explains what it stands for."""
    scribe = Scribe("Goal: fix the modules.\nDone: the first ones.")
    session = await _filled(scribe, 16)
    view = await session.acompile()
    assert "Goal: fix the modules." in view.to("text")
    assert any(type(event.body).__name__ == "SummaryRecorded" for event in session.events)


async def test_the_request_is_a_prefix_of_the_live_conversation() -> None:
    """The model is asked in the conversation as it was last sent, with only the question behind it."""
    scribe = Scribe("Short summary.")
    await _filled(scribe, 16)
    history = scribe.asked[0]
    first = history[0]
    assert isinstance(first, ModelRequest)
    assert isinstance(first.parts[0], UserPromptPart)
    assert str(first.parts[0].content).startswith("Step 0:")
    last = history[-1]
    assert isinstance(last, ModelRequest)
    assert "Write a summary" in str(last.parts[-1])


async def test_a_later_summary_updates_the_earlier_one() -> None:
    """The second time, the model is given what it wrote the first time."""
    scribe = Scribe("FIRST-SUMMARY of the work.")
    await _filled(scribe, 40)
    assert len(scribe.asked) > 1
    assert "FIRST-SUMMARY" in str(scribe.asked[-1][-1].parts[-1])


async def test_an_empty_summary_is_refused_visibly() -> None:
    """The digest that needs no model takes its place, and a diagnostic says so."""
    session = await _filled(Scribe("   "), 16)
    texts = [event.body.text for event in session.events if getattr(event.body, "code", "") == "summary_failed"]
    assert texts
    view = session.compile()
    assert view.budget is not None
    assert view.budget.used <= 1_500
    assert any("summary_failed" in line for line in view.explain().diagnostics)
