"""pydantic-ai: its message objects; a driver and a summarizer on any provider it knows.

Extra: `foveate[pydantic-ai]`, or `foveate[work]` with what OpenAI, Anthropic and Google need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, get_args

from pydantic import ValidationError
from pydantic_ai import Agent, exceptions
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters, infer_model
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings, merge_model_settings
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_core import PydanticSerializationError

from foveate.agents.driver import LONGEST_PAUSE, DriverError, OnText, PassingError, Reply, Schema, WindowError
from foveate.chat.processing import CompilingHistory, build_compiling_history_processor
from foveate.compile.summaries import SummaryRequest
from foveate.errors import ConfigError, MessageError
from foveate.log.quoting import quote_lines
from foveate.session.beside import run_beside
from foveate.wire.format import Bridge, Request
from foveate.wire.formats import PYDANTIC_AI
from foveate.wire.json_calls import Bounds, JsonCall, call_schema, callable_tools, read_call, told
from foveate.wire.tools import Declared
from foveate.wire.usage import reported_usage

Mode = Literal["auto", "tools", "json"]

_ASK: Final = """\
Pause the work here. Write a summary of the conversation above for yourself: it will take the place of the messages it \
covers, and nothing else of them will be seen again. Do not call tools and do not continue the task.

Keep: the goal and every constraint the user set; decisions and their reasons; what is done, in progress, blocked; \
what was tried and failed; exact names, paths, ids and numbers that will be needed; the next steps already decided.
Be brief: at most {words} words. Plain text, short lines, no preamble."""

_UPDATE: Final = """

This is the summary so far. Update it: keep what still holds, add what is new, mark what is done; newer facts win.
{previous}"""


_MUST_KEEP: Final = """

Say each of these, with its names and numbers; nothing else will:
{facts}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PydanticAISummarizer:
    """Summaries by a model; it is asked in the conversation as it was sent, most of which the provider has cached."""

    model: Model | str
    instructions: str = _ASK
    name: str = field(default="pydantic-ai")

    async def summarise(self, request: SummaryRequest, /) -> str:
        """The summary that the model writes."""
        ask = self.instructions.format(words=max(40, int(request.target_tokens * 0.6)))
        if request.previous:
            ask += _UPDATE.format(previous=quote_lines(request.previous))
        if request.must_keep:
            ask += _MUST_KEEP.format(facts=quote_lines("\n".join(fact.text for fact in request.must_keep)))
        agent = Agent(self.model, output_type=str)
        # The answer is cut where it would be refused for its length anyway.
        settings = ModelSettings(max_tokens=request.target_tokens)
        result = await agent.run(ask, message_history=_history(request), model_settings=settings)
        return result.output.strip()


def _history(request: SummaryRequest) -> list[ModelMessage]:
    return _to_objects(PYDANTIC_AI.lower(Request(messages=tuple(request.messages), system=request.system)))


# --- the driver -------------------------------------------------------------------------------------------------------

_PASSING: Final = frozenset({408, 409, 429})
_SMALL: Final = Bounds(characters=80, items=2)
_KEYS: Final[Mapping[str, str]] = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_API_KEY",
}
_FAILURES: Final = (
    exceptions.ModelAPIError,
    exceptions.UnexpectedModelBehavior,
    exceptions.UserError,
    exceptions.FallbackExceptionGroup,
)


class PydanticAIDriver:
    """Asks a model of any provider that pydantic-ai knows: one request for one answer, with no agent around it.

    Args:
        model: a name like `openai:gpt-5`, or a model.
        mode: "tools" lets the model call functions. "json" has it write a call as JSON, by a schema: for models that
            cannot call. "auto" is "json" for models that are known not to call, else "tools".
        settings: what pydantic-ai is to send along, such as `max_tokens`.
        bounds: how much a call as JSON may say where its schema does not, for models that find no end.
        alias: what the user calls the model, if that is not its name; recorded with each call.

    """

    def __init__(
        self,
        model: Model | str,
        *,
        mode: Mode = "auto",
        settings: ModelSettings | None = None,
        bounds: Bounds | None = None,
        alias: str | None = None,
    ) -> None:
        if mode not in get_args(Mode):
            raise ConfigError(f"`mode` must be one of {', '.join(get_args(Mode))}, got {mode!r}")
        self._model = _known(model)
        self._is_own = isinstance(model, str)
        self.name: str = model if isinstance(model, str) else model.model_id
        self.alias = alias or self.name
        calls = mode == "tools" or (mode == "auto" and self._model.profile.get("supports_tools", True))
        self.mode: Literal["tools", "json"] = "tools" if calls else "json"
        # The loop sends again what failed in passing; if the client did so too, it would be sent nine times.
        once = "max_retries" not in self._model.unsupported_settings
        self._settings = merge_model_settings(ModelSettings(max_retries=0) if once else None, settings)
        self._bounds = bounds

    def called(self, alias: str) -> PydanticAIDriver:
        """The same model, chosen by another name."""
        other = copy(self)
        other.alias = alias
        return other

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: OnText | None = None) -> Reply:
        """Send a request once; with `on_text` the answer is streamed. Raises `DriverError`."""
        tools = callable_tools(messages)
        if schema is not None and schema.name not in tools:
            raise DriverError(
                f"`schema` {schema.name!r} is no tool of the request; it has {', '.join(tools) or 'none'}"
            )
        if messages.response_format is not None:
            raise DriverError("`response_format` is not sent: make it a tool of the request, and `schema` its name")
        as_json = self.mode == "json" and bool(tools)
        if as_json:
            messages, form = told(messages, tools, words=schema is None), self._by_schema(tools, schema)
        else:
            form = ModelRequestParameters(function_tools=[_definition(tool) for tool in tools.values()])
        # Entered, a model has connections of the running loop, and leaves none open; another's may be used elsewhere.
        async with self._model if self._is_own else nullcontext():
            response = await self._answered(messages, form, on_text)
        return _reply(_with_call(response) if as_json else response)

    async def _answered(self, request: Request, form: ModelRequestParameters, on_text: OnText | None) -> ModelResponse:
        try:
            return await self._asked(request, form, on_text)
        except _FAILURES as error:
            raise self._failed(error) from error

    async def _asked(self, request: Request, form: ModelRequestParameters, on_text: OnText | None) -> ModelResponse:
        model, settings = self._model, self._settings
        history = _to_objects(PYDANTIC_AI.lower(request))
        # Only where something would be moved or refused: on the way it also changes what texts say.
        is_late = any(message.role == "system" for message in request.messages[request.leading :])
        if is_late or model.profile.get("tool_call_id_length"):
            history = model.prepare_messages(history, form)
        if on_text is None:
            return await model_request(model, history, model_settings=settings, model_request_parameters=form)
        async with model_request_stream(
            model, history, model_settings=settings, model_request_parameters=form
        ) as stream:
            async for event in stream:
                match event:
                    case (
                        PartStartEvent(part=TextPart(content=text))
                        | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
                    ) if text:
                        on_text(text)
                    case _:
                        pass
            return stream.get()

    def _by_schema(self, tools: Mapping[str, Declared], schema: Schema | None) -> ModelRequestParameters:
        native = self._model.profile.get("supports_json_schema_output", False)
        form = call_schema(tools, words=schema is None, bounds=self._bounds)
        return ModelRequestParameters(
            output_mode="native" if native else "prompted",
            output_object=OutputObjectDefinition(json_schema=form, name="call"),
            # The tools are described in the system prompt already.
            prompted_output_template=False,
            allow_text_output=False,
        )

    def _failed(self, error: Exception) -> DriverError:
        text = f"the model {self.name!r} failed: {error!s:.400}; {_remedy(error, self._model)}"
        if _is_overflow(error):
            return WindowError(text)
        return PassingError(text, pause=_asked_pause(error)) if _is_passing(error) else DriverError(text)


def local_model_driver(
    address: str, name: str, *, most_tokens: int = 1_024, bounds: Bounds | None = _SMALL, talks: bool = False
) -> PydanticAIDriver:
    """A driver for a small model behind an address on loopback, such as that of `foveate.integrations.llama_cpp`.

    Its calls are JSON; without `bounds`, what a small model writes is often cut in the middle by `most_tokens`. One
    that `talks` is kept from repeating itself.
    """
    try:
        # Not on top: message objects need no client.
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient  # noqa: PLC0415
        from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415
    except ImportError as error:
        raise DriverError(
            "a local model needs `openai`, which is not installed; pip install 'foveate[work]'"
        ) from error
    client = AsyncOpenAI(
        base_url=f"{address.rstrip('/')}/v1",
        api_key="none",
        # Loopback is never behind a proxy, and nobody closes what a function has opened.
        http_client=DefaultAsyncHttpxClient(trust_env=False),
        default_headers={"Connection": "close"},
    )
    model = OpenAIChatModel(name, provider=OpenAICompatibleProvider("local", openai_client=client))
    settings = ModelSettings(temperature=0, max_tokens=most_tokens, frequency_penalty=0.5 if talks else 0.0)
    return PydanticAIDriver(model, mode="json", settings=settings, bounds=bounds)


def _known(model: Model | str) -> Model:
    try:
        return infer_model(model)
    except exceptions.UserError as error:
        raise DriverError(
            f"the model {model!r} cannot be asked: {error}; give one as `provider:model`, such as openai:gpt-5.1, "
            "or an alias of foveate.toml"
        ) from error
    except ImportError as error:
        raise DriverError(
            f"the model {model!r} needs a package that is not installed: {error}; "
            "`pip install 'foveate[work]'` brings those for OpenAI, Anthropic and Google"
        ) from error


def _definition(tool: Declared) -> ToolDefinition:
    # Left open, `strict` would depend on the schema.
    strict, schema = bool(tool.strict), tool.schema
    return ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=schema, strict=strict)


def _reply(response: ModelResponse) -> Reply:
    usage = response.usage
    counted = None if usage.unmeasured_requests or not usage.input_tokens else reported_usage(usage)
    if counted is None:
        return Reply(message=response)
    tokens = {"input_tokens": counted.input_tokens, "cached_tokens": counted.cached_tokens}
    tokens |= {"output_tokens": usage.output_tokens, "cache_write_tokens": usage.cache_write_tokens}
    return Reply(message=response, usage=usage, **tokens)


def _is_passing(error: Exception) -> bool:
    """Whether the request may succeed if it is sent again, after a pause that is not too long."""
    match error:
        case exceptions.ModelQuotaExceededError():
            passing = False
        case exceptions.ModelHTTPError(status_code=status):
            said = error.provider_retry_hint
            passing = status in _PASSING or status >= 500 if said is None else said
        case _:
            passing = isinstance(error, exceptions.ModelConnectionError)
    return passing and _asked_pause(error) <= LONGEST_PAUSE


def _asked_pause(error: Exception) -> float:
    return (error.retry_after or 0.0) if isinstance(error, exceptions.ModelAPIError) else 0.0


def _is_overflow(error: Exception) -> bool:
    # The second is how llama.cpp says it.
    return isinstance(error, exceptions.ModelContextWindowExceededError) or (
        isinstance(error, exceptions.ModelAPIError) and error.provider_error_type == "exceed_context_size_error"
    )


def _remedy(error: Exception, model: Model) -> str:
    other = "name another model with `--model`"
    match error:
        case _ if _is_overflow(error):
            return "its window is smaller than the budget: give a smaller `budget`"
        case exceptions.ModelAuthenticationError():
            return f"set {_KEYS.get(model.system, 'the key of its provider')} to a key that may use it, or {other}"
        case exceptions.ModelQuotaExceededError():
            return f"the account with its provider has nothing left: fill it up, or {other}"
        case exceptions.ModelNotFoundError():
            return f"its provider does not have it: {other}"
        case exceptions.ModelConnectionError():
            return f"check that {model.base_url or 'its provider'} can be reached, and try again"
        case _ if _asked_pause(error) > LONGEST_PAUSE:
            return f"its provider asks to wait for {_asked_pause(error):.0f} seconds: try again then, or {other}"
        case _ if _is_passing(error):
            return f"try again later, or {other}"
        case _:
            return other


def _with_call(response: ModelResponse) -> ModelResponse:
    """A response with the call that its text is; as it is, if it is none."""
    said: TextPart | ToolCallPart
    match read_call("".join(part.content for part in response.parts if isinstance(part, TextPart))):
        case JsonCall(name=name, arguments=arguments):
            said = ToolCallPart(tool_name=name, args=arguments)
        case str() as words:
            said = TextPart(content=words)
        case None:
            return response
    return replace(response, parts=[*(part for part in response.parts if not isinstance(part, TextPart)), said])


# --- the capability ---------------------------------------------------------------------------------------------------


@dataclass
class EndlessHistory(AbstractCapability[Any]):
    """For `Agent(capabilities=[…])`: each request is the view of a template, and the agent's history stays whole.

    `history` is what `build_compiling_history_processor` makes; unlike that alone, this hears each answer at once.
    """

    history: CompilingHistory = field(default_factory=build_compiling_history_processor)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """The request with other messages."""
        tools = [_declared(tool) for tool in request_context.model_request_parameters.function_tools]
        model = request_context.model.model_id
        messages = await self.history.view(request_context.messages, tools, model=model)
        return replace(request_context, messages=messages)

    async def after_model_request(self, ctx: RunContext[Any], *, response: ModelResponse, **_: Any) -> ModelResponse:
        """The response as it is; the session has it from here on."""
        await run_beside(self.history.heard, response)
        return response


def _declared(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
    return {"type": "function", "function": function}


# --- message objects --------------------------------------------------------------------------------------------------


class _PydanticAIBridge:
    """Between `ModelMessage` objects and their data."""

    def recognises(self, raw: object, /) -> bool:
        """Whether an object is a request or a response."""
        return isinstance(raw, ModelRequest | ModelResponse)

    def to_data(self, objects: Sequence[Any], /) -> list[Any]:
        """The JSON data of messages."""
        try:
            return list(ModelMessagesTypeAdapter.dump_python(list(objects), mode="json"))
        except PydanticSerializationError as error:
            raise MessageError(f"only plain JSON can be stored: {error}") from error

    def to_objects(self, data: Any, /) -> list[ModelMessage]:
        """The messages of JSON data."""
        return _to_objects(data)


def _to_objects(data: Any) -> list[ModelMessage]:
    try:
        return ModelMessagesTypeAdapter.validate_python(data)
    except ValidationError as error:
        raise MessageError(f"pydantic-ai refuses a field that was recorded with a message: {error}") from error


BRIDGE: Final[Bridge] = _PydanticAIBridge()
