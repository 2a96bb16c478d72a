"""The form that an answer shall have: read from any provider's way to ask for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from foveate.wire.tools import json_schema

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_JSON: Final = "application/json"
_SCHEMAS: Final = ("responseJsonSchema", "response_json_schema", "responseSchema", "response_schema")


class AnswerFormat(NamedTuple):
    """JSON, by a schema if there is one; `strict` and `description` only if they were given."""

    schema: dict[str, Any] | None = None
    name: str = "answer"
    strict: bool | None = None
    description: str | None = None


def answer_format(asked: Mapping[str, Any] | None) -> AnswerFormat | None:
    """What a response format asks for; None if that is plain text, or nothing that could be understood."""
    if asked is None:
        return None
    inside = asked.get("format")
    if isinstance(inside, Mapping) and "type" not in asked:
        asked = inside
    match asked:
        case {"type": "json_schema", "json_schema": {"schema": Mapping()} as inner}:
            return _named(inner)
        case {"type": "json_schema", "schema": Mapping()}:
            return _named(asked)
        case {"type": "json_object"}:
            return AnswerFormat()
        case {"type": str() as kind} if kind.lower() in ("object", "array"):
            return AnswerFormat(schema=_spelt(asked))
        case {"properties": Mapping()}:
            return AnswerFormat(schema=_spelt(asked))
        case _:
            return _generated(asked)


def _generated(asked: Mapping[str, Any]) -> AnswerFormat | None:
    """What Gemini's way asks for, by a schema or by the media type alone."""
    schema = next((asked[key] for key in _SCHEMAS if isinstance(asked.get(key), Mapping)), None)
    kind = asked.get("responseMimeType", asked.get("response_mime_type", None if schema is None else _JSON))
    return AnswerFormat(schema=None if schema is None else _spelt(schema)) if kind == _JSON else None


def _spelt(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """A schema with types spelt as JSON schema spells them, which Gemini may write in capitals."""
    spelt = json_schema(schema)
    # One that names properties means an object, which OpenAI wants to be said.
    return {"type": "object", **spelt} if spelt is not None and "properties" in spelt else spelt


def _named(asked: Mapping[str, Any]) -> AnswerFormat:
    name, strict, description = asked.get("name"), asked.get("strict"), asked.get("description")
    return AnswerFormat(
        schema=_spelt(asked["schema"]),
        name=name if isinstance(name, str) and _NAME.fullmatch(name) else "answer",
        strict=strict if isinstance(strict, bool) else None,
        description=description if isinstance(description, str) else None,
    )
