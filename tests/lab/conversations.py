"""Small recordings whose tokens can be counted by hand: `words(n)` are n tokens, each message takes four more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foveate.importers.entries import Usage, answered
from foveate.importers.recording import Recording
from foveate.log.messages import Message
from foveate.wire.openai_chat import decode

MODEL = "anthropic:claude-sonnet-4-5"
Chat = dict[str, Any]


def words(count: int, word: str = "a") -> str:
    return " ".join([word] * count)


def user(tokens: int, word: str = "a") -> Chat:
    return {"role": "user", "content": words(tokens, word)}


def answer(tokens: int = 1) -> Chat:
    return {"role": "assistant", "content": words(tokens)}


def call(call_id: str, path: str) -> Chat:
    function = {"name": "read_file", "arguments": f'{{"path":"{path}"}}'}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str, text: str) -> Chat:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def recording(
    chats: Sequence[Chat],
    *,
    times: Sequence[float | None] | None = None,
    usages: Sequence[Usage | None] = (),
    models: Sequence[str | None] = (),
    **options: Any,
) -> Recording:
    """A recording of chat messages; `usages` and `models` are those of its answers in order."""
    messages: list[Message] = []
    number = 0
    for index, chat in enumerate(chats):
        message = decode(chat)
        if index and message.role == "assistant":
            usage = usages[number] if number < len(usages) else None
            model = models[number] if number < len(models) else None
            message = answered(message, usage=usage, model=model)
            number += 1
        messages.append(message)
    name = options.pop("session", "s")
    return Recording(session=name, messages=messages, times=list(times) if times else [None] * len(messages), **options)
