"""Messages as a reader sees them: the text that passages, excerpts and line numbers refer to."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from foveate.log.messages import Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from foveate.wire.opaque import readable_opaque

_ONE_LINE: Final = 200
_MAX_REFERENCE: Final = 120
_ESCAPES: Final = (("\\n", "\n"), ("\\t", "\t"), ('\\"', '"'), ("\\\\", "\\"))

_encode = msgspec.json.Encoder().encode


def readable(message: Message) -> str:
    """The words, calls and results of a message as plain text; thinking is left out, media are named."""
    pieces: list[str] = []
    for part in message.parts:
        match part:
            case Text(text=text):
                pieces.append(text)
            case ToolResult(text=text, media=media):
                pieces.append(text)
                pieces += [_named(one) for one in media]
            case ToolCall():
                pieces.append(readable_call(part))
            case Media() | Opaque():
                pieces.append(_named(part))
            case Thinking():
                continue
    return pieces[0] if len(pieces) == 1 else "\n".join(pieces)


def readable_call(call: ToolCall) -> str:
    r"""A call as its tool's name and its arguments, without JSON's escapes.

    >>> readable_call(ToolCall(id="1", name="grep", arguments='{"pattern": "\\"id\\"", "path": "src"}'))
    'grep pattern: "id", path: src'
    """
    try:
        arguments = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return f"{call.name} {_unescaped(call.arguments)}"
    if not isinstance(arguments, dict):
        return f"{call.name} {_plain(arguments)}"
    values = {name: _plain(value) for name, value in arguments.items()}
    size = sum(len(name) + len(value) + 4 for name, value in values.items())
    if size <= _ONE_LINE and not any("\n" in value for value in values.values()):
        return " ".join((call.name, ", ".join(f"{name}: {value}" for name, value in values.items()))).rstrip()
    lines = [f"{name}:\n{value}" if "\n" in value else f"{name}: {value}" for name, value in values.items()]
    return "\n".join((call.name, *lines))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _unescaped(_encode(value).decode())


def _unescaped(json: str) -> str:
    if "\\" in json:
        for escape, character in _ESCAPES:
            json = json.replace(escape, character)
    return json


def _named(media: Media | Opaque) -> str:
    if isinstance(media, Opaque):
        return readable_opaque(media.raw)
    # A data URI is the bytes themselves, which nobody can read.
    shown = media.reference if len(media.reference) <= _MAX_REFERENCE else media.reference[:_MAX_REFERENCE] + "…"
    return f"[{media.kind}: {shown}]"
