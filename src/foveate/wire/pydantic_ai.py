"""pydantic-ai messages read: the data that its `ModelMessagesTypeAdapter` dumps as JSON.

A request is split into messages, one for each of its parts; a response is one message. Everything is written again as
it was, up to this: a field of a message or part that is null is left out; a prompt that is a list of one text is that
text; base64 is written in the alphabet for addresses, as pydantic does. What a model is never shown (cache points,
notes on settings) stands in the extra of what it follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from foveate.errors import MessageError
from foveate.log.messages import (
    Media,
    Message,
    MessageMeta,
    Outcome,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    fields_of,
    foreign,
)
from foveate.log.text import encodable
from foveate.wire.anthropic_blocks import signed
from foveate.wire.data_uri import data_uri, is_base64, kind_of, usual
from foveate.wire.fields import arguments_text, json_text, mapping, name_of, rest, text_of
from foveate.wire.format import Where
from foveate.wire.pieces import joined, outline

NAME: Final = "pydantic-ai"

WORDS: Final[Mapping[str, str]] = {"speech": "transcript"}
"""Under which field a part has its words, if not under `content`."""

URLS: Final[Mapping[str, str]] = {
    "image-url": "image",
    "audio-url": "audio",
    "document-url": "file",
    "video-url": "file",
}
REDACTED: Final = "redacted_thinking"
"""The id of thinking that only Anthropic can read."""
_NOTES: Final = frozenset(
    {
        "instruction-delta",
        "instruction-baseline",
        "tool-availability-delta",
        "capability-load-delta",
        "model-settings-delta",
    }
)
_USERS: Final = frozenset({"retry-prompt", "retry-feedback", "compaction", "speech"})


def recognises(raw: object) -> bool:
    """Whether a raw message can only be one of pydantic-ai."""
    return isinstance(raw, Mapping) and raw.get("kind") in ("request", "response") and "parts" in raw


def decode(raws: Sequence[object], where: Where) -> list[Message]:
    """The messages of requests and responses, in order."""
    messages: list[Message] = []
    for index, raw in enumerate(raws):
        place = where(index)
        fields = mapping(raw, place)
        match fields.get("kind"):
            case "request":
                messages += _request(fields, place)
            case "response":
                messages.append(_response(fields, place))
            case kind:
                raise MessageError(f"{place}: `kind` must be 'request' or 'response', got {kind!r:.80}")
    return messages


# --- requests -----------------------------------------------------------------------------------------------------


def _request(raw: Mapping[str, Any], where: str) -> list[Message]:
    before: list[Any] = []
    messages: list[Message] = []
    for part, kind, place in _parts(raw, where):
        if kind in _NOTES:
            note = rest(part, frozenset(), place)
            if messages:
                messages[-1] = _noted(messages[-1], {"after": [note]})
            else:
                before.append(note)
        else:
            messages.append(_asked(part, kind, place))
    first, *others = messages or [Message(id="", role="system")]
    return [_noted(first, {"request": _kept(raw, "kind", "parts", where=where), "before": before}), *others]


def _asked(part: Mapping[str, Any], kind: str, where: str) -> Message:
    match kind:
        case "user-prompt":
            return _prompt(part, where)
        case "tool-return":
            return _returned(part, where)
        case "retry-prompt" if part.get("tool_name") is not None:
            return _returned(part, where)
        case _:
            role: Role = "user" if kind in _USERS else "system"
            return Message(id="", role=role, parts=(_words(part, kind, "system-prompt", where),))


def _prompt(part: Mapping[str, Any], where: str) -> Message:
    fields = _kept(part, "part_kind", "content", where=where)
    content = part.get("content")
    parts: list[Text | Media]
    opening: list[Any] = []
    match content:
        case str():
            parts = [Text(text=encodable(content))]
        case list() | tuple():
            parts, opening = _items(content, where)
        case _:
            raise MessageError(f"{where}: `content` must be text or a list, got {type(content).__name__}")
    kept = _without_nothing({"part": fields, "opening": opening})
    # A prompt without anything in it is still a part of its request.
    extra = foreign(NAME, kept if parts else {"part": fields, **kept})
    return Message(id="", role="user", parts=tuple(parts), extra=extra)


def _items(content: Sequence[object], where: str) -> tuple[list[Text | Media], list[Any]]:
    """The parts of a prompt, and what stands before the first; what is not shown stands in what it follows."""
    parts: list[Text | Media] = []
    opening: list[Any] = []
    for index, item in enumerate(content):
        place = f"{where}, item {index}"
        part = _item(item, place)
        if part is not None:
            parts.append(part)
            continue
        note = rest(mapping(item, place), frozenset(), place)
        if parts:
            fields = fields_of(parts[-1].extra, NAME)
            extra = foreign(NAME, {**fields, "after": [*fields.get("after", ()), note]})
            parts[-1] = msgspec.structs.replace(parts[-1], extra=extra)
        else:
            opening.append(note)
    return parts, opening


def _item(item: object, where: str) -> Text | Media | None:
    if isinstance(item, str):
        return Text(text=encodable(item))
    raw = mapping(item, where)
    if raw.get("kind") in ("text-content", "structured-content"):
        fields = rest(raw, frozenset({"content"}), where)
        return Text(text=text_of(raw, "content", where), extra=foreign(NAME, {"item": fields}))
    return _file(raw, where)


def _file(raw: Mapping[str, Any], where: str) -> Media | None:
    """A file, by what kind it is; None for anything else."""
    media_type = raw.get("media_type")
    media_type = encodable(media_type) if isinstance(media_type, str) else None
    kind = raw.get("kind")
    match kind:
        case "image-url" | "audio-url" | "document-url" | "video-url":
            key, reference = "url", name_of(raw, "url", where)
        case "binary":
            key, content = "data", text_of(raw, "data", where)
            if not is_base64(content):
                raise MessageError(f"{where}: `data` must be base64, got {content!r:.80}")
            reference = data_uri(media_type or "application/octet-stream", usual(content))
        case "uploaded-file":
            key, reference = "file_id", name_of(raw, "file_id", where)
        case _:
            return None
    shown = kind_of(media_type) if kind not in URLS else kind_of(f"{URLS[kind]}/")
    extra = foreign(NAME, {"item": rest(raw, frozenset({key}), where)})
    return Media(kind=shown, reference=reference, media_type=media_type, extra=extra)


def _returned(part: Mapping[str, Any], where: str) -> Message:
    pieces, form = _answer(part.get("content"), where)
    fields = _kept(part, "content", "tool_call_id", where=where)
    name_of(part, "tool_name", where)
    if fields["part_kind"] == "tool-return":
        del fields["part_kind"]
    outcome = "retried" if part["part_kind"] == "retry-prompt" else part.get("outcome")
    result = joined(name_of(part, "tool_call_id", where), pieces)
    shape = outline(result, pieces)
    notes = {"part": fields, **form, **({} if shape is None else {"content": shape})}
    result = msgspec.structs.replace(result, extra=foreign(NAME, notes))
    failed = {"is_error": True} if outcome in ("failed", "retried") else {}
    return Message(id="", role="tool", parts=(result,), meta=MessageMeta(outcome=_outcome(outcome)), extra=failed)


def _outcome(said: object) -> Outcome | None:
    # Success is what pydantic-ai writes for everything that raised nothing, so it says nothing.
    if said == "denied":
        return "denied"
    return "interrupted" if said == "interrupted" else None


def _answer(content: object, where: str) -> tuple[list[Text | Media], dict[str, Any]]:
    """What a tool returned as texts and files, and how to make the one value of them that it was."""
    match content:
        case str():
            return [Text(text=encodable(content))], {}
        case None:
            return [], {"form": "null"}
        case list() | tuple():
            items = [_maybe_file(item, f"{where}, item {index}") for index, item in enumerate(content)]
            if any(items):
                return [file or _returned_text(item, where) for item, file in zip(content, items, strict=True)], {}
        case _:
            file = _maybe_file(content, where)
            if file is not None:
                return [file], {"form": "file"}
    return [Text(text=json_text(content, where))], {"form": "json"}


def _returned_text(item: object, where: str) -> Text:
    if isinstance(item, str):
        return Text(text=encodable(item))
    return Text(text=json_text(item, where), extra=foreign(NAME, {"form": "json"}))


def _maybe_file(item: object, where: str) -> Media | None:
    # What a tool returned may look like a file without being one.
    try:
        return _file(item, where) if isinstance(item, Mapping) else None
    except MessageError:
        return None


# --- responses ----------------------------------------------------------------------------------------------------


def _response(raw: Mapping[str, Any], where: str) -> Message:
    parts = tuple(_said(part, kind, place) for part, kind, place in _parts(raw, where))
    fields = {"response": _kept(raw, "kind", "parts", where=where)}
    return Message(id="", role="assistant", parts=parts, extra=foreign(NAME, _without_nothing(fields)))


def _said(part: Mapping[str, Any], kind: str, where: str) -> Part:
    match kind:
        case "thinking":
            return _thought(part, where)
        case "tool-call":
            return _call(part, where)
        case "compaction" if not isinstance(part.get("content"), str):
            # Only its provider can read it, like a signature.
            return Thinking(text="", extra=foreign(NAME, {"part": _kept(part, where=where)}))
        case "file":
            content = mapping(part.get("content"), where)
            file = _file(content, where) if content.get("kind", "binary") == "binary" else None
            if file is None:
                raise MessageError(f"{where}: `content` must be of the kind 'binary', got {content.get('kind')!r:.80}")
            fields = _kept(part, "part_kind", "content", where=where)
            return msgspec.structs.replace(file, extra=foreign(NAME, {**fields_of(file.extra, NAME), "part": fields}))
        case _:
            return _words(part, kind, "text", where)


def _thought(part: Mapping[str, Any], where: str) -> Thinking:
    signature = part.get("signature")
    if signature is not None and not isinstance(signature, str):
        raise MessageError(f"{where}: `signature` must be text, got {type(signature).__name__}")
    fields = _kept(part, "part_kind", "content", "signature", where=where)
    is_anthropic = bool(signature) and fields.get("provider_name") == "anthropic"
    signer = signed(redacted=fields.get("id") == REDACTED) if is_anthropic else {}
    return Thinking(
        text=text_of(part, "content", where),
        signature=None if signature is None else encodable(signature),
        # Even if there is nothing to keep: thinking goes back only where it came from.
        extra={**foreign(NAME, {"part": fields}), **signer},
    )


def _call(part: Mapping[str, Any], where: str) -> ToolCall:
    match part.get("args"):
        case None:
            form = {"args": "none"}
        case str():
            form = {}
        case Mapping():
            form = {"args": "object"}
        case other:
            raise MessageError(f"{where}: `args` must be JSON text or an object, got {type(other).__name__}")
    arguments = part.get("args")
    fields = _kept(part, "part_kind", "tool_name", "tool_call_id", "args", where=where)
    return ToolCall(
        id=name_of(part, "tool_call_id", where),
        name=name_of(part, "tool_name", where),
        arguments="{}" if arguments is None else arguments_text(arguments, where),
        extra=foreign(NAME, _without_nothing({"part": fields, **form})),
    )


# --- both ---------------------------------------------------------------------------------------------------------


def _parts(raw: Mapping[str, Any], where: str) -> list[tuple[Mapping[str, Any], str, str]]:
    """The parts of a request or response, each with its kind and its place."""
    parts = raw.get("parts")
    if not isinstance(parts, list | tuple):
        raise MessageError(f"{where}: `parts` must be a list, got {type(parts).__name__}")
    found: list[tuple[Mapping[str, Any], str, str]] = []
    for index, part in enumerate(parts):
        place = f"{where}, part {index}"
        fields = mapping(part, place)
        found.append((fields, name_of(fields, "part_kind", place), place))
    return found


def _words(part: Mapping[str, Any], kind: str, usual_kind: str, where: str) -> Text:
    """A part that says something, as text; one that has no words, or not only words, as its JSON."""
    key = WORDS.get(kind, "content")
    words = part.get(key)
    if kind in ("builtin-tool-call", "builtin-tool-return") or not isinstance(words, str):
        if kind == usual_kind:
            raise MessageError(f"{where}: `content` must be text, got {type(words).__name__}")
        return Text(text=json_text(part, where), extra=foreign(NAME, {"form": "json"}))
    fields = _kept(part, key, *(["part_kind"] if kind == usual_kind else []), where=where)
    return Text(text=encodable(words), extra=foreign(NAME, _without_nothing({"part": fields})))


def _noted(message: Message, notes: dict[str, Any]) -> Message:
    fields = fields_of(message.extra, NAME)
    after = [*fields.get("after", ()), *notes.pop("after", ())]
    noted = {**fields, **{key: value for key, value in notes.items() if value or key == "request"}}
    return msgspec.structs.replace(
        message, extra={**message.extra, **foreign(NAME, {**noted, **({"after": after} if after else {})})}
    )


def _kept(raw: Mapping[str, Any], *known: str, where: str) -> dict[str, Any]:
    """The fields that say something besides the known ones; pydantic-ai writes null for those that do not."""
    return {key: value for key, value in rest(raw, frozenset(known), where).items() if value is not None}


def _without_nothing(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value}
