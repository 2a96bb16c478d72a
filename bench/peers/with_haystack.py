# /// script
# requires-python = ">=3.11"
# dependencies = ["haystack-ai==3.4.0", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""Haystack: `CompactionHook.run` before every model call, on an agent's `State`, whose messages it replaces."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack.components.agents import State
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.hooks.compaction import CompactionHook, SlidingWindowCompactor, ToolResultPruningCompactor
from worker import Arm, Chat, serve, timed, tokens

PRUNED = (ToolResultPruningCompactor, SlidingWindowCompactor)


class Compacted:
    """An agent's state with hooks at `before_llm`, one for each compactor."""

    def __init__(self, system: str, budget: int, compactors: Sequence[type], **fractions: float) -> None:
        self._hooks = [
            CompactionHook(compactor(), context_window=budget, token_counter=Counter(), **fractions)
            for compactor in compactors
        ]
        self._state = State(schema={}, data={"messages": [ChatMessage.from_system(system)] if system else []})

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        self._state.set("messages", list(map(to_haystack, new)))
        timed(self._run_hooks)
        return list(map(to_chat, self._state.data["messages"]))

    def _run_hooks(self) -> None:
        for hook in self._hooks:
            hook.run(self._state)


class Counter:
    """Haystack's `TokenCounter`; no tools are given, and no usage is reported, so it counts whole requests."""

    def count(self, messages: list[ChatMessage], tools: Any = None) -> int:
        return sum(tokens(to_chat(message)) for message in messages)


def to_haystack(message: Chat) -> ChatMessage:
    match message["role"]:
        case "user":
            return ChatMessage.from_user(message["content"])
        case "tool":
            origin = ToolCall(tool_name=message["name"], arguments={}, id=message["tool_call_id"])
            return ChatMessage.from_tool(message["content"], origin=origin)
        case "system" | "developer":
            return ChatMessage.from_system(message["content"])
        case _:
            called = list(map(to_call, message.get("tool_calls") or ()))
            return ChatMessage.from_assistant(message["content"], tool_calls=called)


def to_call(item: Chat) -> ToolCall:
    function = item["function"]
    return ToolCall(
        tool_name=function["name"],
        arguments=parsed(function["arguments"]),
        id=item["id"],
        extra={"text": function["arguments"]},
    )


def parsed(arguments: str) -> Chat:
    try:
        value = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def to_chat(message: ChatMessage) -> Chat:
    if result := message.tool_call_result:
        return {"role": "tool", "content": result.result, "tool_call_id": result.origin.id}
    chat: Chat = {"role": message.role.value, "content": message.text or ""}
    if message.tool_calls:
        chat["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.tool_name, "arguments": call.extra["text"]},
            }
            for call in message.tool_calls
        ]
    return chat


if __name__ == "__main__":
    serve(
        "haystack",
        ["haystack-ai"],
        [
            Arm(
                name="sliding",
                call="CompactionHook(SlidingWindowCompactor(), context_window=B, token_counter=counter).run(state)",
                start=partial(Compacted, compactors=[SlidingWindowCompactor]),
                note="By default it begins at 0.7 of the window and goes down to 0.4.",
            ),
            Arm(
                name="pruning",
                call='hooks={"before_llm": [CompactionHook(compactor(), context_window=B, token_counter=counter)'
                " for compactor in (ToolResultPruningCompactor, SlidingWindowCompactor)]}",
                start=partial(Compacted, compactors=PRUNED),
                is_default=False,
                note="Two hooks with their defaults: the window slides only if pruning tool results was not enough.",
            ),
            Arm(
                name="pruning-full",
                call='hooks={"before_llm": [CompactionHook(compactor(), context_window=B, token_counter=counter,'
                " compact_at=1.0, compact_to=0.5) for compactor in (ToolResultPruningCompactor,"
                " SlidingWindowCompactor)]}",
                start=partial(Compacted, compactors=PRUNED, compact_at=1.0, compact_to=0.5),
                is_default=False,
                note="The same, but it uses the whole budget, since that is for the request alone, and halves it.",
            ),
        ],
    )
