"""Fields of raw messages: looked up with an error that says where, and copied if they are not ours."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from foveate.errors import MessageError
from foveate.log.text import encodable, own_copy


def rest(raw: Mapping[Any, Any], known: frozenset[str], where: str) -> dict[str, Any]:
    """Fields that are not ours, as a copy of our own: the log must not change when the caller's objects do."""
    if raw.keys() <= known:
        return {}
    try:
        copy: dict[str, Any] = own_copy({str(key): value for key, value in raw.items() if key not in known})
    except ValueError as error:
        raise MessageError(f"{where}: only plain JSON can be stored: {error}") from error
    return copy


def mapping(raw: object, where: str) -> Mapping[str, Any]:
    """The value, if it is a mapping."""
    if not isinstance(raw, Mapping):
        raise MessageError(f"{where}: expected a mapping, got {type(raw).__name__}")
    return raw


def text_of(raw: Mapping[str, Any], key: str, where: str) -> str:
    """A field that must be text."""
    value = raw.get(key)
    if not isinstance(value, str):
        raise MessageError(f"{where}: `{key}` must be text, got {type(value).__name__}")
    return encodable(value)


def name_of(raw: Mapping[str, Any], key: str, where: str) -> str:
    """A field that must be text with something in it."""
    value = raw.get(key)
    if not isinstance(value, str) or not value:
        raise MessageError(f"{where}: `{key}` must be a non-empty string, got {value!r:.80}")
    return encodable(value)


def unknown_role(role: object, known: Iterable[str], where: str) -> MessageError:
    """The error on a role that a format does not have: whose words they are is never guessed."""
    return MessageError(
        f"{where}: unknown `role` {role!r:.80}; known are {', '.join(known)}: give the one that the provider is to "
        "see, and name the speaker in the content"
    )


def arguments_text(value: object, where: str) -> str:
    """The arguments of a call as JSON text."""
    if isinstance(value, str):
        return encodable(value)
    try:
        return encodable(json.dumps(own_copy(value), ensure_ascii=False))
    except ValueError as error:
        raise MessageError(f"{where}: only plain JSON can be stored: {error}") from error


def arguments_object(arguments: str) -> dict[str, Any]:
    """The arguments of a call as an object; what is none is wrapped, as providers want one."""
    try:
        value = json.loads(arguments, parse_constant=_number, parse_float=_number) if arguments.strip() else {}
        if "\\ud" in arguments.lower():
            # JSON text can spell half a character, which nothing can carry once it is read.
            value = json.loads(encodable(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return {"arguments": arguments}
    return value if isinstance(value, dict) else {"arguments": value}


def loaded(text: str) -> Any:
    """The value of JSON text; None if it is none."""
    try:
        return json.loads(text, parse_constant=_number, parse_float=_number)
    except (ValueError, RecursionError):
        return None


def json_text(value: object, where: str) -> str:
    """A value as JSON text, the shortest."""
    try:
        return msgspec.json.encode(own_copy(value)).decode()
    except ValueError as error:
        raise MessageError(f"{where}: only plain JSON can be stored: {error}") from error


def plainest(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """One text block as its text alone, which means the same."""
    match blocks:
        case [{"type": "text", "text": str() as text, **more}] if not more:
            return text
        case _:
            return blocks


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number in JSON")
    return number
