"""LangChain and LangGraph: requests of an agent, or of a node, within a budget (extra: `foveate[langchain]`).

The state of the agent stays whole: what is compiled is sent and never stored in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from foveate.errors import ConfigError
from foveate.integrations.supported import require

require("langchain")

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse  # noqa: E402
from langchain_core.messages import BaseMessage, SystemMessage  # noqa: E402
from langchain_core.tools import BaseTool, StructuredTool  # noqa: E402
from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: E402
from langgraph.config import get_config  # noqa: E402

from foveate.integrations.langchain import BRIDGE  # noqa: E402
from foveate.log.events import DiagnosticRecorded  # noqa: E402
from foveate.recall.tool import RECALL_TOOL  # noqa: E402
from foveate.session.beside import run_beside  # noqa: E402
from foveate.threads.matching import item_keys  # noqa: E402
from foveate.threads.request import HistoryRequest  # noqa: E402
from foveate.threads.threads import Compiled, Threads  # noqa: E402

# What a library notes beside a message, and no model reads.
_BOOKKEEPING: Final = frozenset({"id", "response_metadata", "usage_metadata"})
_SUMMARY: Final = "summarization"


class FoveateMiddleware(AgentMiddleware[Any, Any, Any]):
    """For `create_agent(middleware=[…])`: every model call gets a compiled request, one session for each thread.

    Place it last, so that it sees the messages as other middleware left them. One instance serves any number of
    threads, which it tells apart by `configurable.thread_id`, or without one by how they begin. Middleware that
    summarizes the history itself makes its own branch of the session each time; leave it out.

    Args:
        budget: the most input tokens of a request; without it, what the window of the model leaves for input.
        recall: gives the model the tool `recall`, which brings back what left the request.
        options: those of `foveate.Threads` and `Session`, such as `store` and `policy`.

    """

    def __init__(self, *, budget: Any = None, recall: bool = False, **options: Any) -> None:
        super().__init__()
        self.threads = Threads(budget=budget, **options)
        self.tools: Sequence[BaseTool] = [_recall_tool(self.threads)] if recall else []

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Compile the request of a model call."""
        asked = _of_agent(request)
        if asked is None:
            return handler(request)
        compiled = self.threads.compile(asked)
        response = handler(request.override(messages=_sent(compiled, asked, request.messages)))
        _report(compiled, response.result)
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Compile the request of a model call, beside the event loop."""
        asked = _of_agent(request)
        if asked is None:
            return await handler(request)
        compiled = await self.threads.acompile(asked)
        response = await handler(request.override(messages=_sent(compiled, asked, request.messages)))
        await run_beside(_report, compiled, response.result)
        return response


class MessageHistory:
    """For a node of a graph that calls a model itself.

    >>> history = MessageHistory(budget=8_000)  # doctest: +SKIP
    >>> def node(state):  # doctest: +SKIP
    ...     return {"messages": [history.invoke(model, state["messages"])]}
    """

    def __init__(self, *, budget: Any = None, **options: Any) -> None:
        """Keep the threads of a node; the options are those of `FoveateMiddleware`."""
        self.threads = Threads(budget=budget, **options)

    def invoke(self, model: Any, messages: Sequence[BaseMessage], *, tools: Sequence[Any] = ()) -> Any:
        """The answer of a model to the compiled messages; `tools` are those that it is bound to."""
        asked = _of_node(messages, tools, model)
        compiled = self.threads.compile(asked)
        answer = model.invoke(_with_leading(messages, _sent(compiled, asked, messages)))
        _report(compiled, [answer])
        return answer

    async def ainvoke(self, model: Any, messages: Sequence[BaseMessage], *, tools: Sequence[Any] = ()) -> Any:
        """The same beside the event loop."""
        asked = _of_node(messages, tools, model)
        compiled = await self.threads.acompile(asked)
        answer = await model.ainvoke(_with_leading(messages, _sent(compiled, asked, messages)))
        await run_beside(_report, compiled, [answer])
        return answer


def _of_agent(request: ModelRequest[Any]) -> HistoryRequest | None:
    if not request.messages:
        return None
    system = request.system_message
    return _request(
        request.messages,
        system=str(system.text) if system is not None else None,
        tools=request.tools,
        response_format=_schema(request.response_format),
        model=request.model,
    )


def _of_node(messages: Sequence[BaseMessage], tools: Sequence[Any], model: Any) -> HistoryRequest:
    leading = _leading(messages)
    if leading == len(messages):
        raise ConfigError("`messages` has nothing but instructions; give those of the state, with the user's first")
    text = "\n\n".join(str(message.text) for message in messages[:leading]) or None
    # A model that tools were bound to is one with arguments around the model itself.
    bound = tools or getattr(model, "kwargs", {}).get("tools", ())
    return _request(messages[leading:], system=text, tools=bound, model=getattr(model, "bound", model))


def _leading(messages: Sequence[BaseMessage]) -> int:
    return next((at for at, one in enumerate(messages) if not isinstance(one, SystemMessage)), len(messages))


def _request(
    messages: Sequence[BaseMessage],
    *,
    system: str | None,
    tools: Sequence[Any],
    model: Any,
    response_format: Mapping[str, Any] | None = None,
) -> HistoryRequest:
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return HistoryRequest(
        format="langchain",
        items=list(messages),
        keys=item_keys(map(_plain, BRIDGE.to_data(messages))),
        system=system,
        tools=tuple(tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in tools),
        response_format=response_format,
        model=name if isinstance(name, str) else None,
        thread=_thread_id(),
    )


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    fields = {key: value for key, value in data["data"].items() if key not in _BOOKKEEPING}
    return {"type": data["type"], "data": fields}


def _thread_id() -> str | None:
    """The thread that a graph runs in; None outside of any, and for graphs that keep none."""
    try:
        thread = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:
        return None
    return str(thread) if thread else None


def _schema(response_format: Any) -> dict[str, Any] | None:
    specs = getattr(response_format, "schema_specs", None) or [getattr(response_format, "schema_spec", None)]
    schemas = [spec.json_schema for spec in specs if spec is not None]
    if not schemas:
        return None
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def _sent(compiled: Compiled, asked: HistoryRequest, messages: Sequence[BaseMessage]) -> list[Any]:
    """What is sent for the items that were asked about: the agent's own objects, as long as nothing was reduced."""
    if any(message.additional_kwargs.get("lc_source") == _SUMMARY for message in messages):
        _note_summary(compiled)
    if not compiled.view.request.rewritten:
        return list(asked.items)
    sent: list[Any] = compiled.view.to("langchain")
    return sent[1:] if compiled.view.framing.system is not None else sent


def _with_leading(messages: Sequence[BaseMessage], sent: list[Any]) -> list[Any]:
    return [*messages[: _leading(messages)], *sent]


def _note_summary(compiled: Compiled) -> None:
    events = compiled.session.events
    if not any(getattr(event.body, "code", "") == "summarized_elsewhere" for event in events):
        text = "another middleware replaced messages by its own summary; leave it out, and recall reaches all of them"
        compiled.session.note(DiagnosticRecorded(code="summarized_elsewhere", phase="history", text=text))


def _report(compiled: Compiled, messages: Sequence[Any]) -> None:
    usage = next((one.usage_metadata for one in messages if getattr(one, "usage_metadata", None)), None)
    if usage:
        compiled.branch.report(compiled.view.number, usage)


def _recall_tool(threads: Threads) -> BaseTool:
    function: Any = RECALL_TOOL["function"]

    def recall(**arguments: Any) -> str:
        return threads.answer_recall(arguments, thread=_thread_id())

    return StructuredTool.from_function(
        func=recall,
        name=function["name"],
        description=function["description"],
        args_schema=function["parameters"],
    )
