"""pydantic-ai: real agents over HTTP, forty calls, `all_messages()` untouched."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from bench.frameworks import work
from bench.frameworks.work import ASKED, BUDGET, CALLS, SYSTEM, bodies, provider, read, steps, tokens
from bench.provider import Call, Step
from pydantic_ai import Agent, ModelMessagesTypeAdapter
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

from foveate.integrations.pydantic_ai_agent import BudgetedHistory

LIMITS = UsageLimits(request_limit=100)


def agent_of(address: str, *capabilities: Any, anthropic: bool = False) -> Agent:
    if anthropic:
        model: Any = AnthropicModel("claude-sonnet-4-6", provider=AnthropicProvider(api_key="none", base_url=address))
    else:
        model = OpenAIChatModel("gpt-5", provider=OpenAIProvider(api_key="none", base_url=f"{address}/v1"))
    return Agent(model, instructions=SYSTEM, tools=[read], capabilities=capabilities)


def said(messages: list[Any]) -> Any:
    """Messages without times and made-up ids."""
    volatile = {"timestamp", "run_id", "conversation_id", "usage", "provider_url"}

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items() if key not in volatile}
        return [*map(plain, value)] if isinstance(value, list) else value

    return plain(ModelMessagesTypeAdapter.dump_python(messages, mode="json"))


async def run(agent: Agent, *prompts: str, history: Any = None, streamed: bool = False) -> list[Any]:
    async with agent:
        for prompt in prompts:
            if streamed:
                events = agent.run_stream_events(prompt, message_history=history, usage_limits=LIMITS)
                async with events as stream:
                    found = [event async for event in stream]
                result = found[-1].result
            else:
                result = await agent.run(prompt, message_history=history, usage_limits=LIMITS)
            history = result.all_messages()
    return history


def test_forty_calls_leave_all_messages_as_they_would_be() -> None:
    with provider(budget=None) as untouched:
        alone = asyncio.run(run(agent_of(untouched.address), ASKED))
    with provider() as running:
        history = BudgetedHistory(budget=BUDGET)
        messages = asyncio.run(run(agent_of(running.address, history), ASKED))

    assert said(messages) == said(alone)
    assert len(running.requests) == CALLS + 1
    assert tokens(untouched.requests[-1]) > 10 * BUDGET
    assert bodies(running)[1] == bodies(untouched)[1]
    assert all(
        [one["content"] for one in body["messages"] if one["role"] == "system"] == [SYSTEM] for body in bodies(running)
    )
    session = history.threads.session()
    assert session.calls == CALLS + 1
    assert sum(type(event.body).__name__ == "UsageReported" for event in session.events) == CALLS + 1


def test_streamed_with_anthropic() -> None:
    with provider() as running:
        history = BudgetedHistory(budget=BUDGET)
        messages = asyncio.run(run(agent_of(running.address, history, anthropic=True), ASKED, streamed=True))
    assert len(running.requests) == CALLS + 1
    assert len(messages) == 2 * (CALLS + 1)


def test_two_conversations_interleaved_and_one_that_forks() -> None:
    async def both(agent: Agent) -> list[Any]:
        async with agent:
            names = ("A", "B")
            runs = (agent.run(f"{ASKED} This is thread {name}.", usage_limits=LIMITS) for name in names)
            return [one.all_messages() for one in await asyncio.gather(*runs)]

    def which(request: Any) -> str:
        return "A" if "This is thread A" in str(request.body) else "B"

    with provider(answer=work.Sequence({"A": steps(12), "B": steps(12)}, which)) as running:
        history = BudgetedHistory(budget=BUDGET)
        agent = agent_of(running.address, history)
        first, _ = asyncio.run(both(agent))
        sessions = {found.branches[0].session.calls for found in history.threads._threads.values()}
        assert sessions == {13}
        asyncio.run(run(agent_of(running.address, history), "Which was the last?", history=first[:-3]))
    assert history.threads.session(first[0].conversation_id).id.endswith("~2")
    assert all(str(body).count("This is thread") == 1 for body in bodies(running))


def test_a_worker_goes_on_with_the_store(tmp_path: Path) -> None:
    """The history is all that it gets, and the request is byte for byte what it would have been."""
    script = [*steps(12), Step("Half of it is read."), *steps(6)]

    def answer() -> Any:
        return work.Sequence({"": script}, lambda _: "")

    with provider(answer=answer()) as whole:
        asyncio.run(run(agent_of(whole.address, BudgetedHistory(budget=BUDGET)), ASKED, "And now the others."))
    with provider(answer=answer()) as running:
        first = BudgetedHistory(budget=BUDGET, store=tmp_path / "a.db")
        half = asyncio.run(run(agent_of(running.address, first), ASKED))
        first.threads.close()
        again = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(half))
        second = BudgetedHistory(budget=BUDGET, store=tmp_path / "a.db")
        asyncio.run(run(agent_of(running.address, second), "And now the others.", history=again))
        second.threads.close()
    assert bodies(running) == bodies(whole)


def test_the_model_can_recall() -> None:
    script = [*steps(10), Step("What was that?", (Call("recall", {"reference": "m3"}),)), Step("Now I know.")]
    with provider(answer=work.Sequence({"": script}, lambda _: "")) as running:
        messages = asyncio.run(run(agent_of(running.address, BudgetedHistory(budget=BUDGET, recall=True)), ASKED))
    assert messages[-2].parts[0].content in (read("src/part_0.py"), read("src/part_1.py"))


def test_the_model_can_recall_some_lines() -> None:
    """The tool has all arguments that its description speaks of."""
    asked = {"reference": "m3", "lines": {"start": 2, "end": 3}}
    script = [*steps(2), Step("What was that?", (Call("recall", asked),)), Step("Now I know.")]
    with provider(answer=work.Sequence({"": script}, lambda _: "")) as running:
        messages = asyncio.run(run(agent_of(running.address, BudgetedHistory(budget=BUDGET, recall=True)), ASKED))
    found = messages[-2].parts[0].content
    assert found.count("compute_") == 2
    assert found.splitlines()[-1].endswith(read("src/part_0.py").splitlines()[2])
