# /// script
# requires-python = ">=3.11"
# dependencies = ["pydantic-ai-harness==0.62.0", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""pydantic-ai-harness: the compaction's `before_model_request`, as an agent runs it, which rewrites the history it is
given, and then the repair that pydantic-ai makes of every request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage, RunUsage
from pydantic_ai_harness.compaction import ClearToolResults, SlidingWindowCompaction, TieredCompaction
from worker import Arm, Chat, count, head, serve, timed_async, tokens

# Never asked: none of these strategies calls a model.
MODEL = TestModel()


class Compacted:
    def __init__(self, strategy: Callable[[int], Any], system: str, budget: int) -> None:
        self._strategy = strategy(budget)
        self._system = system
        self._head = head(system)
        self._history: list[ModelMessage] = []
        self._sent = 0

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        self._history += self._taken_in(new)
        context = RunContext(deps=None, model=MODEL, usage=RunUsage(), messages=self._history)
        asked = ModelRequestContext(
            model=MODEL,
            messages=list(self._history),
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        sent = timed_async(lambda: self._prepared(context, asked))
        request = [*self._head, *(chat for message in sent for chat in to_chats(message))]
        self._sent = sum(map(tokens, request))
        return request

    async def _prepared(self, context: RunContext[None], asked: ModelRequestContext) -> list[ModelMessage]:
        return repair_messages((await self._strategy.before_model_request(context, asked)).messages)

    def _taken_in(self, new: Sequence[Chat]) -> Iterator[ModelMessage]:
        for is_response, messages in groupby(new, key=lambda message: message["role"] == "assistant"):
            if is_response:
                yield from map(self._response, messages)
            else:
                yield ModelRequest(parts=list(map(to_part, messages)), instructions=self._system or None)

    def _response(self, message: Chat) -> ModelResponse:
        # What a provider reports with the answer to a request: the harness counts from there.
        usage = RequestUsage(input_tokens=self._sent, output_tokens=tokens(message)) if self._sent else RequestUsage()
        self._sent = 0
        text = [TextPart(message["content"])] if message["content"] else []
        calls = [
            ToolCallPart(called["function"]["name"], called["function"]["arguments"], called["id"])
            for called in message.get("tool_calls") or ()
        ]
        # Without a model's name, neighbouring responses would be taken for made up ones and merged.
        return ModelResponse(parts=[*text, *calls], usage=usage, model_name="recorded")


def tiered(budget: int) -> TieredCompaction[None]:
    return TieredCompaction(
        tiers=[
            ClearToolResults(max_tokens=budget, keep_pairs=3, tokenizer=count),
            SlidingWindowCompaction(max_tokens=budget, keep_tokens=budget // 2, tokenizer=count),
        ],
        target_tokens=budget,
        tokenizer=count,
    )


def window(budget: int) -> SlidingWindowCompaction[None]:
    return SlidingWindowCompaction(max_tokens=budget, tokenizer=count)


def half_window(budget: int) -> SlidingWindowCompaction[None]:
    return SlidingWindowCompaction(max_tokens=budget, keep_tokens=budget // 2, tokenizer=count)


def to_part(message: Chat) -> ModelRequestPart:
    match message["role"]:
        case "tool":
            return ToolReturnPart(message["name"], message["content"], message["tool_call_id"])
        case "system" | "developer":
            return SystemPromptPart(message["content"])
        case _:
            return UserPromptPart(message["content"])


def to_chats(message: ModelMessage) -> Iterator[Chat]:
    if isinstance(message, ModelResponse):
        # An empty response is not sent, as in pydantic-ai's own mapping.
        if message.parts:
            yield to_assistant(message)
        return
    for part in message.parts:
        match part:
            case ToolReturnPart():
                yield {"role": "tool", "content": part.model_response_str(), "tool_call_id": part.tool_call_id}
            case SystemPromptPart():
                yield {"role": "system", "content": part.content}
            case _:
                yield {"role": "user", "content": part.content}


def to_assistant(message: ModelResponse) -> Chat:
    text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
    calls = [
        {"id": part.tool_call_id, "type": "function", "function": {"name": part.tool_name, "arguments": part.args}}
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


if __name__ == "__main__":
    serve(
        "pydantic-ai-harness",
        ["pydantic-ai-harness", "pydantic-ai-slim"],
        [
            Arm(
                name="tiered",
                call="TieredCompaction(tiers=[ClearToolResults(max_tokens=B, keep_pairs=3),"
                " SlidingWindowCompaction(max_tokens=B, keep_tokens=B // 2)], target_tokens=B)",
                start=partial(Compacted, tiered),
                note="There are no default tiers; this is what the harness recommends, cheap ones first.",
            ),
            Arm(
                name="window",
                call="SlidingWindowCompaction(max_tokens=B)",
                start=partial(Compacted, window),
                note="By default the last 40 messages are kept, whatever they measure.",
            ),
            Arm(
                name="half-window",
                call="SlidingWindowCompaction(max_tokens=B, keep_tokens=B // 2)",
                start=partial(Compacted, half_window),
                is_default=False,
                note="`keep_tokens` is the least that is kept, so a request can exceed B.",
            ),
        ],
    )
