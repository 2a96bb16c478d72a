"""What a whole request takes: every part of it, with the overhead around each message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from foveate.budget.foreign import foreign_tokens, request_tokens, sealed_tokens
from foveate.budget.tokens import TokenCounter, image_tokens
from foveate.log.foreign import domestic
from foveate.log.messages import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

# Providers wrap each message, call and request in control tokens; these are on the safe side of what they report.
PER_MESSAGE: Final = 4
PER_CALL: Final = 8
PER_REQUEST: Final = 3

_encode = msgspec.json.Encoder().encode


def message_tokens(message: Message, counter: TokenCounter) -> int:
    """The tokens a message takes in a request."""
    extra = _extra_tokens(message.extra, counter) + request_tokens(message, counter) if message.extra else 0
    return PER_MESSAGE + extra + sum(_part_tokens(part, counter) for part in message.parts)


class Precounted:
    """A counter that has many texts counted at once, as a batch is faster than one after the other."""

    __slots__ = ("_counter", "_known")

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._known: dict[str, int] = {}

    @property
    def name(self) -> str:
        """The name of the counter behind it."""
        return self._counter.name

    def prepare(self, messages: Iterable[Message]) -> None:
        """Count the texts of messages that will be asked for."""
        texts = list({text for message in messages for text in _texts(message)})
        self._known = dict(zip(texts, self._counter.count_many(texts), strict=True))

    def forget(self) -> None:
        """Let go of the prepared counts."""
        self._known = {}

    def count(self, text: str) -> int:
        """The tokens of a text."""
        known = self._known.get(text)
        return self._counter.count(text) if known is None else known

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The tokens of many texts."""
        return self._counter.count_many(texts)


def framing_tokens(
    counter: TokenCounter,
    *,
    system: str | None,
    tools: Iterable[dict[str, Any]],
    response_format: dict[str, Any] | None,
) -> int:
    """The tokens of what stands around the messages: system prompt, tool definitions, response format."""
    total = PER_REQUEST
    if system:
        total += counter.count(system) + PER_MESSAGE
    for tool in tools:
        total += counter.count(_encode(tool).decode()) + PER_CALL
    if response_format:
        total += counter.count(_encode(response_format).decode()) + PER_CALL
    return total


def _extra_tokens(extra: dict[str, Any], counter: TokenCounter) -> int:
    """Wire fields that are not ours go along, and the provider may charge for them."""
    sent = domestic(extra)
    return counter.count(_encode(sent).decode()) if sent else 0


def _texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text(text=text) | Thinking(text=text) | ToolResult(text=text):
                yield text
            case ToolCall(name=name, arguments=arguments):
                yield name
                yield arguments
            case _:
                continue


def _part_tokens(part: Part, counter: TokenCounter) -> int:
    words = _word_tokens(part, counter)
    return words + foreign_tokens(part, words, counter) if part.extra else words


def _word_tokens(part: Part, counter: TokenCounter) -> int:
    match part:
        case Text(text=text, extra=extra):
            return counter.count(text) + (_extra_tokens(extra, counter) if extra else 0)
        case Thinking(text=text, signature=signature):
            return counter.count(text) + sealed_tokens(signature)
        case ToolResult(text=text, media=media):
            return counter.count(text) + sum(_part_tokens(one, counter) for one in media)
        case ToolCall(name=name, arguments=arguments, extra=extra):
            more = _extra_tokens(extra, counter) if extra else 0
            return counter.count(name) + counter.count(arguments) + PER_CALL + more
        case Opaque(raw=raw):
            return counter.count(_encode(raw).decode())
        case Media(kind="image", width=width, height=height):
            return image_tokens(width, height)
        case Media(reference=reference):
            # A file travels as its bytes: four characters of a data URI make three of them.
            return max(image_tokens(None, None), len(reference) // 4)
