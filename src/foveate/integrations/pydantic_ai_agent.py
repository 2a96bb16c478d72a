"""pydantic-ai: requests of an agent within a budget (extra: `foveate[pydantic-ai]`).

`all_messages()` stays whole: what is compiled is sent and never stored in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from foveate.integrations.supported import require

require("pydantic-ai-slim")

from pydantic_ai.capabilities import AbstractCapability  # noqa: E402
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart  # noqa: E402
from pydantic_ai.models import ModelRequestContext  # noqa: E402
from pydantic_ai.tools import RunContext, Tool, ToolDefinition  # noqa: E402
from pydantic_ai.toolsets import FunctionToolset  # noqa: E402

from foveate.integrations.pydantic_ai import BRIDGE  # noqa: E402
from foveate.recall.tool import RECALL_TOOL  # noqa: E402
from foveate.session.beside import run_beside  # noqa: E402
from foveate.threads.matching import item_keys  # noqa: E402
from foveate.threads.request import HistoryRequest  # noqa: E402
from foveate.threads.threads import Compiled, Threads  # noqa: E402

# What is noted beside a message, and no model reads. Instructions go beside the messages of each request.
_BOOKKEEPING: Final = frozenset(
    {"timestamp", "run_id", "conversation_id", "usage", "metadata", "provider_response_id", "instructions", "state"}
)


class BudgetedHistory(AbstractCapability[Any]):
    """For `Agent(capabilities=[…])`: every model request is compiled, one session for each conversation.

    One instance serves any number of runs: a run finds its session by the `conversation_id` of its context and the
    messages themselves, so that a worker that goes on with a run derives the same. Without a `store` nothing is
    written and no thread is started, as durable execution demands of what runs inside a workflow.

    Args:
        budget: the most input tokens of a request; without it, what the window of the model leaves for input.
        recall: gives the model the tool `recall`, which brings back what left the request.
        options: those of `foveate.Threads` and `Session`, such as `store` and `policy`.

    """

    def __init__(self, *, budget: Any = None, recall: bool = False, **options: Any) -> None:
        self.threads = Threads(budget=budget, **options)
        self._is_durable = options.get("store") is not None
        self._recall = recall

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """The recall tool, if it was asked for."""
        if not self._recall:
            return None
        function: Any = RECALL_TOOL["function"]

        def recall(ctx: RunContext[Any], **arguments: Any) -> str:
            return self.threads.answer_recall(arguments, thread=ctx.conversation_id)

        tool: Tool[Any] = Tool.from_schema(
            recall,
            name=function["name"],
            description=function["description"],
            json_schema=function["parameters"],
            takes_ctx=True,
        )
        return FunctionToolset([tool])

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: Any
    ) -> ModelResponse:
        """Send the compiled request in place of the history."""
        asked = _request(ctx, request_context)
        if asked is None:
            response: ModelResponse = await handler(request_context)
            return response
        if self._is_durable or self.threads.summarizes:
            compiled = await self.threads.acompile(asked)
        else:
            compiled = self.threads.compile(asked)
        messages = _sent(compiled, request_context.messages)
        response = await handler(replace(request_context, messages=messages))
        if self._is_durable:
            await run_beside(_report, compiled, response)
        else:
            _report(compiled, response)
        return response


def _request(ctx: RunContext[Any], context: ModelRequestContext) -> HistoryRequest | None:
    if not context.messages:
        return None
    parameters = context.model_request_parameters
    instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ())
    output = parameters.output_object
    schema = {"name": output.name or "answer", "schema": output.json_schema} if output is not None else None
    messages = [_bare(message) for message in context.messages]
    return HistoryRequest(
        format="pydantic-ai",
        items=messages,
        keys=item_keys(map(_plain, BRIDGE.to_data(messages))),
        system=instructions or None,
        tools=tuple(map(_declared, [*parameters.function_tools, *parameters.output_tools])),
        response_format={"type": "json_schema", "json_schema": schema} if schema is not None else None,
        model=context.model.model_id,
        thread=ctx.conversation_id,
    )


def _bare(message: ModelMessage) -> ModelMessage:
    """A message without the instructions that its request was sent with; those of now stand beside all messages."""
    return replace(message, instructions=None) if isinstance(message, ModelRequest) else message


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items() if key not in _BOOKKEEPING}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _declared(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
    return {"type": "function", "function": function}


def _sent(compiled: Compiled, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """What is sent: the agent's own messages as long as nothing was reduced."""
    if not compiled.view.request.rewritten:
        return list(messages)
    sent: list[ModelMessage] = compiled.view.to("pydantic-ai")
    if compiled.view.framing.system is None or not isinstance(sent[0], ModelRequest):
        return sent
    # The instructions were counted as the system prompt; pydantic-ai sends them itself.
    behind = sent[0].parts[1:] if isinstance(sent[0].parts[0], SystemPromptPart) else sent[0].parts
    return [*([replace(sent[0], parts=behind)] if behind else []), *sent[1:]]


def _report(compiled: Compiled, response: ModelResponse) -> None:
    if response.usage.input_tokens:
        compiled.branch.report(compiled.view.number, response.usage)
