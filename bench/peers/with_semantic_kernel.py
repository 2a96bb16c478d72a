# /// script
# requires-python = ">=3.11"
# dependencies = ["semantic-kernel==1.45.0", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""Semantic Kernel: a `ChatHistoryTruncationReducer` is the history; `reduce` drops messages from it for good."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from semantic_kernel.contents import (
    AuthorRole,
    ChatHistoryTruncationReducer,
    ChatMessageContent,
    FunctionCallContent,
    FunctionResultContent,
    TextContent,
)
from worker import Arm, Chat, serve, timed_async


class Reduced:
    def __init__(self, system: str, _budget: int, **counts: int) -> None:
        self._history = ChatHistoryTruncationReducer(system_message=system or None, **counts)

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        for message in new:
            self._history.add_message(to_kernel(message))
        timed_async(self._history.reduce)
        return list(map(to_chat, self._history.messages))


def to_kernel(message: Chat) -> ChatMessageContent:
    if message["role"] == "tool":
        result = FunctionResultContent(
            id=message["tool_call_id"], name=message["name"] or "unknown", result=message["content"]
        )
        return ChatMessageContent(role=AuthorRole.TOOL, items=[result])
    calls = [
        FunctionCallContent(id=item["id"], name=item["function"]["name"], arguments=item["function"]["arguments"])
        for item in message.get("tool_calls") or ()
    ]
    return ChatMessageContent(role=AuthorRole(message["role"]), items=[TextContent(text=message["content"]), *calls])


def to_chat(message: ChatMessageContent) -> Chat:
    results = [item for item in message.items if isinstance(item, FunctionResultContent)]
    if results:
        return {"role": "tool", "content": results[0].result, "tool_call_id": results[0].id}
    chat: Chat = {"role": message.role.value, "content": message.content}
    calls = [item for item in message.items if isinstance(item, FunctionCallContent)]
    if calls:
        chat["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return chat


if __name__ == "__main__":
    serve(
        "semantic-kernel",
        ["semantic-kernel"],
        [
            Arm(
                name="truncation",
                call="await ChatHistoryTruncationReducer(target_count=40).reduce()",
                start=partial(Reduced, target_count=40),
                knows_budget=False,
                note="It counts messages (there is no default; 40 is that of other peers) and does not cut within a row"
                " of tool calls, however long.",
            ),
            Arm(
                name="truncation-steps",
                call="await ChatHistoryTruncationReducer(target_count=20, threshold_count=20).reduce()",
                start=partial(Reduced, target_count=20, threshold_count=20),
                knows_budget=False,
                is_default=False,
                note="Above 40 messages it goes down to 20, and looks for a user message to begin with.",
            ),
        ],
    )
