"""A wire format: how a provider or framework writes messages, both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, Protocol, TypeVar

import msgspec

from foveate.errors import EmptyRequestError
from foveate.log.messages import Message, Text
from foveate.log.text import own_copy

Made = TypeVar("Made")

OPENING: Final = "[beginning of the conversation]"
"""What stands before an assistant that speaks first, where a provider wants the user to: a remark of Foveate's own."""

Where = Callable[[int], str]
"""How an error names the raw message with an index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be sent, before any format.

    `marks` are indices into `messages` behind which a provider that wants cache marks gets one; `mark_system` asks for
    one behind the system prompt, and `mark_seconds` says how long they are to live. A request without messages is
    refused where a provider needs some; only one that 0.1 recorded, which then sent `OPENING`, still `opens_empty`.
    `forms` has the system prompt as it was given by the name of the format it was given in, if that was more than text.
    Of a request that is not `rewritten` nothing was reduced; `wire` 1 is one that 0.1 recorded.
    """

    messages: tuple[Message, ...]
    system: str | None = None
    tools: tuple[dict[str, Any], ...] = ()
    response_format: dict[str, Any] | None = None
    marks: tuple[int, ...] = ()
    mark_system: bool = False
    mark_seconds: int = 300
    opens_empty: bool = False
    forms: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rewritten: bool = False
    wire: int = 2

    @property
    def leading(self) -> int:
        """How many system messages stand before all others."""
        return next((at for at, one in enumerate(self.messages) if one.role != "system"), len(self.messages))


def opening_of_nothing(request: Request, receiver: str) -> str:
    """What stands for the messages of a request that has none: refused, unless 0.1 sent it with `OPENING`."""
    if request.opens_empty:
        return OPENING
    instructions = [request.system or "", *(message.text for message in request.messages if message.role == "system")]
    what = "is only a system prompt" if any(text.strip() for text in instructions) else "says nothing"
    raise EmptyRequestError(f"{receiver} needs a message in a request, and this one {what}; append a user message")


def framed_as_system(message: Message) -> Message:
    """A system message that a provider takes as the user's only: its words in a frame that says they are not."""
    words = "\n\n".join(part.text for part in message.parts if isinstance(part, Text) and part.text.strip())
    if message.role != "system" or not words:
        return message
    others = (part for part in message.parts if not isinstance(part, Text))
    return msgspec.structs.replace(message, parts=(Text(text=f"<system>\n{words}\n</system>"), *others))


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format, as functions on plain data.

    Args:
        name: what `view.to(name)` calls it.
        recognises: whether a raw message can only be of this format.
        decode: raw messages to messages of the log, with everything in them; a malformed one is a `MessageError`.
        encode: messages to raw messages, with everything that came from this format in them again.
        lower: a request by the provider's rules, ready to send.
        problems: what the provider would refuse a lowered request for; empty if nothing.
        bridge: for formats whose messages are objects: the entry point that turns plain data into them.

    """

    name: str
    recognises: Callable[[object], bool]
    decode: Callable[[Sequence[Any], Where], list[Message]]
    encode: Callable[[Sequence[Message]], list[Any]]
    lower: Callable[[Request], Any]
    problems: Callable[[Any], list[str]]
    bridge: str | None = field(default=None)


def apart(made: Callable[[Made], Any]) -> Callable[[Made], Any]:
    """The function, with results that share nothing with what they were made of: a caller may change them at will."""

    @wraps(made)
    def copied(source: Made) -> Any:
        result = made(source)
        try:
            return own_copy(result)
        except ValueError:
            # Numbers that are too large for everybody but Python.
            return deepcopy(result)

    return copied


class Bridge(Protocol):
    """Between a framework's message objects and the plain data of its format; loaded when it is needed."""

    def recognises(self, raw: object, /) -> bool:
        """Whether an object is a message of the framework."""
        ...

    def to_data(self, objects: Sequence[Any], /) -> list[Any]:
        """Message objects as plain data."""
        ...

    def to_objects(self, data: Any, /) -> list[Any]:
        """Plain data as message objects."""
        ...
