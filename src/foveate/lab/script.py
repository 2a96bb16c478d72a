"""Scripts: recorded sessions made ready to be replayed.

Thinking is left out for all policies: providers drop that of earlier turns, and logs often have only its signature.
What it takes in the running turn is in the recorded usage, and so in the calibration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foveate.importers.entries import Usage
from foveate.importers.recording import RecordedRequest, Recording
from foveate.inspect.model_calls import model_calls, usual_model
from foveate.inspect.session_costs import without_thinking
from foveate.lab.chat import Chat
from foveate.log.messages import Message
from foveate.wire.openai_chat import encode


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One recorded call: how many messages came before it, when, to which model, and what it was charged."""

    place: int
    at: float | None
    model: str
    usage: Usage | None
    answer: Chat | None
    request: RecordedRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A session to be replayed; `chats` and `messages` go together one for one."""

    name: str
    source: str
    format: str
    system: str
    tools: tuple[dict[str, Any], ...]
    model: str
    messages: tuple[Message, ...]
    chats: tuple[Chat, ...]
    calls: tuple[ModelCall, ...]
    compactions: tuple[tuple[int, str], ...]
    recorded_messages: int


def script_of(recording: Recording, *, source: str = "") -> Script:
    """The script of a recording."""
    messages: list[Message] = []
    chats: list[Chat] = []
    # Of each recorded message: how many are before it in the script, and what it is there, if it is.
    places: list[int] = []
    sent: list[Chat | None] = []
    for recorded in recording.messages:
        places.append(len(messages))
        message = without_thinking(recorded)
        chat = encode(message) if message.parts else None
        sent.append(chat)
        if chat is not None:
            messages.append(message)
            chats.append(chat)
    places.append(len(messages))
    calls = tuple(
        ModelCall(
            place=places[call.place],
            at=call.at,
            model=call.model,
            usage=call.usage,
            answer=sent[call.answer] if call.answer is not None else None,
            request=call.request,
        )
        for call in model_calls(recording)
    )
    return Script(
        name=recording.session,
        source=source,
        format=recording.format,
        system=recording.system or "",
        tools=recording.tools,
        model=usual_model(calls) or recording.model or "",
        messages=tuple(messages),
        chats=tuple(chats),
        calls=calls,
        compactions=tuple((places[place], text) for place, text in recording.compactions if text.strip()),
        recorded_messages=len(recording.messages),
    )
