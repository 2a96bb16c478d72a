"""Answering the recall tool: whatever the model asks, it gets text back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from foveate.errors import ConfigError, FoveateError
from foveate.log.messages import Message
from foveate.recall import excerpt

if TYPE_CHECKING:
    from foveate.session.reading import ReadableSession


def given_back(message: Message, lines: tuple[int, int] | None, query: str | None) -> str:
    """The content of a message: whole, some of its lines, or the lines that match a query."""
    if lines is not None and [type(one) for one in lines] != [int, int]:
        raise ConfigError(f"`lines` is a first and a last line number, got {lines!r}")
    if query is not None and not isinstance(query, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"`query` is text, got {query!r}")
    return excerpt(message, lines=lines, query=query)


def answer_recall(session: ReadableSession, arguments: str | Mapping[str, Any]) -> str:
    """The text that answers a call of the recall tool."""
    try:
        asked = msgspec.json.decode(arguments) if isinstance(arguments, str | bytes) else dict(arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeError, TypeError, ValueError) as error:
        return f"recall: the arguments are not a JSON object ({error}); give one with `reference`"
    reference = asked.get("reference") if isinstance(asked, dict) else None
    if not isinstance(reference, str):
        return f"recall: `reference` must be a reference such as m17, got {reference!r}"
    lines = asked.get("lines")
    if lines is not None and _lines(lines) is None:
        return f"recall: `lines` must be a first and a last line number, got {lines!r}"
    try:
        return session.recall(reference.strip(), lines=_lines(lines), query=_query(asked))
    except FoveateError as error:
        return f"recall: {error}"


def _lines(value: object) -> tuple[int, int] | None:
    match value:
        case [int() as first, int() as last] | {"start": int() as first, "end": int() as last}:
            return first, last
        case _:
            return None


def _query(asked: Mapping[str, Any]) -> str | None:
    value = asked.get("query")
    return value if isinstance(value, str) and value.strip() else None
