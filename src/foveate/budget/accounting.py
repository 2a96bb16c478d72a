"""What a whole request takes: every part of it, with the overhead around each message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from foveate.budget.tokens import TokenCounter, image_tokens
from foveate.log.messages import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult, domestic, fields_of
from foveate.wire import gemini_parts, responses_items
from foveate.wire.anthropic_blocks import note, wire_fields
from foveate.wire.openai_responses import as_it_ran, kind_of

# Providers wrap each message, call and request in control tokens; these are on the safe side of what they report.
PER_MESSAGE: Final = 4
PER_CALL: Final = 8
PER_REQUEST: Final = 3

_encode = msgspec.json.Encoder().encode


def message_tokens(message: Message, counter: TokenCounter) -> int:
    """The tokens a message takes in a request."""
    extra = _extra_tokens(message.extra, counter) + request_tokens(message, counter) if message.extra else 0
    return PER_MESSAGE + extra + sum([_part_tokens(part, counter) for part in message.parts])


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
            return counter.count(text) + (sum(_part_tokens(one, counter) for one in media) if media else 0)
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


_RESPONSES: Final = "openai-responses"
_FUNCTIONS: Final = ("function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output")

_encode = msgspec.json.Encoder().encode


def sealed_tokens(sealed: object) -> int:
    """The tokens of what only its provider can read: it is charged by what is in it, not by how it is written."""
    return len(sealed) // 6 + 1 if isinstance(sealed, str) and sealed else 0


def foreign_tokens(part: Part, words: int, counter: TokenCounter) -> int:
    """The tokens that a part takes beyond its words, which are counted already.

    What is sent instead of the words says them again, so that only what it is longer by counts.
    """
    sealed, others = 0, 0
    for item in _sent(part):
        open_fields = dict(item)
        sealed += sealed_tokens(open_fields.pop("encrypted_content", None))
        sealed += sealed_tokens(open_fields.pop("thoughtSignature", None))
        others += counter.count(_encode(open_fields).decode()) if open_fields else 0
    return sealed + max(0, others - words) + sum(counter.count(text) for text in _titles(part))


def request_tokens(message: Message, counter: TokenCounter) -> int:
    """The tokens of the instructions that stand beside a request of pydantic-ai.

    Each request of a run repeats them and the newest ones alone are sent, so only those beside a prompt count.
    """
    request = fields_of(message.extra, "pydantic-ai").get("request") if message.role == "user" else None
    instructions = request.get("instructions") if isinstance(request, dict) else None
    return counter.count(instructions) if isinstance(instructions, str) else 0


def _sent(part: Part) -> Iterator[Mapping[str, Any]]:
    """What is sent of the fields that a part keeps, or instead of the part."""
    yield from _of_responses(part)
    gemini = fields_of(part.extra, gemini_parts.NAME)
    if gemini:
        raw = gemini.get("raw")
        yield raw if isinstance(raw, dict) else {**gemini.get("call", {}), **gemini.get("part", {})}
    yield wire_fields(part.extra)
    if isinstance(part, Text | Thinking):
        block = fields_of(part.extra, "langchain").get("block")
        own = fields_of(part.extra, "pydantic-ai").get("part") if isinstance(part, Thinking) else None
        yield from (fields for fields in (block, own) if isinstance(fields, dict))


def _of_responses(part: Part) -> Iterator[Mapping[str, Any]]:
    kept = fields_of(part.extra, _RESPONSES)
    if not kept:
        return
    item = kept.get("item", {})
    match part:
        case Text() if kept.get("came") is True:
            yield as_it_ran(part) or {}
        case Text():
            ran = as_it_ran(part)
            yield (None if ran is None else responses_items.hosted(ran)) or {}
        case Thinking() if item.get("type") in ("reasoning", "compaction"):
            yield responses_items.sent(item)
        case ToolCall() if (kind := kind_of(part)) not in _FUNCTIONS:
            yield _charged({**item, "type": kind})
        case ToolResult() if kept.get("type", _FUNCTIONS[0]) not in _FUNCTIONS:
            yield _charged({**item, "type": kept["type"]})
        case _:
            return


def _charged(item: Mapping[str, Any]) -> dict[str, Any]:
    """What the provider reads of an item: of a type that is not known, such as a tool search, all but its labels."""
    if item["type"] in responses_items.FIELDS:
        return responses_items.sent(item)
    return {key: value for key, value in item.items() if key not in ("id", "status")}


def _titles(part: Part) -> Iterator[str]:
    """What stands beside a document of Anthropic, also beside those in a result."""
    extras = [part.extra]
    if isinstance(part, ToolResult):
        shape = note(part.extra, "content")
        pieces = shape if isinstance(shape, list) else []
        extras = [entry[1] for entry in pieces if isinstance(entry, list) and isinstance(entry[-1], dict)]
    if isinstance(part, Text | Media | ToolResult):
        for fields in map(wire_fields, extras):
            yield from (fields[key] for key in ("title", "context") if isinstance(fields.get(key), str))
