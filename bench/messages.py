"""OpenAI chat messages, the common form of all recorded sessions."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NotRequired, TypedDict


class Function(TypedDict):
    name: str
    arguments: str


class Call(TypedDict):
    id: str
    type: Literal["function"]
    function: Function


class Message(TypedDict):
    role: str
    content: str | None
    tool_calls: NotRequired[list[Call]]
    tool_call_id: NotRequired[str]


def call(call_id: str, name: str, arguments: str) -> Call:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls_of(message: Message) -> list[Call]:
    return message.get("tool_calls") or []


def content_of(message: Message) -> str:
    """The text of a message, also where content is null or a list of parts."""
    content: Any = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def texts(message: Message) -> Iterator[str]:
    """Every text a model could read in a message; call arguments both raw and decoded."""
    yield content_of(message)
    for item in calls_of(message):
        yield item["function"]["name"]
        yield item["function"]["arguments"]
        yield from argument_values(item["function"]["arguments"])


@cache
def argument_values(arguments: str) -> tuple[str, ...]:
    """The strings inside a call's JSON arguments, without their keys."""
    try:
        decoded = json.loads(arguments)
    except ValueError:
        return (arguments,)
    return tuple(_strings(decoded))


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
