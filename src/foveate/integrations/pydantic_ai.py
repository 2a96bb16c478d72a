"""pydantic-ai: a summarizer on any provider it knows (extra: `foveate[pydantic-ai]`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from foveate.compiler.summaries import SummaryRequest
from foveate.log.messages import Message

_ASK: Final = """\
Pause the work here. Write a summary of the conversation above for yourself: it will take the place of the messages it \
covers, and nothing else of them will be seen again. Do not call tools and do not continue the task.

Keep: the goal and every constraint the user set; decisions and their reasons; what is done, in progress, blocked; \
what was tried and failed; exact names, paths, ids and numbers that will be needed; the next steps already decided.
Be brief: at most {words} words. Plain text, short lines, no preamble."""

_UPDATE: Final = """

This is the summary so far. Update it: keep what still holds, add what is new, mark what is done; newer facts win.
---
{previous}
---"""


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
            ask += _UPDATE.format(previous=request.previous)
        agent = Agent(self.model, output_type=str)
        # The answer is cut where it would be refused for its length anyway.
        settings = ModelSettings(max_tokens=request.target_tokens)
        result = await agent.run(ask, message_history=_history(request), model_settings=settings)
        return result.output.strip()


def _history(request: SummaryRequest) -> list[ModelMessage]:
    history: list[ModelMessage] = []
    if request.system:
        history.append(ModelRequest(parts=[SystemPromptPart(content=request.system)]))
    names: dict[str, str] = {}
    for message in request.messages:
        names.update((call.id, call.name) for call in message.calls)
        history.append(_lowered(message, names))
    return history


def _lowered(message: Message, names: dict[str, str]) -> ModelMessage:
    result = message.result
    match message.role:
        case "tool" if result is not None:
            name = names.get(result.call_id, "tool")
            return ModelRequest(
                parts=[ToolReturnPart(tool_name=name, content=result.text, tool_call_id=result.call_id)]
            )
        case "assistant":
            text = [TextPart(content=message.text)] if message.text else []
            calls = [ToolCallPart(tool_name=one.name, args=one.arguments, tool_call_id=one.id) for one in message.calls]
            return ModelResponse(parts=[*text, *calls])
        case "system":
            return ModelRequest(parts=[SystemPromptPart(content=message.text)])
        case _:
            return ModelRequest(parts=[UserPromptPart(content=message.text)])
