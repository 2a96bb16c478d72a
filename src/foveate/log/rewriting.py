"""Rewriting: every text of a message put through a function, wherever in the message it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from foveate.log.messages import Media, Message, MessageMeta, Opaque, Part, Text, Thinking, ToolCall, ToolResult

Rewrite = Callable[[str], str]


def rewrite_message(message: Message, rewrite: Rewrite) -> Message:
    """The message with other texts; the same message if the function changes none of them.

    Words, arguments of calls, results, addresses of media, what is known of the message and fields that only its
    provider understands are rewritten. Reasoning cannot be: a signature binds it to its text, so it is left out whole.
    Names of tools and ids stay, or calls would lose their results. Content that is no text, such as a picture, stays.
    In what only one format understands, every text is rewritten, whatever it is for, but for its type.
    """
    kept = (_part(part, rewrite) for part in message.parts)
    parts = tuple(part for part in kept if part is not None)
    rewritten = msgspec.structs.replace(
        message, parts=parts, meta=_meta(message.meta, rewrite), extra=rewrite_value(message.extra, rewrite)
    )
    return message if rewritten == message else rewritten


def rewrite_value(value: Any, rewrite: Rewrite) -> Any:
    """Plain data with its texts rewritten; names of fields and what says the type of a thing stay, or nobody reads it.

    A function that takes out a word of a conversation does not mean the word `text` of a format.
    """
    match value:
        case str():
            return rewrite(value)
        case Mapping():
            return {key: one if key == "type" else rewrite_value(one, rewrite) for key, one in value.items()}
        case list() | tuple():
            return type(value)(rewrite_value(one, rewrite) for one in value)
        case _:
            return value


def _part(part: Part, rewrite: Rewrite) -> Part | None:
    extra = rewrite_value(part.extra, rewrite)
    match part:
        case Text() | ToolResult():
            rewritten = msgspec.structs.replace(part, text=rewrite(part.text), extra=extra)
            if isinstance(rewritten, ToolResult) and rewritten.media:
                media = tuple(
                    _opaque(one, rewrite) if isinstance(one, Opaque) else _media(one, rewrite)
                    for one in rewritten.media
                )
                rewritten = msgspec.structs.replace(rewritten, media=media)
            return rewritten
        case ToolCall():
            return msgspec.structs.replace(part, arguments=rewrite_arguments(part.arguments, rewrite), extra=extra)
        case Media():
            return _media(part, rewrite)
        case Opaque():
            return _opaque(part, rewrite)
        case Thinking():
            return part if rewrite(part.text) == part.text and extra == part.extra else None


def rewrite_arguments(arguments: str, rewrite: Rewrite) -> str:
    """The arguments of a call with their values rewritten; JSON stays JSON, and the same bytes if nothing changes.

    The names of arguments stay, as the tool knows no others. A number that has to change becomes a text.
    """
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return rewrite(arguments)
    rewritten = _argument(value, rewrite)
    text = arguments if rewritten == value else msgspec.json.encode(rewritten).decode()
    # A text may also stand across what the JSON divides.
    across = rewrite(text)
    return across if across == text or _names_in(across) in (None, _names_in(text)) else text


def _argument(value: Any, rewrite: Rewrite) -> Any:
    match value:
        case str():
            return rewrite(value)
        case dict():
            return {name: _argument(one, rewrite) for name, one in value.items()}
        case list():
            return [_argument(one, rewrite) for one in value]
        case int() | float() if not isinstance(value, bool):
            text = msgspec.json.encode(value).decode()
            changed = rewrite(text)
            return value if changed == text else changed
        case _:
            return value


def _names_in(arguments: str) -> list[str] | None:
    """The names in arguments in their order; None if they are no JSON."""
    try:
        waiting = [msgspec.json.decode(arguments)]
    except (msgspec.DecodeError, RecursionError):
        return None
    names: list[str] = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            names.extend(value)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return names


def _media(media: Media, rewrite: Rewrite) -> Media:
    inline = media.reference[:5].lower() == "data:"
    reference = media.reference if inline else rewrite(media.reference)
    return msgspec.structs.replace(media, reference=reference, extra=rewrite_value(media.extra, rewrite))


def _opaque(part: Opaque, rewrite: Rewrite) -> Opaque:
    raw = rewrite_value(part.raw, rewrite)
    return msgspec.structs.replace(part, raw=raw, extra=rewrite_value(part.extra, rewrite))


def _meta(meta: MessageMeta, rewrite: Rewrite) -> MessageMeta:
    return msgspec.structs.replace(
        meta,
        reads=tuple(map(rewrite, meta.reads)),
        writes=tuple(map(rewrite, meta.writes)),
        attempt=rewrite(meta.attempt) if meta.attempt is not None else None,
        extra=rewrite_value(meta.extra, rewrite),
    )
