"""Wrapped Anthropic clients: the same client, forty calls against a provider that enforces its rules."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from bench.frameworks.work import (
    ASKED,
    BUDGET,
    CALLS,
    READ_ABOUT,
    READ_SCHEMA,
    SYSTEM,
    bodies,
    opened,
    provider,
    read,
    tokens,
)

import foveate

ASK: dict[str, Any] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 4_000,
    "system": SYSTEM,
    "tools": [{"name": "read", "description": READ_ABOUT, "input_schema": READ_SCHEMA}],
    "thinking": {"type": "adaptive"},
}


def client_of(address: str, **options: Any) -> Anthropic:
    client = opened(Anthropic(base_url=address, api_key="none", max_retries=0))
    return foveate.wrap(client, **{"budget": BUDGET, **options})


def answered(content: Any) -> list[Any]:
    called = [block for block in content if block.type == "tool_use"]
    return [{"type": "tool_result", "tool_use_id": one.id, "content": read(**one.input)} for one in called]


def work(client: Anthropic, messages: list[Any], *, most: int = CALLS + 1, stream: bool = False) -> list[Any]:
    """A bare loop, as people write it."""
    for _ in range(most):
        if stream:
            with client.messages.stream(**ASK, messages=messages) as events:
                message = events.get_final_message()
        else:
            message = client.messages.create(**ASK, messages=messages)
        messages.append({"role": "assistant", "content": message.content})
        results = answered(message.content)
        if not results:
            break
        messages.append({"role": "user", "content": results})
    return messages


def plain(messages: list[Any]) -> list[Any]:
    def block(one: Any) -> Any:
        return one if isinstance(one, dict) else one.model_dump(exclude_none=True)

    contents = [message["content"] for message in messages]
    return [content if isinstance(content, str) else [*map(block, content)] for content in contents]


def begun(asked: str = ASKED) -> list[Any]:
    return [{"role": "user", "content": asked}]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_forty_calls_with_thinking_stay_valid_and_in_budget(stream: bool) -> None:
    """Signatures stay as they were made, marks are four at most, and the loop's own list is what it would have been."""
    with provider(budget=None) as untouched:
        alone = work(opened(Anthropic(base_url=untouched.address, api_key="none")), begun())
    with provider() as running:
        client = client_of(running.address)
        messages = work(client, begun(), stream=stream)
        session = foveate.threads_of(client).session()

    assert isinstance(client, Anthropic)
    assert len(running.requests) == CALLS + 1
    if not stream:
        assert plain(messages) == plain(alone)
    assert tokens(untouched.requests[-1]) > 10 * BUDGET
    reported = [event for event in session.events if type(event.body).__name__ == "UsageReported"]
    assert len(reported) == CALLS + 1
    assert "cache_control" in str(bodies(running)[-1])


def test_two_hundred_calls_stay_in_budget() -> None:
    """By what the provider counts and reports for each request."""
    with provider(calls=200) as running:
        client = client_of(running.address)
        work(client, begun(), most=200)

    assert len(running.requests) == 200
    assert max(map(tokens, running.requests)) <= BUDGET


def test_a_retry_an_edit_and_a_process_that_goes_on(tmp_path: Path) -> None:
    with provider() as running, foveate.thread("task-42"):
        first = client_of(running.address, store=tmp_path / "a.db")
        messages = work(first, begun(), most=14)
        first.messages.create(**ASK, messages=messages)
        first.messages.create(**ASK, messages=messages)
        foveate.threads_of(first).close()
        second = client_of(running.address, store=tmp_path / "a.db")
        second.messages.create(**ASK, messages=messages)
        edited = [*messages[:-2], {"role": "assistant", "content": "Enough."}, *begun("Which is the last?")]
        work(second, edited, most=2)
        threads = foveate.threads_of(second)
        assert threads.session().id == "task-42~2"
        threads.close()
    sent = [one.body for one in running.requests]
    assert sent[14] == sent[15] == sent[16]


def test_an_async_client_and_parallel_threads() -> None:
    async def talk(client: AsyncAnthropic, name: str) -> int:
        messages = begun(f"{ASKED} This is thread {name}.")
        for _ in range(CALLS):
            async with client.messages.stream(**ASK, messages=messages) as events:
                message = await events.get_final_message()
            messages.append({"role": "assistant", "content": message.content})
            messages.append({"role": "user", "content": answered(message.content) or "Go on."})
        return len(foveate.threads_of(client).session(f"thread {name}").messages)

    async def run(address: str) -> list[int]:
        async with AsyncAnthropic(base_url=address, api_key="none", max_retries=0) as plain_client:
            client = foveate.wrap(plain_client, budget=BUDGET)
            tasks = []
            for name in "AB":
                with foveate.thread(f"thread {name}"):
                    tasks.append(asyncio.create_task(talk(client, name)))
            return await asyncio.gather(*tasks)

    with provider(calls=CALLS) as running:
        lengths = asyncio.run(run(running.address))
    assert len(running.requests) == 2 * CALLS
    assert min(lengths) > CALLS
