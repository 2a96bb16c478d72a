"""OpenAI Agents: real runs over HTTP, forty calls, items untouched, sessions in a store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from bench.frameworks import work
from bench.frameworks.work import ASKED, BUDGET, CALLS, SYSTEM, bodies, provider, read, steps, tokens
from bench.provider import Call, Step
from openai import AsyncOpenAI

import foveate
from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from foveate.integrations.openai_agents import BudgetedRuns, FoveateSession

set_tracing_disabled(disabled=True)


async def run(
    address: str, history: BudgetedRuns | None, *, streamed: bool = False, text: Any = ASKED, **options: Any
) -> list[Any]:
    async with AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        tools = [function_tool(read), *([history.recall_tool()] if history is not None else [])]
        agent = Agent("reader", instructions=SYSTEM, model=OpenAIResponsesModel("gpt-5", client), tools=tools)
        if history is not None:
            options |= {"run_config": history.run_config(), "hooks": history}
        if streamed:
            result: Any = Runner.run_streamed(agent, text, max_turns=100, **options)
            async for _ in result.stream_events():
                pass
        else:
            result = await Runner.run(agent, text, max_turns=100, **options)
        return result.to_input_list()


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_forty_calls_leave_the_items_as_they_would_be(streamed: bool) -> None:
    with provider(budget=None) as untouched:
        alone = asyncio.run(run(untouched.address, None))
    with provider() as running:
        history = BudgetedRuns(budget=BUDGET)
        items = asyncio.run(run(running.address, history, streamed=streamed))

    assert items == alone
    assert len(running.requests) == CALLS + 1
    assert tokens(untouched.requests[-1]) > 10 * BUDGET
    assert bodies(running)[1]["input"] == bodies(untouched)[1]["input"]
    session = history.threads.session()
    assert session.calls == CALLS + 1
    assert sum(type(event.body).__name__ == "UsageReported" for event in session.events) == CALLS + 1


def test_a_session_in_the_store_across_processes(tmp_path: Path) -> None:
    """Its items come back byte for byte; what was popped leaves the requests and not the log."""
    script = [*steps(12), Step("Half of it is read."), *steps(8), Step("All is read."), Step("The last was it.")]
    store = tmp_path / "a.db"

    async def talk(address: str, text: str) -> list[Any]:
        history, session = BudgetedRuns(budget=BUDGET, store=store), FoveateSession("42", store)
        with foveate.thread("42"):
            await run(address, history, text=text, session=session)
        items = await session.get_items()
        history.threads.close()
        session.close()
        return items

    with provider(answer=work.Sequence({"": script}, lambda _: "")) as running:
        first = asyncio.run(talk(running.address, ASKED))
        second = asyncio.run(talk(running.address, "And now the others."))
    assert second[: len(first)] == first

    async def cut() -> None:
        session = FoveateSession("42", store)
        assert await session.pop_item() == second[-1]
        assert await session.get_items() == second[:-1]
        assert await session.get_items(limit=2) == second[-3:-1]
        await session.add_items([{"role": "user", "content": "More."}])
        assert (await session.get_items())[-1]["content"] == "More."
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None
        session.close()

    asyncio.run(cut())


def test_a_history_that_the_provider_keeps_is_refused() -> None:
    with provider(calls=3) as running, pytest.raises(foveate.ConfigError, match="without its call"):
        asyncio.run(run(running.address, BudgetedRuns(budget=BUDGET), previous_response_id="resp_0000"))


def test_two_runs_of_one_agent_interleaved_and_recall() -> None:
    """No thread is named: each run recalls what it read itself, and is told what its own requests took."""

    async def both(address: str, history: BudgetedRuns) -> None:
        async with AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
            tools = [function_tool(read), history.recall_tool()]
            agent = Agent("reader", instructions=SYSTEM, model=OpenAIResponsesModel("gpt-5", client), tools=tools)
            options: Any = {"run_config": history.run_config(), "hooks": history, "max_turns": 100}
            texts = [f"{ASKED} This is thread {name}." for name in "AB"]
            await asyncio.gather(*(Runner.run(agent, text, **options) for text in texts))

    def which(request: Any) -> str:
        return "A" if "This is thread A" in str(request.body) else "B"

    recall = Step("What was that?", (Call("recall", {"reference": "m3"}),))
    others = [Step("Next.", (Call("read", {"path": f"lib/other_{number}.py"}),)) for number in range(12)]
    with provider(answer=work.Sequence({"A": [*steps(12), recall], "B": [*others, recall]}, which)) as running:
        history = BudgetedRuns(budget=BUDGET)
        asyncio.run(both(running.address, history))
    assert all(str(body).count("This is thread") == 1 for body in bodies(running))
    for name, path in (("A", "src/part_0.py"), ("B", "lib/other_0.py")):
        sent = [one for one in running.requests if f"This is thread {name}" in str(one.body)]
        assert json.loads(sent[-1].body)["input"][-1]["output"] == read(path)
        sessions = [found.branches[0].session for found in history.threads._threads.values()]
        session = next(one for one in sessions if f"thread {name}" in one.messages[0].text)
        reported = [event.body for event in session.events if type(event.body).__name__ == "UsageReported"]
        assert [one.input_tokens for one in reported] == [tokens(one) for one in sent]
