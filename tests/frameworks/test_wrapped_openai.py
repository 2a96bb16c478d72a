"""Wrapped OpenAI clients: the same client, forty calls against a provider that enforces its rules."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import openai
import pytest
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
from openai import AsyncOpenAI, OpenAI

import foveate

TOOLS: Any = [{"type": "function", "function": {"name": "read", "description": READ_ABOUT, "parameters": READ_SCHEMA}}]
RESPONSES_TOOLS: Any = [
    {"type": "function", "name": "read", "description": READ_ABOUT, "parameters": READ_SCHEMA, "strict": False}
]


def client_of(address: str, **options: Any) -> OpenAI:
    return foveate.wrap(
        opened(OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)), **{"budget": BUDGET, **options}
    )


def begun(asked: str = ASKED) -> list[Any]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": asked}]


def work(client: OpenAI, messages: list[Any], *, most: int = CALLS + 1, stream: bool = False) -> list[Any]:
    """A bare loop, as people write it."""
    for _ in range(most):
        if stream:
            with client.chat.completions.stream(model="gpt-5", messages=messages, tools=TOOLS) as events:
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(model="gpt-5", messages=messages, tools=TOOLS).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            said = read(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": said})
    return messages


def plain(messages: list[Any]) -> list[Any]:
    return [one if isinstance(one, dict) else one.model_dump(exclude_none=True) for one in messages]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_forty_calls_stay_valid_and_in_budget(stream: bool) -> None:
    """The loop's own list is what it would have been, and every request is within the budget."""
    with provider(budget=None) as untouched:
        alone = work(opened(OpenAI(base_url=f"{untouched.address}/v1", api_key="none")), begun())
    with provider() as running:
        client = client_of(running.address)
        messages = work(client, begun(), stream=stream)
        threads = foveate.threads_of(client)

    assert len(running.requests) == CALLS + 1
    if not stream:
        assert plain(messages) == plain(alone)
    assert tokens(untouched.requests[-1]) > 10 * BUDGET
    sent = bodies(running)
    assert all(one["messages"][0] == begun()[0] for one in sent)
    # Nothing was reduced yet: sent as it came.
    assert sent[1]["messages"] == bodies(untouched)[1]["messages"]
    assert threads.session().calls == CALLS + 1
    # The last answer has not come back yet.
    assert len(threads.session().messages) == len(messages) - 2


def test_it_is_the_same_client() -> None:
    """Types, options and everything that is not compiled stay."""
    client = opened(OpenAI(base_url="http://127.0.0.1:9/v1", api_key="none"))
    client.chat.completions  # noqa: B018  made before it is wrapped
    wrapped = foveate.wrap(client, budget=BUDGET)

    assert isinstance(wrapped, OpenAI)
    assert type(wrapped).__name__ == "OpenAI"
    assert wrapped.chat.completions._client is wrapped
    assert client.chat.completions._client is client
    other = wrapped.with_options(timeout=3)
    assert isinstance(other, type(wrapped))
    assert foveate.threads_of(other) is foveate.threads_of(wrapped)
    with pytest.raises(foveate.ConfigError, match="wrapped already"):
        foveate.wrap(wrapped, budget=BUDGET)
    with pytest.raises(foveate.ConfigError, match="is not wrapped"):
        foveate.threads_of(client)
    with pytest.raises(foveate.ConfigError, match="give one of `openai`"):
        foveate.wrap(object(), budget=BUDGET)
    with pytest.raises(foveate.ConfigError, match="`budget`"):
        foveate.wrap(client, budget=0)
    with pytest.raises(foveate.ConfigError, match="comes with each request"):
        foveate.wrap(client, budget=BUDGET, system="x")


def test_a_retry_sends_the_same_bytes_and_records_nothing() -> None:
    with provider() as running:
        client = client_of(running.address)
        messages = work(client, begun(), most=12)
        client.chat.completions.create(model="gpt-5", messages=messages, tools=TOOLS)
        calls = foveate.threads_of(client).session().calls
        client.chat.completions.create(model="gpt-5", messages=messages, tools=TOOLS)

    assert foveate.threads_of(client).session().calls == calls
    assert running.requests[-1].body == running.requests[-2].body


def test_an_edited_history_goes_on_from_what_it_shares() -> None:
    """The log keeps what was edited away; the edited history is a branch, and its beginning is sent as before."""
    with provider() as running:
        client = client_of(running.address)
        messages = work(client, begun(), most=20)
        before = bodies(running)[-1]["messages"]
        answers = [at for at, message in enumerate(plain(messages)) if message["role"] == "assistant"]
        edited = [*messages[: answers[-3]], {"role": "user", "content": "Stop. Read only src/last.py."}]
        work(client, edited, most=3)
        threads = foveate.threads_of(client)
        first = threads.session().id
        work(client, messages, most=3)

    assert first.endswith("~2")
    assert not threads.session().id.endswith("~2")
    sent = bodies(running)[20]["messages"]
    shared = next(at for at, (one, other) in enumerate(zip(before, sent, strict=False)) if one != other)
    assert 0 < shared < len(before)
    assert sent[-1] == edited[answers[-3]]


def test_two_threads_interleaved() -> None:
    """By what they begin with, or by name."""
    with provider(calls=0) as running:
        client = client_of(running.address)
        one, two = begun("One."), begun("Two.")
        for _ in range(3):
            for messages in (one, two):
                work(client, messages, most=1)
                messages.append({"role": "user", "content": "Go on."})
        with foveate.thread("named"):
            work(client, begun("One."), most=1)
        threads = foveate.threads_of(client)
        names = {*threads._threads}

    assert len(names) == 3
    assert "named" in names
    assert [len(threads.session(name).messages) for name in sorted(names)] == [1, 5, 5]
    assert all("Two." not in json.dumps(body) for body in bodies(running)[0:6:2])


def test_a_process_goes_on_where_another_one_ended(tmp_path: Path) -> None:
    """Every request is byte for byte what it would have been without the restart."""
    with provider(calls=24) as whole:
        work(client_of(whole.address), begun())
    with provider(calls=24) as running:
        first = client_of(running.address, store=tmp_path / "a.db", thread="task-42")
        messages = work(first, begun(), most=14)
        foveate.threads_of(first).close()
        second = client_of(running.address, store=tmp_path / "a.db", thread="task-42")
        work(second, plain(messages))
        session = foveate.threads_of(second).session("task-42")
        assert session.calls == 25
        foveate.threads_of(second).close()
    assert [one.body for one in running.requests] == [one.body for one in whole.requests]


def test_usage_is_reported() -> None:
    with provider(calls=2) as running:
        client = client_of(running.address)
        messages = begun()
        work(client, messages)
        raw = client.chat.completions.with_raw_response.create(model="gpt-5", messages=messages)
        assert raw.parse().choices[0].message.content
        session = foveate.threads_of(client).session()
    reported = [event.body.input_tokens for event in session.events if event.body.__class__.__name__ == "UsageReported"]
    assert reported == [tokens(one) for one in running.requests]


def test_instructions_alone_are_within_the_budget() -> None:
    with provider(calls=0) as running:
        client = client_of(running.address)
        short = [{"role": "system", "content": SYSTEM}, {"role": "developer", "content": "Say hello."}]
        client.chat.completions.create(model="gpt-5", messages=short)
        with pytest.raises(foveate.BudgetError):
            client.chat.completions.create(model="gpt-5", messages=[{"role": "system", "content": "word " * 20_000}])
    assert [body["messages"] for body in bodies(running)] == [short]


def test_what_stands_in_extra_body_is_compiled_too() -> None:
    """The library sends it in place of arguments, so it counts, and is refused where they would be."""
    with provider(calls=0) as running:
        client = client_of(running.address)
        long = {"messages": [{"role": "user", "content": f"{at} " + "word " * 2_000} for at in range(20)], "top_k": 3}
        client.chat.completions.create(
            model="gpt-5", messages=begun(), seed=7, extra_body={**long, "seed": openai.Omit()}
        )
        tools = [{"type": "function", "function": {"name": "x", "description": "word " * 20_000}}]
        with pytest.raises(foveate.BudgetError, match="tools"):
            client.chat.completions.create(model="gpt-5", messages=begun(), extra_body={"tools": tools})
        with pytest.raises(foveate.ConfigError, match="previous_response_id"):
            client.responses.create(model="gpt-5", input="Hello.", extra_body={"previous_response_id": "resp_1"})
    (sent,) = bodies(running)
    assert sent["messages"][-1] == long["messages"][-1]
    assert sent["top_k"] == 3
    assert "seed" not in sent


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"prompt": {"id": "pmpt_1"}},
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
    ],
    ids=lambda one: next(iter(one)),
)
def test_what_the_provider_keeps_is_refused(elsewhere: Any) -> None:
    client = client_of("http://127.0.0.1:9")
    with pytest.raises(foveate.ConfigError, match="with the provider"):
        client.responses.create(**{"model": "gpt-5", "input": "More.", **elsewhere})


def test_an_async_client_does_the_same() -> None:
    async def run(address: str) -> tuple[list[Any], int]:
        async with AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as plain_client:
            client = foveate.wrap(plain_client, budget=BUDGET)
            assert isinstance(client, AsyncOpenAI)
            messages = begun()
            for _ in range(CALLS + 1):
                stream = await client.chat.completions.create(
                    model="gpt-5", messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
                )
                async for chunk in stream:
                    assert isinstance(chunk, openai.types.chat.ChatCompletionChunk)
                message = (
                    (await client.chat.completions.create(model="gpt-5", messages=messages, tools=TOOLS))
                    .choices[0]
                    .message
                )
                messages.append(message)
                if not message.tool_calls:
                    break
                for call in message.tool_calls:
                    messages.append(
                        {
                            "role": "tool",
                            "tool_call_id": call.id,
                            "content": read(**json.loads(call.function.arguments)),
                        }
                    )
            return messages, foveate.threads_of(client).session().calls

    with provider(calls=2 * CALLS) as running:
        messages, calls = asyncio.run(run(running.address))
    assert calls == len(running.requests) // 2 == CALLS + 1
    assert len(messages) > CALLS * 2


def test_responses_with_reasoning() -> None:
    """Reasoning stays with its call, as the provider demands."""
    with provider() as running:
        client = client_of(running.address)
        items: list[Any] = [{"role": "user", "content": ASKED}]
        for _ in range(CALLS + 1):
            answer = client.responses.create(
                model="gpt-5",
                instructions=SYSTEM,
                input=items,
                tools=RESPONSES_TOOLS,
                store=False,
                include=["reasoning.encrypted_content"],
            )
            items += answer.output
            called = [one for one in answer.output if one.type == "function_call"]
            if not called:
                break
            for call in called:
                said = read(**json.loads(call.arguments))
                items.append({"type": "function_call_output", "call_id": call.call_id, "output": said})
    assert len(running.requests) == CALLS + 1
    assert any(one.get("type") == "reasoning" for one in bodies(running)[-1]["input"])
    assert bodies(running)[-1]["instructions"] == SYSTEM
