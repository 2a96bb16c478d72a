"""The driver on pydantic-ai: what a model really gets, what comes back, and what becomes of failures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel as ModelForTests
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

import foveate
from foveate.agents.driver import Driver, DriverError, Reply, Schema
from foveate.agents.loop import Patience, ask
from foveate.errors import ConfigError
from foveate.integrations.pydantic_ai import PydanticAIDriver, local_model_driver
from foveate.log.messages import ToolCall
from foveate.wire.format import Request
from tests.integrations.loopback import Loopback, Turn, gone, loopback, refused, said, streamed

SYSTEM = "You repair programs, one small step after the other."
READ = {
    "type": "function",
    "function": {
        "name": "read",
        "description": "Read a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
            "required": ["path"],
        },
    },
}
FINISH = {
    "type": "function",
    "function": {
        "name": "finish",
        "description": "Call this once.",
        "parameters": {
            "type": "object",
            "properties": {"done": {"$ref": "#/$defs/Done"}},
            "$defs": {"Done": {"enum": [1]}},
        },
    },
}
END = Schema(name="finish", definition=FINISH["function"]["parameters"])
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a.py"}'}}
CHATS: list[dict[str, Any]] = [
    {"role": "user", "content": "Repair a.py."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "x = 1"},
]


def session(*chats: dict[str, Any]) -> foveate.Session:
    made = foveate.Session(system=SYSTEM, tools=[READ, FINISH])
    made.extend(chats or CHATS)
    return made


def request(*chats: dict[str, Any]) -> Request:
    return session(*chats).compile().request


class Recorder:
    """A model that keeps what it was sent."""

    def __init__(self, *answers: object, profile: ModelProfile | None = None) -> None:
        self.answers = list(answers) or ["Yes."]
        self.asked: list[tuple[list[ModelMessage], AgentInfo]] = []
        self.model = FunctionModel(self._answer, stream_function=self._stream, profile=profile)

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.asked.append((messages, info))
        answer = self.answers.pop(0)
        return answer if isinstance(answer, ModelResponse) else ModelResponse(parts=[TextPart(content=str(answer))])

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        self.asked.append((messages, info))
        for word in str(self.answers.pop(0)).split(" "):
            yield f"{word} "

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Kinds and contents of all parts of the last request, in order."""
        return [(part.part_kind, str(getattr(part, "content", ""))) for one in self.asked[-1][0] for part in one.parts]


@pytest.fixture(scope="module")
def provider() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


class Pauses:
    """Waits for nothing, and keeps for how long it should have."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def asked(
    provider: Loopback, *turns: Turn, mode: Any = "auto", texts: list[str] | None = None
) -> tuple[Reply, list[float]]:
    """The reply of a scripted provider, and the pauses on the way."""
    provider.answers(*turns)
    pauses = Pauses()
    async with openai_model(provider.address) as model:
        driver: Driver = PydanticAIDriver(model, mode=mode)
        heard = None if texts is None else texts.append
        reply = await ask(driver, request(), END, Patience(sleep=pauses), on_text=heard)
    return reply, pauses.seconds


def openai_model(address: str) -> Model:
    return OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=f"{address}/v1", api_key="secret"))


def parts(reply: Reply) -> list[Any]:
    assert isinstance(reply.message, ModelResponse)
    return list(reply.message.parts)


# --- what a model gets ------------------------------------------------------------------------------------------------


async def test_system_prompt_tools_and_messages_reach_the_model() -> None:
    """Nothing is added and nothing left out, and the model is asked once."""
    recorder = Recorder()
    await PydanticAIDriver(recorder.model).generate(request(), END)
    ((_, info),) = recorder.asked
    assert recorder.texts == [
        ("system-prompt", SYSTEM),
        ("user-prompt", "Repair a.py."),
        ("tool-call", ""),
        ("tool-return", "x = 1"),
    ]
    assert [(tool.name, tool.description) for tool in info.function_tools] == [
        ("read", "Read a file."),
        ("finish", "Call this once."),
    ]
    assert [tool.parameters_json_schema for tool in info.function_tools] == [
        READ["function"]["parameters"],
        FINISH["function"]["parameters"],
    ]


async def test_the_bytes_on_the_wire_are_the_compiled_request(provider: Loopback) -> None:
    """What the provider gets through pydantic-ai is what Foveate itself would have sent."""
    await asked(provider, said("Yes."))
    (body,) = provider.bodies
    assert body["messages"] == session().compile().to("openai")
    assert [tool["function"] for tool in body["tools"]] == [READ["function"], FINISH["function"]]
    assert "response_format" not in body


async def test_what_is_sent_is_the_same_at_every_call(provider: Loopback) -> None:
    """The same request is the same bytes, with tools and as JSON: else no cache would hold."""
    for mode in ("tools", "json"):
        await asked(provider, said("Yes."), mode=mode)
        first = json.dumps(provider.bodies)
        await asked(provider, said("Yes."), mode=mode)
        assert json.dumps(provider.bodies) == first


async def test_instructions_in_the_middle_stay_there() -> None:
    """They are marked for models that take none there; without them, no text is touched."""
    recorder = Recorder("One.", "Two.")
    driver = PydanticAIDriver(recorder.model)
    await driver.generate(request(*CHATS, {"role": "system", "content": "Be quick."}), END)
    assert recorder.texts[-1] == ("user-prompt", "<system>Be quick.</system>")
    await driver.generate(request(*CHATS[:2], {**CHATS[2], "content": "<system>"}), END)
    assert recorder.texts[-1] == ("tool-return", "<system>")


async def test_a_request_that_cannot_be_sent_whole_is_refused() -> None:
    driver = PydanticAIDriver(Recorder().model)
    with pytest.raises(DriverError, match=r"`schema` 'report' is no tool of the request; it has read, finish"):
        await driver.generate(request(), Schema(name="report", definition={}))
    framed = session()
    framed.reframe(response_format={"type": "json_object"})
    with pytest.raises(DriverError, match="`response_format` is not sent"):
        await driver.generate(framed.compile().request, END)


# --- what comes back --------------------------------------------------------------------------------------------------


async def test_an_answer_goes_into_the_session_and_out_again(provider: Loopback) -> None:
    """A call is appended as it came, answered, and sent back in the next request."""
    going = session(CHATS[0])
    arguments = '{"path":"b.py","lines":3}'
    async with openai_model(provider.address) as model:
        driver = PydanticAIDriver(model)
        provider.answers(said(calls=[("read", arguments)]), said("Done."))
        reply = await driver.generate(going.compile().request, END)
        going.append(reply.message)
        assert [(call.name, call.arguments) for call in going.messages[-1].calls] == [("read", arguments)]
        going.append({"role": "tool", "tool_call_id": "c0", "content": "y = 2"})
        await driver.generate(going.compile().request, END)
    sent = provider.bodies[-1]["messages"]
    assert sent[-2]["tool_calls"][0]["function"] == {"name": "read", "arguments": arguments}
    assert sent[-1] == {"role": "tool", "tool_call_id": "c0", "content": "y = 2"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (None, (None, None, None)),
        ({"prompt_tokens": 50, "completion_tokens": 3}, (50, None, 3)),
        ({"prompt_tokens": 50, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 0}}, (50, 0, 3)),
        ({"prompt_tokens": 50, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 40}}, (50, 40, 3)),
    ],
)
async def test_only_what_a_provider_counted_is_reported(
    provider: Loopback, usage: dict[str, Any] | None, counted: tuple[int | None, ...], *, stream: bool
) -> None:
    """No word of cached tokens is something else than none."""
    turn = streamed("Yes", ".", usage=usage) if stream else said("Yes.", usage=usage)
    reply, _ = await asked(provider, turn, texts=[] if stream else None)
    assert (reply.input_tokens, reply.cached_tokens, reply.output_tokens) == counted


async def test_a_streamed_answer_is_the_same_in_pieces(provider: Loopback) -> None:
    texts: list[str] = []
    whole, _ = await asked(provider, said("It is done."))
    reply, _ = await asked(provider, streamed("It is", " done", "."), texts=texts)
    assert texts == ["It is", " done", "."]
    assert parts(reply) == parts(whole)
    assert foveate.Session().append(reply.message)


async def test_any_model_of_pydantic_ai_will_do() -> None:
    """Its own model for tests calls a tool with arguments by its schema."""
    driver = PydanticAIDriver(ModelForTests(call_tools=["read"]))
    (call,) = parts(await driver.generate(request(CHATS[0]), END))
    assert isinstance(call, ToolCallPart)
    assert (call.tool_name, call.args) == ("read", {"path": "a"})
    assert driver.name == "test:test"


# --- calls as JSON ----------------------------------------------------------------------------------------------------


async def test_json_mode_sends_a_schema_instead_of_tools(provider: Loopback) -> None:
    """The model is told of the tools, held to the form of a call, and its answer is one."""
    reply, _ = await asked(provider, said('{"tool": "finish", "arguments": {"done": 1}}'), mode="json")
    (body,) = provider.bodies
    assert "tools" not in body
    form = body["response_format"]["json_schema"]["schema"]
    assert [one["properties"]["tool"]["const"] for one in form["anyOf"]] == ["read", "finish"]
    assert form["$defs"] == {"finish.Done": {"enum": [1]}}
    system, task, call, result = body["messages"]
    assert system["content"].startswith(f"{SYSTEM}\n\nAnswer with one JSON object")
    assert "- read: Read a file. {" in system["content"]
    assert task == {"role": "user", "content": "Repair a.py."}
    assert call == {"role": "assistant", "content": '{"tool": "read", "arguments": {"path":"a.py"}}'}
    assert result == {"role": "user", "content": "[result of read]\n>x = 1"}
    (said_call,) = parts(reply)
    assert isinstance(said_call, ToolCallPart)
    assert (said_call.tool_name, said_call.args) == ("finish", '{"done": 1}')


async def test_a_call_as_json_is_a_call_in_the_session(provider: Loopback) -> None:
    """Whoever reads the session sees no difference, streamed or not, and ids do not repeat."""
    going = session(CHATS[0])
    calls: list[ToolCall] = []
    for turn, texts in (
        (said('{"tool": "read", "arguments": {"path": "b"}}'), None),
        (streamed('{"tool": "read", "ar', 'guments": {"path": "b"}}'), []),
    ):
        reply, _ = await asked(provider, turn, mode="json", texts=texts)
        going.append(reply.message)
        calls += going.messages[-1].calls
        going.append({"role": "tool", "tool_call_id": calls[-1].id, "content": "z"})
    assert [(call.name, call.arguments) for call in calls] == [("read", '{"path": "b"}')] * 2
    assert calls[0].id != calls[1].id


async def test_an_answer_that_is_no_call_comes_back_as_it_is(provider: Loopback) -> None:
    reply, _ = await asked(provider, said('{"tool": "read", "argum'), mode="json")
    assert parts(reply) == [TextPart(content='{"tool": "read", "argum')]


async def test_what_a_model_thought_stays_with_its_call() -> None:
    answer = ModelResponse(parts=[ThinkingPart(content="Hm."), TextPart(content='{"tool": "read", "arguments": {}}')])
    thought, call = parts(await PydanticAIDriver(Recorder(answer).model, mode="json").generate(request(), END))
    assert thought == ThinkingPart(content="Hm.")
    assert (call.tool_name, call.args) == ("read", "{}")


async def test_without_a_result_to_come_a_model_may_use_words() -> None:
    recorder = Recorder('{"text": "Hello."}', "Hello again.")
    driver = PydanticAIDriver(recorder.model, mode="json")
    assert parts(await driver.generate(request(CHATS[0]), None)) == [TextPart(content="Hello.")]
    # With no tools either, there is nothing to choose from.
    plain = foveate.Session(system=SYSTEM)
    plain.append(CHATS[0])
    assert parts(await driver.generate(plain.compile().request, None)) == [TextPart(content="Hello again.")]
    assert recorder.texts[0] == ("system-prompt", SYSTEM)
    assert recorder.asked[-1][1].model_request_parameters.output_mode == "text"


@pytest.mark.parametrize(
    ("profile", "mode", "output"),
    [
        (ModelProfile(), "tools", "text"),
        (ModelProfile(supports_tools=False, supports_json_schema_output=True), "json", "native"),
        (ModelProfile(supports_tools=False), "json", "prompted"),
    ],
)
async def test_how_a_model_calls_is_known_from_its_profile(profile: ModelProfile, mode: str, output: str) -> None:
    """A model that follows no schema is at least told the form."""
    recorder = Recorder('{"tool": "read", "arguments": {"path": "a"}}', profile=profile)
    driver = PydanticAIDriver(recorder.model)
    await driver.generate(request(), END)
    assert driver.mode == mode
    assert recorder.asked[0][1].model_request_parameters.output_mode == output
    assert ("Answer with one JSON object" in recorder.texts[0][1]) is (mode == "json")
    assert recorder.asked[0][1].instructions is None


async def test_a_local_model_is_asked_beside_every_proxy(provider: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets JSON calls within bounds, at temperature 0, and no key of anybody."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    driver = local_model_driver(f"{provider.address}/", "tiny")
    provider.answers(said('{"tool": "read", "arguments": {"path": "a"}}'))
    (call,) = parts(await driver.generate(request(), END))
    assert (driver.name, call.tool_name) == ("local:tiny", "read")
    (body,) = provider.bodies
    assert (body["model"], body["temperature"]) == ("tiny", 0)
    assert 0 < body.get("max_completion_tokens", body.get("max_tokens")) < 4096
    assert '"path": {"maxLength": 80' in json.dumps(body["response_format"])


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_what_passes_is_waited_for(provider: Loopback, status: int) -> None:
    """Longer each time, and by nobody else on the way."""
    reply, pauses = await asked(provider, refused(status), refused(status), said("Yes."))
    assert parts(reply) == [TextPart(content="Yes.")]
    assert pauses == [1.0, 2.0]
    assert len(provider.bodies) == 3


async def test_a_provider_says_how_long_to_wait(provider: Loopback) -> None:
    """Longer than a minute nobody waits."""
    _, pauses = await asked(provider, refused(429, Retry_After="7"), refused(503, Retry_After="0"), said("Yes."))
    assert pauses == [7.0, 2.0]
    with pytest.raises(DriverError, match=r"429.*asks to wait for 700 seconds"):
        await asked(provider, refused(429, Retry_After="700"))


async def test_an_end_is_made_after_the_last_attempt(provider: Loopback) -> None:
    with pytest.raises(DriverError, match=r"asked 3 times, the model 'openai:gpt-4o' failed: .*503.*; try again later"):
        await asked(provider, *[refused(503)] * 3)
    assert len(provider.bodies) == 3


@pytest.mark.parametrize(
    ("status", "error", "remedy"),
    [
        (401, None, "set OPENAI_API_KEY to a key that may use it, or name another model with `--model`"),
        (404, None, "its provider does not have it: name another model"),
        (400, {"message": "too long", "code": "context_length_exceeded"}, "give a smaller `budget`"),
        (
            400,
            {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"},
            "give a smaller `budget`",
        ),
        (429, {"message": "pay", "code": "insufficient_quota"}, "fill it up"),
        (422, None, "name another model"),
    ],
)
async def test_what_does_not_pass_is_said_with_a_remedy(
    provider: Loopback, status: int, error: dict[str, Any] | None, remedy: str
) -> None:
    """The first refusal is the last, and names the model and the status."""
    with pytest.raises(DriverError) as raised:
        await asked(provider, refused(status, error))
    assert len(provider.bodies) == 1
    for word in ("'openai:gpt-4o'", str(status), remedy):
        assert word in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_provider_that_is_not_there_is_named(*, stream: bool) -> None:
    pauses = Pauses()
    async with openai_model("http://127.0.0.1:9") as model:
        driver, patience = PydanticAIDriver(model), Patience(retries=1, sleep=pauses)
        with pytest.raises(DriverError, match=r"check that http://127.0.0.1:9/v1/ can be reached"):
            await ask(driver, request(), END, patience, on_text=print if stream else None)
    assert pauses.seconds == [1.0]


async def test_a_connection_that_breaks_is_made_again(provider: Loopback) -> None:
    """Also in the middle of an answer, which then comes from its beginning."""
    reply, pauses = await asked(provider, gone, said("Yes."))
    assert (parts(reply), pauses) == ([TextPart(content="Yes.")], [1.0])
    texts: list[str] = []
    reply, pauses = await asked(provider, streamed("Ye", breaks=True), streamed("Yes", "."), texts=texts)
    assert (parts(reply), pauses) == ([TextPart(content="Yes.")], [1.0])
    assert texts == ["Ye", "Yes", "."]


async def test_a_model_by_name_leaves_nothing_open(provider: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event loop has connections of its own, and none is left behind."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.address}/v1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    driver = PydanticAIDriver("openai-chat:gpt-4o")
    assert driver.name == "openai-chat:gpt-4o"
    provider.answers(said("One."), said("Two."))
    answers = [await asyncio.to_thread(asyncio.run, driver.generate(request(), END)) for _ in range(2)]
    assert [parts(reply) for reply in answers] == [[TextPart(content="One.")], [TextPart(content="Two.")]]


def test_a_model_that_cannot_be_had_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(
        DriverError, match=r"'openai:gpt-5' cannot be asked: Set the `OPENAI_API_KEY`.*an alias of foveate.toml"
    ):
        PydanticAIDriver("openai:gpt-5")
    with pytest.raises(DriverError, match=r"'gpt-5' cannot be asked: Unknown model.*give one as `provider:model`"):
        PydanticAIDriver("gpt-5")
    with pytest.raises(DriverError, match=r"'groq:llama' needs a package that is not installed: .*foveate\[work\]"):
        PydanticAIDriver("groq:llama")


def test_options_that_cannot_work_are_refused() -> None:
    model: Any = Recorder().model
    with pytest.raises(ConfigError, match="`mode` must be one of auto, tools, json, got 'xml'"):
        PydanticAIDriver(model, mode="xml")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="`retries` must be 0 or more, got -1"):
        Patience(retries=-1)


@pytest.mark.parametrize("where", ["answer", "stream", "pause"])
async def test_a_cancelled_request_ends_there(where: str, provider: Loopback) -> None:
    """Nothing takes a cancellation for a failure."""
    reached = asyncio.Event()

    async def wait(*_: object) -> Any:
        reached.set()
        await asyncio.sleep(60)

    async def pieces(*_: object) -> AsyncIterator[str]:
        yield "Ye"
        await wait()

    if where == "pause":
        provider.answers(refused(503))
        model: Model = openai_model(provider.address)
    else:
        model = FunctionModel(wait, stream_function=pieces)
    async with model:
        patience, heard = Patience(sleep=wait), print if where == "stream" else None
        asking = asyncio.create_task(ask(PydanticAIDriver(model), request(), END, patience, on_text=heard))
        await reached.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
