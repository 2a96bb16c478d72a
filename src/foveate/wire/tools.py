"""Tool definitions: read from any provider's form, written in the one that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from foveate.errors import ConfigError


class Declared(NamedTuple):
    """A tool by what all providers want to know of it."""

    name: str
    description: str
    schema: dict[str, Any]


def declared(tool: Mapping[str, Any]) -> Declared | None:
    """What a definition says; None for a tool that the provider runs itself, which has no common form."""
    function = tool.get("function")
    inner: Mapping[str, Any] = function if isinstance(function, Mapping) else tool
    name = inner.get("name")
    if not isinstance(name, str) or not name:
        raise ConfigError(f"a tool in `tools` has no name: {tool!r:.120}")
    schema = next((inner[key] for key in ("parameters", "input_schema", "parametersJsonSchema") if key in inner), None)
    if schema is None and isinstance(tool.get("type"), str) and tool["type"] not in ("function", "custom"):
        return None
    return Declared(name, str(inner.get("description") or ""), dict(schema or {"type": "object", "properties": {}}))


def openai_tools(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """As OpenAI chat has them."""
    return [
        dict(tool)
        if (made := declared(tool)) is None or isinstance(tool.get("function"), Mapping)
        else {"type": "function", "function": _described(made, "parameters")}
        for tool in tools
    ]


def responses_tools(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """As OpenAI Responses has them."""
    return [
        dict(tool)
        if (made := declared(tool)) is None or (tool.get("type") == "function" and "name" in tool)
        else {"type": "function", **_described(made, "parameters")}
        for tool in tools
    ]


def anthropic_tools(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """As Anthropic has them."""
    return [
        dict(tool) if (made := declared(tool)) is None or "input_schema" in tool else _described(made, "input_schema")
        for tool in tools
    ]


def gemini_tools(tools: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """As Gemini has them: all declarations in one tool."""
    functions = [_described(made, "parametersJsonSchema") for tool in tools if (made := declared(tool)) is not None]
    return [{"functionDeclarations": functions}] if functions else []


def _described(tool: Declared, schema: str) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, schema: tool.schema}
