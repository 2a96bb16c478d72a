"""Foreign fields: what only one wire format understands, kept under that format's name and sent in no other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from foveate.log.messages import Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult

_SIGN: Final = "@"


def foreign(format: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """An `extra` that keeps fields for one format; empty if there are none."""
    return {_SIGN + format: dict(fields)} if fields else {}


def fields_of(extra: Mapping[str, Any], format: str) -> dict[str, Any]:
    """What an `extra` keeps for one format."""
    kept = extra.get(_SIGN + format)
    return kept if isinstance(kept, dict) else {}


def domestic(extra: dict[str, Any]) -> dict[str, Any]:
    """What of an `extra` belongs to no single format."""
    if any(key.startswith(_SIGN) for key in extra):
        return {key: value for key, value in extra.items() if not key.startswith(_SIGN)}
    return extra


def says_more(message: Message) -> bool:
    """Whether a message holds what OpenAI chat messages cannot say: reasoning, or fields of another format."""
    return _has_foreign(message.extra) or any(_is_foreign(part) for part in message.parts)


def _is_foreign(part: object) -> bool:
    match part:
        case Thinking():
            return True
        case ToolResult(extra=extra, media=media):
            return _has_foreign(extra) or any(_is_foreign(one) for one in media)
        case Opaque():
            return True
        case Text(extra=extra) | ToolCall(extra=extra) | Media(extra=extra):
            return _has_foreign(extra)
        case _:
            return False


def _has_foreign(extra: dict[str, Any]) -> bool:
    return any(key.startswith(_SIGN) for key in extra)
