# /// script
# requires-python = ">=3.11"
# dependencies = ["langchain==1.4.7", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""LangChain: `trim_messages`, which is called anew on the whole history before every model call."""

from __future__ import annotations

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, trim_messages
from worker import Arm, Chat, serve, timed, tokens


class Trim:
    def __init__(self, system: str, budget: int) -> None:
        self._budget = budget
        self._history: list[BaseMessage] = [SystemMessage(system)] if system else []

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        self._history += map(to_langchain, new)
        return list(map(to_chat, timed(self._trimmed)))

    def _trimmed(self) -> list[BaseMessage]:
        return trim_messages(
            self._history,
            max_tokens=self._budget,
            token_counter=count_all,
            strategy="last",
            start_on="human",
            include_system=True,
        )


def count_all(messages: Sequence[BaseMessage]) -> int:
    return sum(tokens(to_chat(message)) for message in messages)


def to_langchain(message: Chat) -> BaseMessage:
    match message["role"]:
        case "user":
            return HumanMessage(message["content"])
        case "tool":
            return ToolMessage(message["content"], tool_call_id=message["tool_call_id"], name=message["name"])
        case "system":
            return SystemMessage(message["content"])
        case _:
            return AIMessage(message["content"], additional_kwargs=calls_of(message))


def calls_of(message: Chat) -> Chat:
    return {"tool_calls": message["tool_calls"]} if message.get("tool_calls") else {}


def to_chat(message: BaseMessage) -> Chat:
    match message:
        case HumanMessage():
            return {"role": "user", "content": message.text}
        case SystemMessage():
            return {"role": "system", "content": message.text}
        case ToolMessage():
            return {"role": "tool", "content": message.text, "tool_call_id": message.tool_call_id}
        case _:
            return {"role": "assistant", "content": message.text, **calls_of(message.additional_kwargs)}


if __name__ == "__main__":
    serve(
        "langchain",
        ["langchain", "langchain-core"],
        [
            Arm(
                name="trim",
                call='trim_messages(history, max_tokens=B, strategy="last", start_on="human", include_system=True)',
                start=Trim,
                is_default=False,
                note="`start_on` and `include_system` are set because without them most requests are invalid.",
            ),
        ],
    )
