"""Isolation: what each agent sees of a state, in which section, and nothing else; by the payload a provider received."""

from __future__ import annotations

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from foveate.agents import Agent, Architect, Desk, Developer, Means, Reviewer
from foveate.integrations.pydantic_ai import PydanticAIDriver
from foveate.log.state import AgentState
from foveate.session import Session
from tests.agents.states import MARKERS, marked_state

RESULTS = {
    "architect": {"tasks": [{"id": "a", "description": "b"}]},
    "developer": {"summary": "done"},
    "reviewer": {"approved": True},
}
MATRIX = {
    "architect": {
        "Issue": {"ISSUE-TITLE", "ISSUE-DESCRIPTION"},
        "Design": {marker for marker in MARKERS if marker.startswith("DESIGN-")},
        "Computed Context": {"CONTEXT-WORDS"},
    },
    "developer": {
        "Task": {"NOW-DESCRIPTION", "NOW-CRITERION"},
        "Files": {"NOW-PATH"},
        "Steps": {"NOW-STEP", "NOW-CODE", "NOW-COMMAND", "NOW-EXPECTED"},
        "Review": {"REVIEW-COMMENT"},
        "Computed Context": {"CONTEXT-WORDS"},
    },
    "reviewer": {
        "Task": {"NOW-DESCRIPTION"},
        "Criteria": {"NOW-CRITERION"},
        "Diff": {"DIFF-LINE"},
        "Computed Context": {"CONTEXT-WORDS"},
    },
}


async def received(make: type[Agent], state: AgentState, **options: object) -> tuple[list[ModelMessage], AgentInfo]:
    """What a provider is sent for an agent's first call."""
    seen: list[tuple[list[ModelMessage], AgentInfo]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append((messages, info))
        return ModelResponse(parts=[ToolCallPart("finish", RESULTS[make.name])])

    agent = make(Means(driver=PydanticAIDriver(FunctionModel(answer))), **options)
    await agent.run(state, Session(budget=8_000))
    assert len(seen) == 1
    return seen[0]


def words(messages: list[ModelMessage]) -> tuple[str, str]:
    """System prompt and user text of a request."""
    parts = [part for message in messages for part in message.parts]
    system = "\n".join(str(part.content) for part in parts if part.part_kind == "system-prompt")
    instructions = "\n".join(message.instructions or "" for message in messages if message.kind == "request")
    return system + instructions, "\n".join(str(part.content) for part in parts if part.part_kind == "user-prompt")


def sections(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for block in ("\n" + text).split("\n## ")[1:]:
        name, _, content = block.partition("\n")
        found[name] = content
    return found


@pytest.mark.parametrize("make", [Architect, Developer, Reviewer])
async def test_every_marker_is_in_exactly_the_sections_it_belongs_to(make: type[Agent]) -> None:
    messages, info = await received(make, marked_state())
    system, user = words(messages)
    tools = "".join(f"{tool.description}{tool.parameters_json_schema}" for tool in info.function_tools)
    shown = sections(user)
    assert shown.keys() == MATRIX[make.name].keys()
    for marker in MARKERS:
        places = {name for name, content in shown.items() if marker in content}
        assert places == {name for name, markers in MATRIX[make.name].items() if marker in markers}, marker
        assert marker not in system and marker not in tools
        # And nowhere else in the request: not between sections, not in a second message.
        assert user.count(marker) == sum(content.count(marker) for content in shown.values())


@pytest.mark.parametrize("make", [Architect, Developer, Reviewer])
async def test_the_system_prompt_reaches_the_model_and_is_the_same_for_any_state(make: type[Agent]) -> None:
    first, _ = await received(make, marked_state())
    second, _ = await received(make, marked_state(review=None, outcomes=()))
    prompt = make.context_strategy().system_prompt
    assert words(first)[0] == words(second)[0] == prompt != ""


async def test_the_persona_reaches_the_model() -> None:
    for persona in ("General", "Security", "a {strange} one"):
        messages, _ = await received(Reviewer, marked_state(), persona=persona)
        assert f"code reviewer ({persona})" in words(messages)[0]


@pytest.mark.parametrize("make", [Architect, Developer, Reviewer])
async def test_the_tools_reach_the_model_and_a_result_of_the_right_form_is_demanded(make: type[Agent]) -> None:
    _, info = await received(make, marked_state())
    tools = {tool.name: tool.parameters_json_schema for tool in info.function_tools}
    assert set(tools) == {"recall", "finish"}
    assert set(RESULTS[make.name]) <= set(tools["finish"]["properties"])


async def test_what_an_agent_may_ask_for_is_named_and_not_said() -> None:
    """Looking at what there is shows no words of others; only asking for it does, and that is recorded."""
    desk = Desk("developer", session := Session(budget=8_000), marked_state().outcomes)
    listed = (await desk.answer("recall", {"reference": "list"})).text
    refused = (await desk.answer("recall", {"reference": "task:DONE#nothing"})).text
    assert not any(marker in listed + refused for marker in MARKERS)
    assert (await desk.answer("recall", {"reference": "task:DONE#notes"})).text == "OUTCOME-NOTES"
    assert [one.reference for one in session.preview().explain().accesses] == [
        "list",
        "task:DONE#nothing",
        "task:DONE#notes",
    ]
