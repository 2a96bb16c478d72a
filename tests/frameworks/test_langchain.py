"""LangChain and LangGraph: real agents over HTTP, forty calls, state untouched."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from bench.frameworks import work
from bench.frameworks.work import ASKED, BUDGET, CALLS, SYSTEM, bodies, provider, read, steps, tokens
from bench.provider import Call, Step
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from foveate.integrations.langchain_agent import FoveateMiddleware, MessageHistory


def agent_of(address: str, *middleware: Any, saver: Any = None) -> Any:
    model = ChatOpenAI(model="gpt-5", base_url=f"{address}/v1", api_key="none", max_retries=0, use_responses_api=False)
    work.opened(model.root_client)
    return create_agent(model, [read], system_prompt=SYSTEM, middleware=middleware, checkpointer=saver)


def config(thread: str = "1") -> Any:
    return {"configurable": {"thread_id": thread}, "recursion_limit": 200}


def asked(text: str = ASKED) -> Any:
    return {"messages": [HumanMessage(text)]}


def said(messages: list[Any]) -> list[Any]:
    """Messages without the ids that LangGraph makes up, and what the provider counted."""
    return [one.model_dump(exclude={"id", "response_metadata", "usage_metadata"}) for one in messages]


def test_forty_calls_leave_the_state_as_it_would_be() -> None:
    with provider(budget=None) as untouched:
        alone = agent_of(untouched.address).invoke(asked(), config())["messages"]
    with provider() as running:
        middleware = FoveateMiddleware(budget=BUDGET)
        messages = agent_of(running.address, middleware).invoke(asked(), config())["messages"]

    assert said(messages) == said(alone)
    assert len(running.requests) == CALLS + 1
    assert tokens(untouched.requests[-1]) > 10 * BUDGET
    assert bodies(running)[1] == bodies(untouched)[1]
    session = middleware.threads.session("1")
    assert session.calls == CALLS + 1
    assert sum(type(event.body).__name__ == "UsageReported" for event in session.events) == CALLS + 1


def test_two_threads_interleaved_in_an_event_loop_and_streamed() -> None:
    """One instance serves both; no word of one is sent for the other."""

    async def run(address: str, middleware: Any) -> None:
        agent = agent_of(address, middleware)

        async def one(name: str) -> None:
            async for _ in agent.astream(
                asked(f"{ASKED} This is thread {name}."), config(name), stream_mode="messages"
            ):
                pass

        await asyncio.gather(one("A"), one("B"))

    def which(request: Any) -> str:
        return "A" if "This is thread A" in str(request.body) else "B"

    with provider(answer=work.Sequence({"A": steps(20), "B": steps(20)}, which)) as running:
        middleware = FoveateMiddleware(budget=BUDGET)
        asyncio.run(run(running.address, middleware))
    assert len(running.requests) == 42
    assert all(str(body).count("This is thread") == 1 for body in bodies(running))
    assert [middleware.threads.session(name).calls for name in "AB"] == [21, 21]


def test_a_history_edited_in_the_state_is_a_branch() -> None:
    with provider(calls=12) as running:
        middleware = FoveateMiddleware(budget=BUDGET)
        agent = agent_of(running.address, middleware, saver=InMemorySaver())
        messages = agent.invoke(asked(), config())["messages"]
        agent.update_state(config(), {"messages": [RemoveMessage(id=one.id) for one in messages[-3:]]})
        agent.invoke(asked("Which file was the last?"), config())

    assert middleware.threads.session("1").id == "1~2"
    assert bodies(running)[-1]["messages"][-1]["content"] == "Which file was the last?"


def test_a_process_goes_on_with_the_store(tmp_path: Path) -> None:
    """Byte for byte as without the restart."""

    def run(address: str, *stores: Any) -> list[Any]:
        saver = InMemorySaver()
        for store, text in zip(stores, (ASKED, "And now the others."), strict=True):
            middleware = FoveateMiddleware(budget=BUDGET, store=store)
            agent_of(address, middleware, saver=saver).invoke(asked(text), config())
            middleware.threads.close()
        return bodies(running)

    script = [*steps(12), Step("Half of it is read."), *steps(8)]
    with provider(answer=work.Sequence({"": script}, lambda _: "")) as running:
        halves = run(running.address, tmp_path / "a.db", tmp_path / "a.db")
    middleware = FoveateMiddleware(budget=BUDGET, thread="1")
    with provider(answer=work.Sequence({"": script}, lambda _: "")) as running:
        agent = agent_of(running.address, middleware, saver=InMemorySaver())
        for text in (ASKED, "And now the others."):
            agent.invoke(asked(text), config())
    assert bodies(running) == halves


def test_the_model_can_recall() -> None:
    script = [*steps(10), Step("What was that?", (Call("recall", {"reference": "m3"}),)), Step("Now I know.")]
    with provider(answer=work.Sequence({"": script}, lambda _: "")) as running:
        agent = agent_of(running.address, FoveateMiddleware(budget=BUDGET, recall=True))
        messages = agent.invoke(asked(), config())["messages"]
    assert str(messages[-2].text) == read("src/part_0.py")
    assert any("recall" in str(body["tools"]) for body in bodies(running))


def test_a_summarizer_in_front_is_told_of() -> None:
    """Its summary replaces the history, so the session says why recall ends there; requests stay valid."""
    middleware = FoveateMiddleware(budget=BUDGET)
    with provider(calls=8) as running:
        model = ChatOpenAI(model="gpt-5", base_url=f"{running.address}/v1", api_key="none", use_responses_api=False)
        work.opened(model.root_client)
        summarizer = SummarizationMiddleware(model, trigger=("messages", 9), keep=("messages", 3))
        agent_of(running.address, summarizer, middleware).invoke(asked(), config())
    session = middleware.threads.session("1")
    told = [event.body for event in session.events if getattr(event.body, "code", "") == "summarized_elsewhere"]
    assert len(told) == 1
    assert session.id.startswith("1~")


def test_a_node_that_calls_a_model_itself() -> None:
    history = MessageHistory(budget=BUDGET)
    with provider(
        answer=work.Sequence({"": [Step(f"{number} " * 1_500) for number in range(30)]}, lambda _: "")
    ) as running:
        model = ChatOpenAI(model="gpt-5", base_url=f"{running.address}/v1", api_key="none", use_responses_api=False)
        work.opened(model.root_client)

        def node(state: MessagesState) -> Any:
            return {"messages": [history.invoke(model, [SystemMessage(SYSTEM), *state["messages"]])]}

        graph = StateGraph(MessagesState).add_node("model", node).add_edge(START, "model").compile(InMemorySaver())
        for number in range(30):
            messages = graph.invoke(asked(f"Number {number}, please."), config())["messages"]
    assert [type(one) for one in messages] == [HumanMessage, AIMessage] * 30
    assert all(body["messages"][0] == {"role": "system", "content": SYSTEM} for body in bodies(running))


@pytest.mark.parametrize("version", ["1.3.9", "2.0.0"])
def test_another_version_is_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from foveate.errors import ConfigError
    from foveate.integrations import supported

    monkeypatch.setattr(supported, "version", lambda _: version)
    with pytest.raises(ConfigError, match=rf"langchain {version} is not supported; pip install 'langchain>=1.4,<2'"):
        supported.require("langchain")
