"""Wrapped google-genai clients: the same client, forty calls against a provider that enforces its rules."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

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
from google import genai
from google.genai import types

import foveate

DECLARED = types.FunctionDeclaration(name="read", description=READ_ABOUT, parameters_json_schema=READ_SCHEMA)
CONFIG = types.GenerateContentConfig(system_instruction=SYSTEM, tools=[types.Tool(function_declarations=[DECLARED])])
MODEL = "gemini-2.5-pro"


def client_of(address: str) -> genai.Client:
    return opened(genai.Client(api_key="none", http_options=types.HttpOptions(base_url=address)))


def answered(content: types.Content) -> types.Content | None:
    called = [part.function_call for part in content.parts or () if part.function_call]
    parts = [
        types.Part(
            function_response=types.FunctionResponse(id=one.id, name=one.name, response={"result": read(**one.args)})
        )
        for one in called
    ]
    return types.Content(role="user", parts=parts) if parts else None


def begun() -> list[types.Content]:
    return [types.Content(role="user", parts=[types.Part(text=ASKED)])]


def work(client: genai.Client, contents: list[Any], *, stream: bool = False, most: int = CALLS + 1) -> list[Any]:
    """A bare loop, as people write it."""
    for _ in range(most):
        if stream:
            *_, answer = client.models.generate_content_stream(model=MODEL, contents=contents, config=CONFIG)
        else:
            answer = client.models.generate_content(model=MODEL, contents=contents, config=CONFIG)
        contents.append(answer.candidates[0].content)
        results = answered(contents[-1])
        if results is None:
            break
        contents.append(results)
    return contents


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_forty_calls_stay_valid_and_in_budget(stream: bool) -> None:
    with provider(budget=None) as untouched:
        alone = work(client_of(untouched.address), begun())
    with provider() as running:
        client = foveate.wrap(client_of(running.address), budget=BUDGET)
        contents = work(client, begun(), stream=stream)
        session = foveate.threads_of(client).session()

    assert isinstance(client, genai.Client)
    assert len(running.requests) == CALLS + 1
    assert [one.model_dump() for one in contents] == [one.model_dump() for one in alone]
    assert tokens(untouched.requests[-1]) > 10 * BUDGET
    assert bodies(running)[1] == bodies(untouched)[1]
    reported = [event for event in session.events if type(event.body).__name__ == "UsageReported"]
    assert len(reported) == CALLS + 1


def test_chats_and_functions_that_the_library_calls_itself() -> None:
    """Each of the requests in between is compiled."""
    with provider() as running:
        client = foveate.wrap(client_of(running.address), budget=BUDGET)
        calling = types.AutomaticFunctionCallingConfig(maximum_remote_calls=CALLS + 2)
        config = types.GenerateContentConfig(
            system_instruction=SYSTEM, tools=[read], automatic_function_calling=calling
        )
        chat = client.chats.create(model=MODEL, config=config)
        answer = chat.send_message(ASKED)

    assert answer.text == "src/part_7.py has the bug."
    assert len(running.requests) == CALLS + 1
    assert len(chat.get_history()) > CALLS


# The library's own, of how it uses another one.
OTHERS_WARNING = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


@OTHERS_WARNING
def test_the_async_half_does_the_same() -> None:
    async def run(address: str) -> int:
        client = foveate.wrap(client_of(address), budget=BUDGET)
        contents: list[Any] = begun()
        for number in range(CALLS):
            if number % 2:
                answer = await client.aio.models.generate_content(model=MODEL, contents=contents, config=CONFIG)
            else:
                stream = await client.aio.models.generate_content_stream(model=MODEL, contents=contents, config=CONFIG)
                async for chunk in stream:
                    answer = chunk
            contents += [answer.candidates[0].content, answered(answer.candidates[0].content)]
        await client.aio.aclose()
        return foveate.threads_of(client).session().calls

    with provider() as running:
        assert asyncio.run(run(running.address)) == CALLS


@pytest.mark.parametrize(
    "config",
    [
        types.GenerateContentConfig(cached_content="cachedContents/1"),
        types.GenerateContentConfig(http_options=types.HttpOptions(extra_body={"contents": []})),
        {"http_options": {"extra_body": {"tools": []}}},
    ],
    ids=["cached", "extra", "plain"],
)
def test_what_no_budget_would_count_is_refused(config: Any) -> None:
    client = foveate.wrap(client_of("http://127.0.0.1:9"), budget=BUDGET)
    with pytest.raises(foveate.ConfigError, match="no budget"):
        client.models.generate_content(model=MODEL, contents="Hello.", config=config)


def test_a_stream_left_early_is_reported() -> None:
    with provider(calls=0) as running:
        client = foveate.wrap(client_of(running.address), budget=BUDGET)
        chunks = client.models.generate_content_stream(model=MODEL, contents="Hello.")
        next(chunks)
        chunks.close()
        session = foveate.threads_of(client).session()
    assert [type(event.body).__name__ for event in session.events][-1] == "UsageReported"


@OTHERS_WARNING
def test_a_client_outlives_those_that_were_wrapped_around_it() -> None:
    async def ask(client: genai.Client) -> str | None:
        wrapped = foveate.wrap(client, budget=BUDGET)
        await wrapped.aio.models.generate_content(model=MODEL, contents="Hello.")
        del wrapped
        gc.collect()
        await asyncio.sleep(0)
        answer = await client.aio.models.generate_content(model=MODEL, contents="Hello.")
        await client.aio.aclose()
        return answer.text

    with provider(calls=0) as running:
        client = client_of(running.address)
        foveate.wrap(client, budget=BUDGET).models.generate_content(model=MODEL, contents="Hello.")
        gc.collect()
        assert client.models.generate_content(model=MODEL, contents="Hello.").text
        assert asyncio.run(ask(client))
