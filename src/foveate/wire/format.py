"""A wire format: how a provider or framework writes messages, both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from foveate.log.messages import Message

Where = Callable[[int], str]
"""How an error names the raw message with an index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be sent, before any format.

    `marks` are indices into `messages` behind which a provider that wants cache marks gets one; `mark_system` asks for
    one behind the system prompt.
    """

    messages: tuple[Message, ...]
    system: str | None = None
    tools: tuple[dict[str, Any], ...] = ()
    response_format: dict[str, Any] | None = None
    marks: tuple[int, ...] = ()
    mark_system: bool = False


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
