"""OpenAI chat messages: the form in which policies are compared.

Requests come from anybody's policy, so nothing is taken for granted of their shape: what is malformed has no text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

Chat = dict[str, Any]
Function = Mapping[str, Any]


def call(call_id: str, name: str, arguments: str) -> Chat:
    """A tool call, as it stands in an assistant message."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls_of(message: Mapping[str, Any]) -> list[Any]:
    """The tool calls of a message that have an id and a function with a name and arguments."""
    calls = message.get("tool_calls")
    return [one for one in calls if _is_call(one)] if isinstance(calls, list) else []


def content_of(message: Mapping[str, Any]) -> str:
    """The text of a message, also where content is null or a list of parts."""
    content: Any = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def texts(message: Mapping[str, Any]) -> Iterator[str]:
    """Every text a model could read in a message; call arguments both raw and decoded."""
    yield content_of(message)
    for item in calls_of(message):
        yield item["function"]["name"]
        yield item["function"]["arguments"]
        yield from argument_values(item["function"]["arguments"])


@lru_cache(maxsize=20_000)
def argument_values(arguments: str) -> tuple[str, ...]:
    """The strings inside a call's JSON arguments, without their keys."""
    try:
        return tuple(_strings(json.loads(arguments)))
    except (ValueError, RecursionError):
        return (arguments,)


def _is_call(value: object) -> bool:
    match value:
        case {"id": str(), "function": {"name": str(), "arguments": str()}}:
            return True
        case _:
            return False


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
        case _:
            return
