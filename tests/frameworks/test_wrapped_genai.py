"""Wrapped google-genai clients: the same client, forty calls against a provider that enforces its rules."""

from __future__ import annotations

import asyncio
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
    assert tokens(untouched.requests[-1]) > 9 * BUDGET
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
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
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
