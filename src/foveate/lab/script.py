"""Scripts: recorded sessions made ready to be replayed.

Thinking is left out for all policies: providers drop that of earlier turns, and logs often have only its signature.
What it takes in the running turn is in the recorded usage, and so in the calibration.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from foveate.budget.profiles import ModelProfile, profile_for
from foveate.errors import UnknownModelError
from foveate.importers.entries import Usage, model_of, usage_of
from foveate.importers.recording import Recording
from foveate.lab.chat import Chat
from foveate.log.messages import Message, Thinking
from foveate.wire.openai_chat import encode

# More than anybody will ever send, and less than a float can count.
_MOST_TOKENS: Final = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One recorded call: how many messages came before it, when, to which model, and what it was charged."""

    place: int
    at: float | None
    model: str
    usage: Usage | None
    answer: Chat | None


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

    @property
    def ttl(self) -> int | None:
        """How long the recorded agent had its prefixes kept, if the log says so."""
        known = [call.usage.ttl_seconds for call in self.calls if call.usage and call.usage.ttl_seconds]
        return Counter(known).most_common(1)[0][0] if known else None


def script_of(recording: Recording, *, source: str = "") -> Script:
    """The script of a recording."""
    responses = set(recording.calls())
    messages: list[Message] = []
    chats: list[Chat] = []
    calls: list[ModelCall] = []
    places: list[int] = []
    moment: float | None = None
    # A call of which no model is known went where the one before it went.
    model = recording.model or ""
    for index, recorded in enumerate(recording.messages):
        places.append(len(messages))
        message = _without_thinking(recorded)
        chat = encode(message) if message.parts else None
        time = recording.times[index]
        if index in responses:
            model = model_of(recorded) or model
            # A request is made when what it answers has come in; its response is recorded when that is complete.
            calls.append(
                ModelCall(
                    place=len(messages),
                    at=moment if moment is not None else time,
                    model=model,
                    usage=_credible(usage_of(recorded)),
                    answer=chat,
                )
            )
        else:
            moment = time if time is not None else moment
        if chat is not None:
            messages.append(message)
            chats.append(chat)
    places.append(len(messages))
    return Script(
        name=recording.session,
        source=source,
        format=recording.format,
        system=recording.system or "",
        tools=recording.tools,
        model=_usual(calls) or recording.model or "",
        messages=tuple(messages),
        chats=tuple(chats),
        calls=tuple(calls),
        compactions=tuple((places[place], text) for place, text in recording.compactions if text.strip()),
        recorded_messages=len(recording.messages),
    )


def profile_of(script: Script) -> ModelProfile | None:
    """The profile of the model that a session was recorded with, if it is known."""
    # A proxy puts its own name before the model's.
    for name in (script.model, script.model.rpartition("/")[2]):
        try:
            return profile_for(name) if name else None
        except UnknownModelError:
            continue
    return None


def _credible(usage: Usage | None) -> Usage | None:
    """A recorded usage, unless its numbers cannot be: a log can say anything."""
    if usage is None:
        return None
    counts = (usage.input_tokens, usage.cached_tokens, usage.written_tokens, usage.output_tokens, usage.ttl_seconds)
    return usage if all(count is None or 0 <= count < _MOST_TOKENS for count in counts) else None


def _usual(calls: list[ModelCall]) -> str:
    """The model that answered most calls; what the recorder wrote in a model's name has angle brackets."""
    named = Counter(call.model for call in calls if call.model and not call.model.startswith("<"))
    return named.most_common(1)[0][0] if named else ""


def _without_thinking(message: Message) -> Message:
    if not any(isinstance(part, Thinking) for part in message.parts):
        return message
    parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
    return msgspec.structs.replace(message, parts=parts)
