"""Tools: what an agent may do besides answering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from foveate.log.messages import Message, Outcome, ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool says to the model, and whether it did what it was asked."""

    text: str
    outcome: Outcome = "ok"


class Toolset(Protocol):
    """Some tools, each with its definition; whatever a model asks, it gets an answer."""

    @property
    def definitions(self) -> tuple[dict[str, Any], ...]:
        """The tools as OpenAI's chat API defines functions."""
        ...

    async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
        """Do what a call asks; what is wrong with it is said to the model, not raised."""
        ...


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call; raises `msgspec.MsgspecError` if they are no JSON object."""
    return msgspec.json.decode(call.arguments or "{}", type=dict[str, Any])


async def answer_call(call: ToolCall, toolsets: Sequence[Toolset]) -> Answer:
    """The answer of the tool that a call names; arguments that are no JSON object, and unknown tools, get one too."""
    try:
        arguments = arguments_of(call)
    except msgspec.MsgspecError as error:
        return Answer(text=f"error: the arguments of {call.name} are no JSON object: {error}", outcome="error")
    known: list[str] = []
    for tools in toolsets:
        names = [one["function"]["name"] for one in tools.definitions]
        if call.name in names:
            return await tools.answer(call.name, arguments)
        known += names
    listed = f"known are {', '.join(known)}" if known else "there are none"
    return Answer(text=f"error: there is no tool {call.name!r}; {listed}", outcome="error")


def open_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """The calls of the newest answer that have no result yet; none if somebody went on without."""
    done: set[str] = set()
    for message in reversed(messages):
        if message.role == "assistant":
            return [call for call in message.calls if call.id not in done]
        if message.role == "user":
            return []
        if message.result is not None:
            done.add(message.result.call_id)
    return []
