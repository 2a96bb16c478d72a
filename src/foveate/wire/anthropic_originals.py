"""Anthropic messages as they came: what is noted beside the parts of a message, and the blocks that it gives again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from foveate.log.messages import Media, Message, Part, ToolResult
from foveate.log.text import own_copy
from foveate.wire.anthropic_blocks import block_of, kept, note, result_part, said_part, shown_part, wire_fields
from foveate.wire.attachments import fetched, takes
from foveate.wire.data_uri import Kind, is_base64
from foveate.wire.fields import plainest, rest
from foveate.wire.originals import NOTES, ORDER, RAW, difference, follows_in_log, rewritten

MARK: Final = "cache_control"
_OF_A_RESPONSE: Final = frozenset({"stop_reason", "usage", "model", "type"})
_SOURCES: Final = ("base64", "url", "file", "text", "content")
_FOR_FOVEATE: Final = ("pinned",)
_NOTES: Final = frozenset(f"@{name}" for name in NOTES)

Block = dict[str, Any]
# What a result may show that is no error.
_NO_ERRORS: Final = frozenset({"image", "document", "search_result", "tool_reference"})
Marks = dict[str, Any]
"""Cache marks by the block that they stand on: "2" is the third of a message, "2.0" the first inside of it."""
Noted = TypeVar("Noted", bound=Part)


def without_marks(block: Mapping[str, Any], where: str) -> tuple[Mapping[str, Any], Marks]:
    """A block without its cache marks, and the marks: they belong to a request, not to what was said."""
    marks: Marks = {}
    if MARK in block:
        marks[""] = _own(block, where)
        block = {key: value for key, value in block.items() if key != MARK}
    content = block.get("content")
    if block.get("type") == "tool_result" and isinstance(content, list | tuple) and any(map(_is_marked, content)):
        marks |= {f".{at}": _own(one, where) for at, one in enumerate(content) if _is_marked(one)}
        plain = [{key: one[key] for key in one if key != MARK} if _is_marked(one) else one for one in content]
        block = {**block, "content": plain}
    return block, marks


def noted(part: Noted, came: Mapping[str, Any], plain: Mapping[str, Any], marks: Marks, **more: Any) -> Noted:
    """A part with what it takes to write its block again; `plain` is the block without its `marks`."""
    notes = difference(came, _marked({**block_of(part), **more}, "", marks))
    if RAW in notes:
        # The marks are put back into it, where they stood.
        notes = {**difference(came, _marked(dict(plain), "", marks)), RAW: own_copy(plain)}
    if not notes:
        return part
    known = part.extra.get("@anthropic", {})
    return msgspec.structs.replace(
        part, extra={**part.extra, "@anthropic": {**known, **kept({}, **notes)["@anthropic"]}}
    )


def block_as_it_came(part: Part, message: Message, marks: Marks, at: str) -> Block:
    """The block of a part, with the marks that stand on it."""
    raw = note(part.extra, RAW)
    if isinstance(raw, dict) and _plain(_read(raw, part, message)) == _plain(part):
        return rewritten(_marked(raw, at, marks), {ORDER: note(part.extra, ORDER)})
    error = message.extra.get("is_error")
    more = {"is_error": error} if isinstance(part, ToolResult) and isinstance(error, bool) else {}
    made = _marked({**block_of(part), **more}, at, marks)
    return rewritten(made, {name: note(part.extra, name) for name in NOTES})


def blocks_as_they_came(message: Message) -> list[Block]:
    """The blocks of a message, with the cache marks that it came with."""
    marks = note(message.extra, "marks") or {}
    return [block_as_it_came(part, message, marks, f"{at}") for at, part in enumerate(message.parts)]


def is_original(message: Message) -> bool:
    """Whether a message is as it came from this format: what a pass reduced has lost its notes."""
    return note(message.extra, "form") is not None


def came_together(before: Message, message: Message) -> bool:
    """Whether a message came in one with the message before it in the request."""
    number = note(message.extra, "joined")
    return bool(number) and is_original(message) and follows_in_log(before, message, number)


def sent_fields(message: Message) -> dict[str, Any]:
    """The fields of a message beside role and content; those of a response are none of a request."""
    fields = wire_fields(message.extra)
    if _OF_A_RESPONSE & fields.keys():
        return {}
    return {key: value for key, value in fields.items() if key not in _FOR_FOVEATE}


def is_acceptable(block: Mapping[str, Any], role: str) -> bool:
    """Whether Anthropic takes a block as far as one can tell; what nobody knows is taken."""
    match block:
        case {"type": "text", "text": text}:
            return _says(text)
        case {"type": "thinking", "signature": signature}:
            return _says(signature)
        case {"type": "redacted_thinking", "data": data}:
            return _says(data)
        case {"type": "thinking" | "redacted_thinking"}:
            return False
        case {"type": "tool_result"}:
            return role == "tool" and _is_answer(block)
        case {"type": "image" | "document" as kind}:
            return role != "assistant" and is_source(kind, block.get("source"))
        case _:
            return True


def is_source(block: str, source: object) -> bool:
    """Whether Anthropic can read the source of an image or a document; one of a type that nobody knows is taken."""
    kind: Kind = "image" if block == "image" else "file"
    match source:
        case {"type": "base64", "media_type": str() as media_type, "data": str() as base64}:
            readable = is_base64(base64) and not set("-_") & set(base64)
            return takes("anthropic", kind, media_type) and bool(base64) and readable
        case {"type": "url", "url": str() as url}:
            return fetched("anthropic", Media(kind=kind, reference=url)) is not None
        case {"type": "file", "file_id": str() as file_id}:
            return bool(file_id)
        case {"type": "text", "media_type": "text/plain", "data": str() as text}:
            return kind == "file" and bool(text.strip())
        case {"type": "content", "content": str() | list() as content}:
            return kind == "file" and bool(content)
        case {"type": str() as unknown}:
            return unknown not in _SOURCES
        case _:
            return False


def may_fail(content: Sequence[Mapping[str, Any]]) -> bool:
    """Whether blocks may be the content of an error: text, and what nobody here knows."""
    return bool(content) and not any(block.get("type") in _NO_ERRORS for block in content)


def _is_answer(block: Mapping[str, Any]) -> bool:
    """Whether a result says what it may: an error only text, and no text that is blank."""
    content = block.get("content")
    failed = block.get("is_error") is True
    if not isinstance(content, list):
        return not failed or _says(content)
    known = [one for one in content if isinstance(one, Mapping)]
    if failed and not may_fail(known):
        return False
    return len(known) == len(content) and all(is_acceptable(one, "user") for one in known)


def _says(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())


def unmarked_extra(message: Message) -> dict[str, Any]:
    """What a message says beside its parts, without the cache marks that it came with."""
    ours = message.extra.get("@anthropic")
    if not isinstance(ours, dict) or "@marks" not in ours:
        return message.extra
    return {**message.extra, "@anthropic": {key: value for key, value in ours.items() if key != "@marks"}}


def in_form(blocks: list[Block], form: object) -> Any:
    """The content of a message in the form it came in; the log of 0.1 does not know, and takes a text for its block."""
    return blocks if form == "blocks" else plainest(blocks)


def _is_marked(block: object) -> bool:
    return isinstance(block, Mapping) and MARK in block


def _own(block: Mapping[str, Any], where: str) -> Any:
    return rest({MARK: block[MARK]}, frozenset(), where)[MARK]


def _marked(block: Block, at: str, marks: Marks) -> Block:
    """A block with its marks put back."""
    if not marks:
        return block
    content = block.get("content")
    inner = {f"{at}.{place}": one for place, one in enumerate(content)} if isinstance(content, list) else {}
    if any(place in marks for place in inner):
        marked = [{**one, MARK: marks[place]} if place in marks else one for place, one in inner.items()]
        block = {**block, "content": marked}
    return {**block, MARK: marks[at]} if at in marks else block


def _read(raw: Block, part: Part, message: Message) -> Part:
    if isinstance(part, ToolResult):
        return result_part(raw, "original")
    return said_part(raw, "original") if message.role == "assistant" else shown_part(raw, "original")


def _plain(part: Part) -> Part:
    """A part without the notes on how it was written."""
    ours = part.extra.get("@anthropic")
    if not isinstance(ours, dict):
        return part
    left = {key: value for key, value in ours.items() if key not in _NOTES}
    extra = {key: value for key, value in part.extra.items() if key != "@anthropic"}
    return msgspec.structs.replace(part, extra={**extra, "@anthropic": left} if left else extra)
