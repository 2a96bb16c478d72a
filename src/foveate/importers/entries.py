"""Entries: what an importer finds in a recorded log, in the order it was recorded."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Final

import msgspec

from foveate.importers.decoding import count_of
from foveate.log.messages import Message

_HOUR: Final = 3_600
_FIVE_MINUTES: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a provider counted for one call; `input_tokens` are all of them, cached or not."""

    input_tokens: int
    cached_tokens: int | None = None
    written_tokens: int | None = None
    output_tokens: int | None = None
    # How long most of what was written stays in the cache, where the log says so.
    ttl_seconds: int | None = None
    # What of it stays for an hour, if not all of it stays as long.
    written_hour_tokens: int | None = None

    @classmethod
    def counted(cls, tokens: int, *, cached: int | None, written: int | None, written_hour: int | None) -> Usage:
        """A usage with the time that what it wrote stays, if it is known which tokens of it stay for an hour."""
        if not written or written_hour is None:
            return cls(input_tokens=tokens, cached_tokens=cached, written_tokens=written)
        return cls(
            input_tokens=tokens,
            cached_tokens=cached,
            written_tokens=written,
            ttl_seconds=_HOUR if 2 * written_hour > written else _FIVE_MINUTES,
            written_hour_tokens=written_hour if 0 < written_hour < written else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A session begins, or its framing becomes known: the system prompt, tools and model that requests had."""

    session: str
    system: str | None = None
    tools: tuple[dict[str, Any], ...] = ()
    model: str | None = None
    # The session that this one was started from, such as a subagent's.
    parent: str | None = None
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A message was said; the one of an assistant answered a request made of everything before it."""

    session: str
    message: Message
    time: float | None = None
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """The recorded agent put `text` in the place of everything that was said so far."""

    session: str
    text: str
    time: float | None = None
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Oddity:
    """Something of a log that is no message but should be known, such as a user who went back to an earlier one."""

    session: str
    code: str
    text: str
    time: float | None = None
    line: int = 0


Entry = Opening | Spoken | Compaction | Oddity
_COUNTS: Final = tuple(field.name for field in fields(Usage))


def answered(message: Message, *, usage: Usage | None = None, model: str | None = None, **known: Any) -> Message:
    """A response with what was recorded about its call; `known` are other facts, such as `response_id`."""
    facts: dict[str, Any] = {name: value for name, value in known.items() if value is not None}
    if usage is not None:
        counts = ((name, getattr(usage, name)) for name in _COUNTS)
        facts["usage"] = {name: value for name, value in counts if value is not None}
    if model is not None:
        facts["model"] = model
    if not facts:
        return message
    meta = msgspec.structs.replace(message.meta, extra={**message.meta.extra, **facts})
    return msgspec.structs.replace(message, meta=meta)


def usage_of(message: Message) -> Usage | None:
    """What the provider counted for the call that a message answered, if it was recorded; what is no count is not."""
    recorded = message.meta.extra.get("usage")
    counts = {name: count_of(recorded.get(name)) for name in _COUNTS} if isinstance(recorded, dict) else {}
    asked = counts.pop("input_tokens", None)
    return None if asked is None else Usage(input_tokens=asked, **counts)


def model_of(message: Message) -> str | None:
    """The model that a message came from, if it was recorded."""
    model = message.meta.extra.get("model")
    return model if isinstance(model, str) else None
