# /// script
# requires-python = ">=3.11"
# dependencies = ["autogen-core==0.7.5", "autogen-ext==0.7.5", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""AutoGen: a `ChatCompletionContext` that keeps all messages and is asked for a view of them before every call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from autogen_core import FunctionCall
from autogen_core.model_context import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    TokenLimitedChatCompletionContext,
)
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from autogen_ext.models.replay import ReplayChatCompletionClient
from worker import Arm, Chat, Lane, head, serve, timed_async, tokens


class Viewed:
    """The system prompt is held apart and put first, as `AssistantAgent` does."""

    def __init__(self, system: str, context: ChatCompletionContext) -> None:
        self._system = head(system)
        self._context = context

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        messages = list(to_autogen(new))
        shown = timed_async(lambda: self._shown(messages))
        return [*self._system, *(chat for message in shown for chat in to_chats(message))]

    async def _shown(self, new: Sequence[LLMMessage]) -> list[LLMMessage]:
        for message in new:
            await self._context.add_message(message)
        return await self._context.get_messages()


class Counter(ReplayChatCompletionClient):
    """AutoGen's client for tests, with the benchmark's tokens; each message is counted once."""

    def __init__(self) -> None:
        super().__init__([])
        self._sizes: dict[int, tuple[int, LLMMessage]] = {}

    def count_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        return sum(self._size(message) for message in messages)

    def _size(self, message: LLMMessage) -> int:
        known = self._sizes.get(id(message))
        if known is None:
            # With the message itself, so that its identity never comes to mean another.
            known = self._sizes[id(message)] = sum(map(tokens, to_chats(message))), message
        return known[0]


def token_limited(system: str, budget: int) -> Lane:
    room = max(1, budget - sum(map(tokens, head(system))))
    return Viewed(system, TokenLimitedChatCompletionContext(Counter(), token_limit=room))


def buffered(system: str, _budget: int) -> Lane:
    return Viewed(system, BufferedChatCompletionContext(buffer_size=5))


def to_autogen(messages: Iterable[Chat]) -> Iterator[LLMMessage]:
    results: list[FunctionExecutionResult] = []
    for message in messages:
        if message["role"] == "tool":
            results.append(
                FunctionExecutionResult(
                    content=message["content"], name=message["name"], call_id=message["tool_call_id"]
                )
            )
            continue
        if results:
            yield FunctionExecutionResultMessage(content=results)
            results = []
        yield to_said(message)
    if results:
        yield FunctionExecutionResultMessage(content=results)


def to_said(message: Chat) -> LLMMessage:
    match message["role"]:
        case "user":
            return UserMessage(content=message["content"], source="user")
        case "system" | "developer":
            return SystemMessage(content=message["content"])
        case _ if message.get("tool_calls"):
            calls = [
                FunctionCall(id=item["id"], name=item["function"]["name"], arguments=item["function"]["arguments"])
                for item in message["tool_calls"]
            ]
            return AssistantMessage(content=calls, thought=message["content"], source="assistant")
        case _:
            return AssistantMessage(content=message["content"], source="assistant")


def to_chats(message: LLMMessage) -> Iterator[Chat]:
    match message:
        case FunctionExecutionResultMessage():
            for result in message.content:
                yield {"role": "tool", "content": result.content, "tool_call_id": result.call_id}
        case AssistantMessage(content=list()):
            calls = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in message.content
            ]
            yield {"role": "assistant", "content": message.thought, "tool_calls": calls}
        case AssistantMessage():
            yield {"role": "assistant", "content": message.content}
        case _:
            yield {"role": "user" if isinstance(message, UserMessage) else "system", "content": message.content}


if __name__ == "__main__":
    serve(
        "autogen",
        ["autogen-core", "autogen-ext"],
        [
            Arm(
                name="token-limited",
                call="await TokenLimitedChatCompletionContext(client, token_limit=B).get_messages()",
                start=token_limited,
                note="The tokens of the system prompt, which agents hold apart, are taken off B.",
            ),
            Arm(
                name="buffered",
                call="await BufferedChatCompletionContext(buffer_size=5).get_messages()",
                start=buffered,
                knows_budget=False,
                note="There is no default size; 5 is what its documentation shows.",
            ),
        ],
    )
