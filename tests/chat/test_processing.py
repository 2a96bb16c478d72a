"""A history processor for somebody else's agent: three lines, and its own history stays whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.chat.talking import folders_in

from foveate.chat.processing import CompilingHistory, build_compiling_history_processor
from foveate.integrations.pydantic_ai import EndlessHistory


class Agents:
    """An agent with a tool, and what its model was sent."""

    def __init__(self, capability: Any) -> None:
        self.sent: list[list[ModelMessage]] = []
        self.agent: Agent[None, str] = Agent(
            FunctionModel(self._answer), instructions="Be kind.", system_prompt="A friend.", capabilities=[capability]
        )

        @self.agent.tool_plain
        def look(number: int) -> str:
            """Look something up."""
            return f"page {number}: " + "words " * 40

    def _answer(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        self.sent.append(list(messages))
        if any(isinstance(part, UserPromptPart) for part in messages[-1].parts):
            return ModelResponse(parts=[ToolCallPart("look", {"number": len(self.sent)})])
        return ModelResponse(parts=[TextPart("answer " + "word " * 60)])


def processor(folder: Path, **options: Any) -> CompilingHistory:
    folders_in(folder)
    return build_compiling_history_processor(budget=2_500, template="plain", system=folder, **options)


@pytest.mark.parametrize("kind", [EndlessHistory, ProcessHistory])
async def test_requests_are_short_and_valid_however_long_the_history(tmp_path: Path, kind: Any) -> None:
    history = processor(tmp_path)
    agents = Agents(kind(history))
    said: list[ModelMessage] = []
    for turn in range(25):
        result = await agents.agent.run(f"Question {turn}: never eat nuts. {'talk ' * 30}", message_history=said)
        said = result.all_messages()
    assert history.failure is None
    assert len(history.session.messages) == 25 * 4, "the session has all of it"
    assert all(history.session.call(number).tokens <= 2_500 for number in range(1, 51))
    if kind is EndlessHistory:
        assert len(said) == 25 * 4, "the agent's own history stays whole"
    last = agents.sent[-1]
    parts = [part for message in last for part in message.parts]
    systems = [part.content for part in parts if isinstance(part, SystemPromptPart)]
    assert systems[0] == "A friend."
    assert systems[1].startswith("Context summary (compiled):")
    calls = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    assert calls == [part.tool_call_id for part in parts if isinstance(part, ToolReturnPart)]
    assert getattr(last[-1], "instructions", None) == "Be kind."


async def test_another_conversation_begins_another_session(tmp_path: Path) -> None:
    history = processor(tmp_path)
    agents = Agents(EndlessHistory(history))
    await agents.agent.run("One")
    first = history.session
    await agents.agent.run("Two")
    assert history.session is not first
    assert history.session.messages[0].text != first.messages[0].text or len(history.session.messages) == 4


async def test_a_template_that_is_missing_costs_no_call(tmp_path: Path) -> None:
    history = build_compiling_history_processor(budget=2_500, template="nowhere", system=tmp_path)
    agents = Agents(EndlessHistory(history))
    result = await agents.agent.run("Hello")
    assert result.output.startswith("answer")
    assert [one.phase for one in history.diagnostics] == ["template_load"]


async def test_messages_that_cannot_be_read_go_out_as_they_are(tmp_path: Path) -> None:
    history = processor(tmp_path)
    odd = [object()]
    assert await history(odd) is odd
    assert history.failure is not None
    assert await history([]) == []
