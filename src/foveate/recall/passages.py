"""Passages: a message cut into pieces small enough to be found and shown one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from foveate.log.messages import Message, ToolCall, ToolResult
from foveate.recall.readable import readable
from foveate.recall.tool import is_answer, tool_over_mcp

PARTS: Final = 400
_LINES: Final = 12
_CHARACTERS: Final = 700
# A remainder of a few lines would be a passage that says little: so much more still counts as one passage.
_SLACK: Final = 1.5
_HEAD_PARTS: Final = 260
_HEAD: Final = 200_000
_TAIL: Final = 80_000
_PIECE: Final = re.compile(rf".{{1,{_CHARACTERS}}}(?=[\s,;])|.{{1,{_CHARACTERS}}}", re.DOTALL)


class Passage(NamedTuple):
    """A piece of the message at position `order` of the log; `part` counts its pieces."""

    order: int
    part: int
    message_id: str
    role: str
    tool: str | None
    text: str


def passages_of(message: Message, order: int) -> list[Passage]:
    """The passages of a message: about 12 lines or 700 characters each, cut at blank lines where there are some.

    Of a huge message the beginning and the end are cut up, and never into more than `PARTS` passages. What was asked
    of a log and answered from it is no part of what happened, and has none.
    """
    text = readable(_without_questions(message))
    tool = message.meta.tool_name or next((call.name for call in message.calls), None)
    texts = _cut(text)
    return [Passage(order, part, message.id, message.role, tool, piece) for part, piece in enumerate(texts)]


def _without_questions(message: Message) -> Message:
    """A message without calls of our own tools, and without their answers."""
    kept = tuple(
        part
        for part in message.parts
        if not (isinstance(part, ToolCall) and tool_over_mcp(part.name) is not None)
        and not (isinstance(part, ToolResult) and is_answer(part.text))
    )
    return message if len(kept) == len(message.parts) else msgspec.structs.replace(message, parts=kept)


def _cut(text: str) -> list[str]:
    if len(text) <= _CHARACTERS * _SLACK and text.count("\n") < _LINES * _SLACK:
        return [text] if text and not text.isspace() else []
    ends = (text[:_HEAD], text[-_TAIL:]) if len(text) > _HEAD + _TAIL else (text,)
    pieces = [piece for end in ends for piece in _blocks(end)]
    return pieces if len(pieces) <= PARTS else [*pieces[:_HEAD_PARTS], *pieces[_HEAD_PARTS - PARTS :]]


def _blocks(text: str) -> Iterator[str]:
    block: list[str] = []
    size = 0
    for line in _lines(text):
        if block and (len(block) >= _LINES or size + len(line) > _CHARACTERS):
            cut = _break(block)
            yield from _worth("\n".join(block[:cut]))
            block = block[cut:]
            size = sum(map(len, block)) + len(block)
        block.append(line)
        size += len(line) + 1
    yield from _worth("\n".join(block))


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if len(line) <= _CHARACTERS:
            yield line
        else:
            yield from _PIECE.findall(line)


def _break(block: list[str]) -> int:
    """Where a full block is best cut: after the last blank line of its second half, or at its end."""
    for index in range(len(block) - 1, len(block) // 2, -1):
        if not block[index] or block[index].isspace():
            return index + 1
    return len(block)


def _worth(block: str) -> Iterator[str]:
    trimmed = block.strip("\n")
    if trimmed and not trimmed.isspace():
        yield trimmed
