"""Messages as they were said: frozen, provider-neutral, without policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

Role = Literal["system", "user", "assistant", "tool"]
Origin = Literal["user", "assistant", "tool_call", "tool_result", "summary", "system", "error"]
Outcome = Literal["ok", "error", "denied", "interrupted"]
Access = Literal["read", "write", "edit", "shell", "patch", "search", "plan"]


class Text(msgspec.Struct, frozen=True, kw_only=True, tag="text", omit_defaults=True):
    """Plain text."""

    text: str
    extra: dict[str, Any] = {}


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, tag="call", omit_defaults=True):
    """A request of the model to run a tool; `arguments` is the JSON text as recorded."""

    id: str
    name: str
    arguments: str = "{}"
    extra: dict[str, Any] = {}


class Media(msgspec.Struct, frozen=True, kw_only=True, tag="media", omit_defaults=True):
    """An image or a file, by reference (an address or a data URI)."""

    kind: Literal["image", "file", "audio"]
    reference: str
    media_type: str | None = None
    width: int | None = None
    height: int | None = None
    extra: dict[str, Any] = {}


class Opaque(msgspec.Struct, frozen=True, kw_only=True, tag="opaque", omit_defaults=True):
    """A block, part or item that only `format` understands: kept whole or left out whole, and sent in no other."""

    format: str
    raw: dict[str, Any]
    extra: dict[str, Any] = {}


class ToolResult(msgspec.Struct, frozen=True, kw_only=True, tag="result", omit_defaults=True):
    """What a tool answered to the call `call_id`."""

    call_id: str
    text: str
    media: tuple[Media | Opaque, ...] = ()
    extra: dict[str, Any] = {}

    @property
    def attachments(self) -> tuple[Media, ...]:
        """The images and files of the result, without what is opaque in it."""
        return tuple(one for one in self.media if isinstance(one, Media))


class Thinking(msgspec.Struct, frozen=True, kw_only=True, tag="thinking", omit_defaults=True):
    """Reasoning of the model; the signature binds it to its text, so it is never edited."""

    text: str
    signature: str | None = None
    extra: dict[str, Any] = {}


Part = Text | ToolCall | ToolResult | Thinking | Media | Opaque


class DeclaredTool(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a router declares of a tool that the built-in table does not, or says otherwise; no access is no meaning."""

    access: Access | None = None
    resource: tuple[str, ...] = ()


class MessageMeta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a message besides its words."""

    origin: Origin = "user"
    execution_id: str | None = None
    step_id: str | None = None
    # The number in `step_id`.
    step: int = 0
    turn: int = 0
    tool_name: str | None = None
    pinned: bool = False
    compacted: bool = False
    kind: Literal["message", "summary", "recall", "sections"] = "message"
    scope: Literal["current", "historical"] = "current"
    outcome: Outcome | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    partial: bool = False
    attempt: str | None = None
    plan: bool = False
    # Of the tools that the message calls or answers, by name: whoever reads the log later does not have the router.
    declared: dict[str, DeclaredTool] = {}
    # Whether a result that cannot stand behind its call is shown line by line as a quote; those of 0.1 are not.
    quoted: bool = False
    extra: dict[str, Any] = {}


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of the log; `extra` keeps wire fields Foveate does not know."""

    id: str
    role: Role
    parts: tuple[Part, ...] = ()
    meta: MessageMeta = MessageMeta()
    extra: dict[str, Any] = {}

    @property
    def text(self) -> str:
        """All words of the message, parts joined by newlines; thinking and calls left out."""
        pieces = [part.text for part in self.parts if isinstance(part, Text | ToolResult)]
        return pieces[0] if len(pieces) == 1 else "\n".join(pieces)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of an assistant message, in order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def result(self) -> ToolResult | None:
        """The result a tool message carries."""
        for part in self.parts:
            if isinstance(part, ToolResult):
                return part
        return None


def speaker_of(message: Message) -> str:
    """Who said it: a role, or the program that wrote in the user's name."""
    return "program" if message.role == "user" and message.meta.extra.get("program") else message.role


def says_something(part: Part) -> bool:
    """Whether a part that is no result has content."""
    match part:
        case Text(text=text) | Thinking(text=text):
            return bool(text.strip())
        case ToolCall() | Media() | Opaque():
            return True
        case _:
            return False


def has_content(part: Part) -> bool:
    """Whether a provider takes a message that is nothing but this part: one that only thinks is refused."""
    return bool(part.text.strip()) if isinstance(part, Text) else not isinstance(part, Thinking)


def is_empty(message: Message) -> bool:
    """Whether a message has no content, so that providers refuse it."""
    return not any(map(has_content, message.parts))


def text_message(id: str, role: Role, text: str, meta: MessageMeta) -> Message:
    """A message that is nothing but text."""
    return Message(id=id, role=role, parts=(Text(text=text),), meta=meta)


_SIGN: Final = "@"


def foreign(format: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """An `extra` that keeps fields for one format; empty if there are none."""
    return {_SIGN + format: dict(fields)} if fields else {}


def fields_of(extra: Mapping[str, Any], format: str) -> dict[str, Any]:
    """What an `extra` keeps for one format."""
    kept = extra.get(_SIGN + format)
    return kept if isinstance(kept, dict) else {}


def domestic(extra: dict[str, Any]) -> dict[str, Any]:
    """What of an `extra` belongs to no single format."""
    kept = {key: value for key, value in extra.items() if not key.startswith(_SIGN)} if extra else extra
    return extra if len(kept) == len(extra) else kept


def says_more(message: Message) -> bool:
    """Whether a message holds what OpenAI chat messages cannot say: reasoning, or fields of another format."""
    return _has_foreign(message.extra) or any(_is_foreign(part) for part in message.parts)


def _is_foreign(part: object) -> bool:
    match part:
        case Thinking():
            return True
        case ToolResult(extra=extra, media=media):
            return _has_foreign(extra) or any(_is_foreign(one) for one in media)
        case Opaque():
            return True
        case Text(extra=extra) | ToolCall(extra=extra) | Media(extra=extra):
            return _has_foreign(extra)
        case _:
            return False


def _has_foreign(extra: dict[str, Any]) -> bool:
    return any(key.startswith(_SIGN) for key in extra)
