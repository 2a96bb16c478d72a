"""The conversation view: what people said and what came of it, without tool traffic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from foveate.compile.ledger import error_line
from foveate.log.messages import Message, MessageMeta, Text, text_message
from foveate.log.quoting import quote_attempt

_SHOWN: Final = 160


def conversation_view(messages: Iterable[Message]) -> tuple[Message, ...]:
    """User messages and the assistant's words; a failed tool execution that nothing settled is one line.

    Of a chain of attempts at the same thing only what came of it is shown.
    """
    said = list(messages)
    settled = _settled(said)
    return tuple(_shown(said, settled))


def _shown(said: list[Message], settled: set[str]) -> Iterator[Message]:
    for message in said:
        if message.role == "user":
            yield message
        elif message.role == "assistant":
            words = tuple(part for part in message.parts if isinstance(part, Text) and part.text.strip())
            if words:
                yield message if len(words) == len(message.parts) else msgspec.structs.replace(message, parts=words)
        elif message.meta.outcome not in (None, "ok") and message.id not in settled:
            meta = MessageMeta(origin="error", turn=message.meta.turn, execution_id=message.meta.execution_id)
            yield text_message(message.id, "assistant", _one_line(message), meta)


def _settled(said: list[Message]) -> set[str]:
    """Failed executions that were tried again later: only the last attempt speaks."""
    last: dict[str, str] = {}
    settled: set[str] = set()
    for message in said:
        attempt = message.meta.attempt
        if message.role != "tool" or attempt is None:
            continue
        if attempt in last:
            settled.add(last.pop(attempt))
        if message.meta.outcome not in (None, "ok"):
            last[attempt] = message.id
    return settled


def _one_line(message: Message) -> str:
    what = quote_attempt(message.meta.attempt or message.meta.tool_name or "tool")
    line = f"{what} {message.meta.outcome}: {error_line(message.text)}"
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
