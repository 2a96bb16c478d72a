"""A history processor for somebody else's agent: three lines, and its own history stays whole."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.chat.talking import folders_in
from tests.store.locking import locked

from foveate import Session
from foveate.chat.processing import CompilingHistory, build_compiling_history_processor
from foveate.integrations.pydantic_ai import EndlessHistory
from foveate.log.events import DiagnosticRecorded
from foveate.store import Store


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
    # One is the system prompt; who only processes a history hears an answer when it is part of one.
    expected = 25 * 4 + (kind is EndlessHistory)
    assert len(history.session.messages) == expected, "the session has all of it"
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
    assert [message.text for message in history.session.messages if message.role == "user"] == ["Two"]
    assert [message.text for message in first.messages if message.role == "user"] == ["One"]
    assert history.diagnostics == (), "nobody asked for one session"


@pytest.mark.parametrize("kind", [EndlessHistory, ProcessHistory])
async def test_a_session_in_a_store_goes_on_in_another_process(tmp_path: Path, kind: Any) -> None:
    """The agent's history, kept by whom it may be, is known again: what is new is stored, and nothing twice."""
    said = b"[]"
    for turn in range(12):
        with Session.open(tmp_path / "agent.db", "talk", budget=2_500) as durable:
            history = processor(tmp_path, session=durable)
            agents = Agents(kind(history))
            for question in (f"Question {turn}: {'talk ' * 30}", f"More of {turn}"):
                result = await agents.agent.run(question, message_history=ModelMessagesTypeAdapter.validate_json(said))
                said = ModelMessagesTypeAdapter.dump_json(result.all_messages())
            assert history.session is durable
            assert {one.code for one in history.diagnostics} <= {"reduction_declined"}
    with Session.open(tmp_path / "agent.db", "talk") as kept:
        roles = [message.role for message in kept.messages]
    expected = ["system", *["user", "assistant", "tool", "assistant"] * 24]
    assert roles == (expected if kind is EndlessHistory else expected[:-1])


async def test_an_answer_is_in_the_store_as_soon_as_it_is_given(tmp_path: Path) -> None:
    with Session.open(tmp_path / "agent.db", "talk", budget=2_500) as durable:
        result = await Agents(EndlessHistory(processor(tmp_path, session=durable))).agent.run("One")
    with Session.open(tmp_path / "agent.db", "talk") as kept:
        assert kept.messages[-1].text == result.output


@pytest.mark.parametrize("given", [None, "fast"])
async def test_each_call_is_recorded_with_the_model_of_the_agent(tmp_path: Path, given: str | None) -> None:
    """By the name that the agent has for it, or the one that the user gives it."""
    with Session.open(tmp_path / "agent.db", "talk", budget=2_500) as durable:
        agents = Agents(EndlessHistory(processor(tmp_path, session=durable, model=given)))
        await agents.agent.run("One")
    with closing(sqlite3.connect(tmp_path / "agent.db")) as store:
        found = store.execute("SELECT DISTINCT model_alias FROM context_summaries").fetchall()
    assert found == [(given or agents.agent.model.model_id,)]  # type: ignore[union-attr]


async def test_a_history_that_is_not_that_of_the_session_given_is_said(tmp_path: Path) -> None:
    """The call goes out; that it is not kept in the store is said there and here."""
    with Session.open(tmp_path / "agent.db", "talk", budget=2_500) as durable:
        history = processor(tmp_path, session=durable)
        agents = Agents(EndlessHistory(history))
        await agents.agent.run("One")
        await agents.agent.run("Two")
        assert history.session is not durable
        for session in (durable, history.session):
            noted = [event.body for event in session.events if isinstance(event.body, DiagnosticRecorded)]
            assert [one.code for one in noted] == ["history_unknown"]
        assert "no continuation of session 'talk'" in history.diagnostics[0].text


async def test_a_reply_that_was_changed_on_its_way_is_not_kept_twice(tmp_path: Path) -> None:
    history = processor(tmp_path)
    asked = [ModelRequest(parts=[UserPromptPart("One")])]
    await history.view(asked)
    history.heard(ModelResponse(parts=[TextPart("as it was")]))
    await history.view([*asked, ModelResponse(parts=[TextPart("edited")]), ModelRequest(parts=[UserPromptPart("Two")])])
    assert [message.text for message in history.session.messages] == ["One", "as it was", "Two"]


@pytest.mark.parametrize("is_closed", [False, True])
async def test_a_store_that_fails_costs_no_budget(tmp_path: Path, *, is_closed: bool) -> None:
    """However the session fails, a request is within its budget, and what went wrong can be asked for."""
    path = tmp_path / "agent.db"
    durable = Session.open(path, "talk", budget=2_500)
    history = processor(tmp_path, session=durable)
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'is full'); END")
    if is_closed:
        durable.close()
    said: list[ModelMessage] = []
    for turn in range(60):
        said += [ModelRequest(parts=[UserPromptPart(f"{turn} {'talk ' * 60}")])]
        said += [ModelResponse(parts=[TextPart(f"{turn} {'word ' * 60}")])]
    said += [ModelRequest(parts=[UserPromptPart("And now?")])]
    sent = await history(said)
    assert "And now?" in str(sent[-1])
    counted = Session(budget=100_000)
    counted.extend(sent)
    assert counted.compile().tokens <= 2_500
    assert [one.code for one in history.diagnostics] == ["history_failed" if is_closed else "store_failed"]


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


@pytest.mark.parametrize("kind", [EndlessHistory, ProcessHistory])
async def test_a_locked_store_costs_an_agent_nothing(tmp_path: Path, kind: Any) -> None:
    """Also for a session that cannot be begun yet: each request goes out at once, and all of it is written later."""
    path = tmp_path / "a.db"
    Store(path).close()
    with locked(f"sqlite:///{path}"):
        began = time.monotonic()
        session = Session.open(path, "a", budget=2_500)
        history = processor(tmp_path, session=session)
        agents = Agents(kind(history))
        result = await agents.agent.run("one")
        result = await agents.agent.run("two", message_history=result.all_messages())
        # Half a minute for each event was what it took; the machine may be slow.
        assert time.monotonic() - began < 50
        assert "store_failed" in [one.code for one in history.diagnostics]
        assert history.failure is None
        said = [message.text for message in session.messages]
        assert not session.close()
    with Session.open(path, "a", budget=2_500) as again:
        assert [message.text for message in again.messages] == said
        assert [again.call(number).number for number in (1, 2, 3, 4)] == [1, 2, 3, 4]
        assert again.held_in is None
