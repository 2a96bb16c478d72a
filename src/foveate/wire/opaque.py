"""Opaque parts: what can be read of them, which is all that other formats are sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from foveate.log.messages import Media, Message, Opaque, Part, Text, ToolResult

ALSO: Final = "also"
"""Notes the further formats that an opaque part could have come in."""
_TELLING: Final = frozenset(
    {"title", "context", "source", "url", "text", "name", "query", "stdout", "stderr", "error_code", "file_id"}
)


def readable_opaque(raw: Mapping[str, Any]) -> str:
    """What can be read of a block of any type: its type, and its texts, names and addresses in order."""
    kind = raw.get("type") or next(iter(raw), "opaque")
    return "\n".join([f"[{kind}]", *(text for text in _texts(raw) if text.strip())])


def without_alien(messages: Iterable[Message], format: str) -> list[Message]:
    """Messages for one format: what is opaque and another format's is its readable words, or gone if it has none."""
    return [without_alien_parts(message, format) for message in messages]


def without_alien_parts(message: Message, format: str) -> Message:
    """One such message; itself, if nothing in it is alien."""
    if not any(_holds_alien(part, format) for part in message.parts):
        return message
    parts = tuple(one for part in message.parts for one in _spoken(part, message, format))
    return msgspec.structs.replace(message, parts=parts)


def _holds_alien(part: Part, format: str) -> bool:
    if isinstance(part, ToolResult):
        return any(_holds_alien(one, format) for one in part.media)
    return isinstance(part, Opaque) and _is_alien(part, format)


def _is_alien(part: Opaque, format: str) -> bool:
    """Whether a part came in another format than one; where nothing told which it was, it came in several."""
    return part.format != format and format not in part.extra.get(ALSO, ())


def _spoken(part: Part, message: Message, format: str) -> Iterator[Part]:
    match part:
        case ToolResult(media=media, text=text) if _holds_alien(part, format):
            alien = [one for one in media if isinstance(one, Opaque) and _is_alien(one, format)]
            texts = [*([text] if text else []), *(shown for one in alien if (shown := _words(one)))]
            kept = tuple(one for one in media if isinstance(one, Media) or one not in alien)
            yield msgspec.structs.replace(part, text="\n".join(texts), media=kept)
        case Opaque() if _is_alien(part, format):
            # Instructions to one provider's machinery mean nothing to another's.
            if message.role != "system" and (words := _words(part)):
                yield Text(text=words)
        case _:
            yield part


def _words(part: Opaque) -> str:
    """What can be read of an opaque part beside its type; "" if that is nothing."""
    has_words = isinstance(part.raw.get("type"), str) and any(text.strip() for text in _texts(part.raw))
    return readable_opaque(part.raw) if has_words else ""


def _texts(block: Mapping[str, Any]) -> Iterator[str]:
    waiting: list[tuple[str, Any]] = [("", block)]
    # A stack of our own: a block may be nested deeper than calls can be.
    while waiting:
        name, value = waiting.pop()
        match value:
            case str() if name in _TELLING:
                yield value
            case dict() if name == "input":
                yield msgspec.json.encode(value).decode()
            case dict():
                waiting += reversed(value.items())
            case list():
                waiting += [(name, one) for one in reversed(value)]
            case _:
                continue
