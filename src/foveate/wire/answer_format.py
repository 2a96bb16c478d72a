"""The form that an answer shall have: read from any provider's way to ask for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from foveate.wire.tools import declared

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
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
    match asked:
        case {"type": "json_schema", "json_schema": {"schema": Mapping()} as inner}:
            return _named(inner)
        case {"type": "json_schema", "schema": Mapping()}:
            return _named(asked)
        case {"type": "json_object"}:
            return AnswerFormat()
        case {"type": "object"} | {"properties": Mapping()}:
            return AnswerFormat(schema=dict(asked))
        case _ if asked.get("responseMimeType", asked.get("response_mime_type")) == "application/json":
            schema = next((asked[key] for key in _SCHEMAS if isinstance(asked.get(key), Mapping)), None)
            return AnswerFormat(schema=None if schema is None else _spelt(schema))
        case _:
            return None


def _spelt(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with types spelt as JSON schema spells them, which Gemini may write in capitals."""
    if str(schema.get("type")).lower() != "object":
        return dict(schema)
    return next((one.schema for one in declared({"name": "answer", "parameters": schema})), dict(schema))


def _named(asked: Mapping[str, Any]) -> AnswerFormat:
    name, strict, description = asked.get("name"), asked.get("strict"), asked.get("description")
    return AnswerFormat(
        schema=dict(asked["schema"]),
        name=name if isinstance(name, str) and _NAME.fullmatch(name) else "answer",
        strict=strict if isinstance(strict, bool) else None,
        description=description if isinstance(description, str) else None,
    )
