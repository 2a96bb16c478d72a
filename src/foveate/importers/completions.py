"""Completions: what logs keep of calls to a chat API, whichever provider answered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from foveate.errors import MessageError
from foveate.importers.decoding import decoded, name_in
from foveate.importers.entries import Opening, Usage, answered
from foveate.importers.reading import Record, Recorded
from foveate.log.messages import Message, MessageMeta, Part, Text, Thinking
from foveate.log.text import encodable, own_copy
from foveate.wire import anthropic
from foveate.wire.formats import decode_any
from foveate.wire.tools import declared
from foveate.wire.usage import reported_usage

_LARGEST: Final = 2**53
_NUMBERED: Final = re.compile(r"^message (\d+)")
# A tag is a label, not a text.
_LABEL: Final = 200


def messages_of(
    log: Recorded, raws: Sequence[object], line: int = 0, *, first: int = 0, place: str = ""
) -> list[Message]:
    """Raw messages in any wire format; malformed ones are left out, or refuse the log.

    Errors count them from `first` on, and say the `place` before that.
    """
    try:
        return decode_any(raws)
    except MessageError as error:
        if not log.lenient:
            log.fail(line, place + _renumbered(error, first))
    # Only whole runs say what belongs together, so the sound ones are decoded at once.
    sound = [raw for index, raw in enumerate(raws, start=first) if _is_sound(log, raw, line, index, place)]
    try:
        return decode_any(sound)
    except MessageError as error:
        log.skip(line, f"{place}{error}")
        return []


def response_of(log: Recorded, response: Record, line: int = 0) -> Message | None:
    """The message that a provider's response holds, with its usage and model; None if it holds none."""
    raws = _answers(response)
    reasoning: tuple[Part, ...] = ()
    if len(raws) == 1 and "choices" in response:
        reasoning = thoughts(log, raws[0], line)
        raws = [_sent_back(raws[0])]
    found = [message for message in messages_of(log, raws, line) if message.role == "assistant"]
    if not found:
        return None
    parts = tuple(part for message in found for part in message.parts)
    message = msgspec.structs.replace(found[0], parts=(*reasoning, *parts))
    usage = usage_in(response.get("usage")) or usage_in(response.get("usageMetadata"))
    model = name_in(response, "model") or name_in(response, "modelVersion")
    return answered(message, usage=usage, model=model, response_id=name_in(response, "id"))


def usage_in(raw: object) -> Usage | None:
    """What a provider counted, by the names of any of them; None if the tokens that were sent are not there."""
    found = reported_usage(raw) if isinstance(raw, dict) else None
    if found is None:
        return None
    return Usage(
        input_tokens=found.input_tokens,
        cached_tokens=found.cached_tokens,
        written_tokens=found.written_tokens,
        output_tokens=found.output_tokens,
    )


def thoughts(log: Recorded, raw: Record, line: int = 0) -> tuple[Part, ...]:
    """The reasoning that stands beside a message, where a proxy puts it."""
    blocks = raw.get("thinking_blocks")
    if isinstance(blocks, list) and blocks:
        said = decoded(log, line, anthropic.decode, [{"role": "assistant", "content": blocks}], "`thinking_blocks`")
        return tuple(part for message in said for part in message.parts)
    text = name_in(raw, "reasoning_content") or name_in(raw, "reasoning")
    return (Thinking(text=text),) if text is not None else ()


def framed(messages: list[Message]) -> tuple[str | None, list[Message]]:
    """The system prompt that messages begin with, and the other messages."""
    first = messages[0] if messages else None
    if first is None or first.role != "system" or not all(isinstance(part, Text) for part in first.parts):
        return None, messages
    return first.text, messages[1:]


def tools_in(log: Recorded, value: object, line: int = 0) -> tuple[Record, ...]:
    """Tool definitions as a request has them; Gemini's come out of their wrapper, what defines none is left out."""
    tools: list[Record] = []
    for tool in value if isinstance(value, list) else ():
        inner = tool.get("functionDeclarations", tool.get("function_declarations")) if isinstance(tool, dict) else None
        tools += understood(log, inner if isinstance(inner, list) else [tool], line)
    try:
        return tuple(own_copy(tools))
    except ValueError as error:
        log.skip(line, f"`tools` cannot be stored: {error}")
        return ()


def understood(log: Recorded, tools: Iterable[object], line: int = 0) -> list[Record]:
    """Those of some tools that a request can have; others are left out, or refuse the log."""
    sound: list[Record] = []
    for tool in tools:
        if isinstance(tool, dict) and declared(tool):
            sound.append(tool)
        else:
            log.skip(
                line, f"a tool needs a `name`, and `parameters` that are an object if it has any, got {tool!r:.80}"
            )
    return sound


def program_message(text: str) -> Message:
    """Text that a program wrote where the user speaks."""
    return Message(id="", role="user", parts=(Text(text=encodable(text)),), meta=MessageMeta(extra={"program": True}))


def tag(value: object) -> str | None:
    """A recorded fact as a tag; None if it says nothing or too much."""
    match value:
        case None | "":
            return None
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{value}" if abs(value) < _LARGEST else None
        case str():
            return encodable(value) if len(value) <= _LABEL else None
        case _:
            return None


def tags_in(record: Record, *keys: str) -> dict[str, str]:
    """The facts of a record that are short enough to be tags, by their own names."""
    found = ((key, tag(record.get(key))) for key in keys)
    return {key: value for key, value in found if value is not None}


def outcome(session: str, *tags: dict[str, str]) -> Iterator[Opening]:
    """What is known of a session at its end: it stands behind what was said, which stays the same as a log grows."""
    known = {name: value for some in tags for name, value in some.items()}
    if known:
        yield Opening(session=session, tags=known)


def _is_sound(log: Recorded, raw: object, line: int, number: int, place: str) -> bool:
    try:
        decode_any([raw])
    except MessageError as error:
        log.skip(line, place + _renumbered(error, number))
        return False
    return True


def _renumbered(error: MessageError, first: int) -> str:
    return _NUMBERED.sub(lambda found: f"message {int(found[1]) + first}", str(error))


def _answers(response: Record) -> list[Any]:
    """The raw messages of a response."""
    match response:
        case {"choices": [{"message": dict() as raw}, *_]}:
            return [raw]
        case {"candidates": [{"content": dict() as raw}, *_]}:
            return [raw]
        case {"output": list() as items}:
            return items
        case {"role": "assistant", "content": _}:
            return [{key: response[key] for key in ("role", "content", "tool_calls") if key in response}]
        case _:
            return []


def _sent_back(raw: Record) -> Record:
    """A message without what only responses say."""
    only = ("reasoning", "reasoning_content", "reasoning_details", "thinking_blocks", "provider_specific_fields")
    return {key: value for key, value in raw.items() if value is not None and key not in only}
