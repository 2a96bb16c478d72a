# /// script
# requires-python = ">=3.11"
# dependencies = ["llama-index-core==0.14.25", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""LlamaIndex: a memory that every message is put into and that is asked for the history before every model call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.memory import ChatMemoryBuffer, Memory
from worker import Arm, Chat, count, head, serve, timed, timed_async, tokens


class Buffer:
    """`ChatMemoryBuffer` as a loop of one's own uses it: it holds everything, and `get` leaves out the oldest."""

    def __init__(self, system: str, budget: int) -> None:
        self._head = head(system)
        self._memory = ChatMemoryBuffer.from_defaults(token_limit=budget, tokenizer_fn=encode)

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        messages = list(map(to_llama, new))
        return self._head + list(map(to_chat, timed(lambda: self._gotten(messages))))

    def _gotten(self, new: list[ChatMessage]) -> list[ChatMessage]:
        self._memory.put_messages(new)
        return self._memory.get(initial_token_count=sum(map(tokens, self._head)))


class Agent:
    """`ChatMemoryBuffer` as `FunctionAgent` uses it: the steps of a turn are put into it once the turn is over."""

    def __init__(self, system: str, budget: int) -> None:
        self._head = head(system)
        self._memory = ChatMemoryBuffer.from_defaults(token_limit=left(budget, self._head), tokenizer_fn=encode)
        self._scratchpad: list[ChatMessage] = []

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        messages = list(map(to_llama, new))
        return self._head + list(map(to_chat, timed(lambda: self._gotten(messages))))

    def _gotten(self, new: list[ChatMessage]) -> list[ChatMessage]:
        for message in new:
            self._scratchpad.append(message)
            if message.role != MessageRole.TOOL and "tool_calls" not in message.additional_kwargs:
                self._memory.put_messages(self._scratchpad)
                self._scratchpad = []
        return [*self._memory.get(), *self._scratchpad]


class Waterfall:
    """`Memory`, which archives the oldest messages as new ones come in."""

    def __init__(self, system: str, budget: int) -> None:
        self._head = head(system)
        self._memory = Memory.from_defaults(
            session_id="lane", token_limit=left(budget, self._head), tokenizer_fn=encode_again
        )

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        messages = list(map(to_llama, new))
        return self._head + list(map(to_chat, timed_async(lambda: self._gotten(messages))))

    async def _gotten(self, new: list[ChatMessage]) -> list[ChatMessage]:
        if new:
            await self._memory.aput_messages(new)
        return await self._memory.aget()


def left(budget: int, head: Sequence[Chat]) -> int:
    return max(1, budget - sum(map(tokens, head)))


def encode(text: str) -> range:
    """As many as there are tokens; not cached, because a buffer counts all messages as one text, anew for each cut."""
    return range(count.__wrapped__(text))


def encode_again(text: str) -> range:
    return range(count(text))


def to_llama(message: Chat) -> ChatMessage:
    kept = {key: message[key] for key in ("tool_calls", "tool_call_id", "name") if message.get(key) is not None}
    return ChatMessage(role=message["role"], content=message["content"], additional_kwargs=kept)


def to_chat(message: ChatMessage) -> Chat:
    kept: dict[str, Any] = message.additional_kwargs
    return {"role": message.role.value, "content": message.content or "", **kept}


if __name__ == "__main__":
    serve(
        "llama-index",
        ["llama-index-core"],
        [
            Arm(
                name="buffer",
                call="memory = ChatMemoryBuffer.from_defaults(token_limit=B, tokenizer_fn=tokenizer);"
                " memory.put_messages(new); memory.get(initial_token_count=system_tokens)",
                start=Buffer,
                note="It counts texts but not tool calls, and if no turn fits it sends the last message alone.",
            ),
            Arm(
                name="agent",
                call="memory = ChatMemoryBuffer.from_defaults(token_limit=B - system_tokens, tokenizer_fn=tokenizer);"
                " [*memory.get(), *scratchpad]",
                start=Agent,
                note="As `FunctionAgent` has it: the running turn stands whole behind what memory gives, uncounted.",
            ),
            Arm(
                name="memory",
                call="memory = Memory.from_defaults(token_limit=B - system_tokens, tokenizer_fn=tokenizer);"
                " await memory.aput_messages(new); await memory.aget()",
                start=Waterfall,
                note="Recommended over the buffer; it keeps to 0.7 of the limit, but does not cut within a turn.",
            ),
        ],
    )
