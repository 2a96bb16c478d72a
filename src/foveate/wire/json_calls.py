"""Tool calls as JSON text: for models that cannot call functions, but follow a schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec

from foveate.log.messages import Message, Text, ToolCall
from foveate.log.quoting import quote_lines, quote_name, quote_rest
from foveate.wire.fields import loaded
from foveate.wire.format import Request
from foveate.wire.tools import Declared, declared

_FORM: Final = """\
Answer with one JSON object and nothing else: {"tool": NAME, "arguments": ARGUMENTS}
NAME is one of these tools, ARGUMENTS an object by its schema:
"""
_WORDS: Final = """
To answer without a tool: {"text": ANSWER}"""
_DEFINITIONS: Final = "#/$defs/"


class Bounds(NamedTuple):
    """How long texts and lists may be where a schema does not say: a small model may never end them by itself."""

    characters: int
    items: int


class JsonCall(NamedTuple):
    """The call that a text asks for; `arguments` is JSON text."""

    name: str
    arguments: str


def callable_tools(request: Request) -> dict[str, Declared]:
    """The tools that a model can call, by name; not those that a provider runs itself."""
    tools: dict[str, Declared] = {}
    for tool in (one for raw in request.tools for one in declared(raw) if not one.run):
        tools.setdefault(tool.name, tool)
    return tools


def told(request: Request, tools: Mapping[str, Declared], *, words: bool) -> Request:
    """A request without tools: they are described behind the system prompt, and calls and results are texts.

    With `words`, the model may also answer without a call.
    """
    lines = [
        f"- {quote_name(tool.name)}: {quote_rest(tool.description)} {json.dumps(tool.schema, ensure_ascii=False)}"
        for tool in tools.values()
    ]
    described = _FORM + "\n".join(lines) + (_WORDS if words else "")
    names = {call.id: call.name for message in request.messages for call in message.calls}
    return replace(
        request,
        system=f"{request.system}\n\n{described}" if request.system and request.system.strip() else described,
        tools=(),
        # Marks are for providers, all of whose models can call.
        marks=(),
        mark_system=False,
        messages=tuple(_as_text(message, names) for message in request.messages),
    )


def call_schema(tools: Mapping[str, Declared], *, words: bool, bounds: Bounds | None = None) -> dict[str, Any]:
    """The JSON schema of a call to any of the tools; with `words`, or of an answer without one."""
    forms: list[dict[str, Any]] = []
    definitions: dict[str, Any] = {}
    for name, tool in tools.items():
        arguments = _moved(tool.schema, name)
        definitions.update((f"{name}.{key}", value) for key, value in arguments.pop("$defs", {}).items())
        forms.append(_object(tool={"type": "string", "const": name}, arguments=arguments))
    if words:
        forms.append(_object(text={"type": "string"}))
    schema = {"anyOf": forms, **({"$defs": definitions} if definitions else {})}
    return schema if bounds is None else _bounded(schema, bounds)


def read_call(text: str) -> JsonCall | str | None:
    """The call in an answer, or its words; None if it has not the form that was asked for."""
    match loaded(text):
        case {"tool": str() as name, "arguments": dict() as arguments} if name:
            return JsonCall(name, json.dumps(arguments, ensure_ascii=False))
        case {"text": str() as words}:
            return words
        case _:
            return None


def _as_text(message: Message, names: Mapping[str, str]) -> Message:
    result = message.result
    if result is not None:
        name = names.get(result.call_id) or message.meta.tool_name or "tool"
        text = Text(text=f"[result of {quote_name(name)}]\n{quote_lines(result.text)}")
        return msgspec.structs.replace(message, role="user", parts=(text, *result.media))
    parts = tuple(Text(text=_written(part)) if isinstance(part, ToolCall) else part for part in message.parts)
    return msgspec.structs.replace(message, parts=parts)


def _written(call: ToolCall) -> str:
    return f'{{"tool": {json.dumps(call.name, ensure_ascii=False)}, "arguments": {call.arguments}}}'


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _moved(value: Any, owner: str) -> Any:
    """A schema that refers to its definitions where they stand beside those of others."""
    match value:
        case {"$ref": str() as reference, **others} if reference.startswith(_DEFINITIONS):
            name = reference.removeprefix(_DEFINITIONS)
            return {"$ref": f"{_DEFINITIONS}{owner}.{name}", **_moved(others, owner)}
        case {"prefixItems": list() as items, "items": False, **others}:
            # llama.cpp refuses `false` for a schema; how many there may be is said once more.
            return {**_moved(others, owner), "prefixItems": _moved(items, owner), "maxItems": len(items)}
        case dict():
            return {key: _moved(one, owner) for key, one in value.items()}
        case list():
            return [_moved(one, owner) for one in value]
        case _:
            return value


def _bounded(value: Any, bounds: Bounds) -> Any:
    match value:
        case {"enum": _} | {"const": _}:
            return value
        case dict():
            kind = value.get("type")
            kinds = kind if isinstance(kind, list) else [kind]
            texts = {"maxLength": max(bounds.characters, value.get("minLength", 0))} if "string" in kinds else {}
            lists = {"maxItems": max(bounds.items, value.get("minItems", 0))} if "array" in kinds else {}
            return {**texts, **lists, **{key: _bounded(one, bounds) for key, one in value.items()}}
        case list():
            return [_bounded(one, bounds) for one in value]
        case _:
            return value
