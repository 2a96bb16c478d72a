"""What the fields of one wire format take in a request to its provider; what no request has counts nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from foveate.budget.tokens import TokenCounter
from foveate.log.foreign import fields_of
from foveate.log.messages import Media, Message, Part, Text, Thinking, ToolCall, ToolResult
from foveate.wire import gemini_parts, responses_items
from foveate.wire.anthropic_blocks import note, wire_fields
from foveate.wire.openai_responses import as_it_ran, kind_of

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
    request = fields_of(message.extra, "pydantic-ai").get("request")
    instructions = request.get("instructions") if isinstance(request, dict) else None
    return counter.count(instructions) if message.role == "user" and isinstance(instructions, str) else 0


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
