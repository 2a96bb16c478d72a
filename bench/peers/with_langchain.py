# /// script
# requires-python = ">=3.11"
# dependencies = ["langchain==1.4.7", "splintr-rs==0.22.0"]
# [tool.uv]
# exclude-newer = "2026-11-15T00:00:00Z"
# ///
"""LangChain: `trim_messages` and `ContextEditingMiddleware` see the whole history before every model call, while
`SummarizationMiddleware` replaces the history with what it keeps of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langchain.agents.middleware.types import ModelRequest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    trim_messages,
)
from langchain_core.messages.tool import InvalidToolCall
from worker import SUMMARY, Arm, Chat, head, serve, timed, tokens

# LangChain looks at it when a model is called, not when it is imported.
os.environ["LANGSMITH_TRACING_V2"] = "false"

MODEL = FakeListChatModel(responses=[SUMMARY])


class Trim:
    def __init__(self, system: str, budget: int, **options: Any) -> None:
        self._budget = budget
        self._options = options
        self._history = taken_in(head(system))

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        self._history += taken_in(new)
        return list(map(to_chat, timed(self._trimmed)))

    def _trimmed(self) -> list[BaseMessage]:
        return trim_messages(self._history, max_tokens=self._budget, token_counter=count_all, **self._options)


class Clear:
    def __init__(self, system: str, budget: int) -> None:
        self._head = head(system)
        self._history: list[BaseMessage] = []
        edit = ClearToolUsesEdit(trigger=room(system, budget), keep=3)
        self._middleware = ContextEditingMiddleware(edits=[edit], token_counter=count_all)

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        self._history += taken_in(new)
        request = ModelRequest(model=MODEL, messages=self._history)
        edited = timed(lambda: self._middleware.wrap_model_call(request, lambda asked: asked))
        return [*self._head, *map(to_chat, edited.messages)]


class Summary:
    def __init__(self, system: str, budget: int, keeps_half: bool) -> None:
        self._head = head(system)
        self._state: list[BaseMessage] = []
        available = room(system, budget)
        kept = {"keep": ("tokens", max(1, available // 2))} if keeps_half else {}
        self._middleware = SummarizationMiddleware(
            MODEL, trigger=("tokens", available), token_counter=count_all, **kept
        )

    def step(self, new: Sequence[Chat]) -> list[Chat]:
        self._state += taken_in(new)
        update = timed(lambda: self._middleware.before_model({"messages": self._state}, None))
        if update is not None:
            # The first one says that all messages before it are removed.
            self._state = update["messages"][1:]
        return [*self._head, *map(to_chat, self._state)]


def room(system: str, budget: int) -> int:
    return max(1, budget - sum(map(tokens, head(system))))


def count_all(messages: Sequence[BaseMessage]) -> int:
    return sum(tokens({**message.additional_kwargs, "content": message.content}) for message in messages)


def taken_in(new: Sequence[Chat]) -> list[BaseMessage]:
    return [to_langchain(message) for message in new]


def to_langchain(message: Chat) -> BaseMessage:
    match message["role"]:
        case "user":
            return HumanMessage(message["content"])
        case "tool":
            return ToolMessage(message["content"], tool_call_id=message["tool_call_id"], name=message["name"])
        case "system" | "developer":
            return SystemMessage(message["content"])
        case _:
            return to_assistant(message)


def to_assistant(message: Chat) -> AIMessage:
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for called in message.get("tool_calls") or ():
        id, name, text = called["id"], called["function"]["name"], called["function"]["arguments"]
        arguments = parsed(text)
        if isinstance(arguments, dict):
            calls.append(ToolCall(name=name, args=arguments, id=id))
        else:
            invalid.append(InvalidToolCall(name=name, args=text, id=id, error=None, type="invalid_tool_call"))
    return AIMessage(
        message["content"], tool_calls=calls, invalid_tool_calls=invalid, additional_kwargs=calls_of(message)
    )


def parsed(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None


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
                call='trim_messages(history, max_tokens=B, start_on="human", include_system=True)',
                start=partial(Trim, start_on="human", include_system=True),
                is_default=False,
                note="As its documentation sets it; in an agent's long turn nothing but the system prompt may be left.",
            ),
            Arm(
                name="trim-steps",
                call='trim_messages(history, max_tokens=B, start_on=("human", "ai"), include_system=True)',
                start=partial(Trim, start_on=("human", "ai"), include_system=True),
                is_default=False,
                note="May begin with a step of the agent, which suits long turns better.",
            ),
            Arm(
                name="trim-default",
                call="trim_messages(history, max_tokens=B, token_counter=counter)",
                start=Trim,
                note="Nothing but the budget and the counter, which it asks for: what fits of the end, without regard "
                "to the system prompt or to where a tool call began.",
            ),
            Arm(
                name="clear",
                call="ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=B, keep=3)])",
                start=Clear,
                note="B is the trigger and no limit: what is left after clearing all but three results is sent.",
            ),
            Arm(
                name="summary",
                call='SummarizationMiddleware(model, trigger=("tokens", B), keep=("tokens", B // 2))',
                start=partial(Summary, keeps_half=True),
                is_default=False,
                note="A fake model gives a fixed summary that says nothing real, and its calls are not counted.",
            ),
            Arm(
                name="summary-default",
                call='SummarizationMiddleware(model, trigger=("tokens", B))',
                start=partial(Summary, keeps_half=False),
                note="As summary, with what it keeps by default: the last 20 messages, whatever they measure.",
            ),
        ],
    )
