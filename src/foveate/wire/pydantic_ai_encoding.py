"""pydantic-ai messages written: as they came, or by what every model behind it wants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from foveate.log.messages import Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult, fields_of, has_content
from foveate.wire.anthropic_blocks import note
from foveate.wire.attachments import is_address, left_out
from foveate.wire.data_uri import for_addresses, inline, made_of
from foveate.wire.fields import arguments_object, loaded
from foveate.wire.format import OPENING, Request, framed_as_system, opening_of_nothing
from foveate.wire.opaque import without_alien
from foveate.wire.pieces import split
from foveate.wire.pydantic_ai import NAME, REDACTED, URLS, WORDS

_PROVIDERS: Final = {"anthropic": "anthropic", "gemini": "google", "openai-responses": "openai", "openai": "openai"}
_FILES: Final = {"image": "image-url", "audio": "audio-url", "file": "document-url"}


def encode(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The requests and responses of messages, with everything in them; other messages join the request before them."""
    names: dict[str, str] = {}
    raws: list[dict[str, Any]] = []
    for message in without_alien(messages, NAME):
        fields = fields_of(message.extra, NAME)
        if message.role == "assistant":
            names.update((call.id, call.name) for call in message.calls)
            said = [one for part in message.parts if (one := _said(part, message)) is not None]
            raws.append({"kind": "response", "parts": said, **fields.get("response", {})})
            continue
        if "request" in fields or not raws or raws[-1]["kind"] != "request":
            raws.append({"kind": "request", "parts": [], **fields.get("request", {})})
        raws[-1]["parts"] += [*fields.get("before", ()), *_asked(message, names), *fields.get("after", ())]
    return raws


def lower(request: Request) -> list[dict[str, Any]]:
    """The messages as a history for an agent.

    The system prompt comes first. All that stands between two responses is one request, tool results first in it, with
    the newest instructions. A conversation that begins with the assistant gets a line of the user before it. Blank
    texts, notes that no model is shown, and thinking that no provider would take back are left out. Marks become cache
    points where they stand behind a prompt of the user; recorded cache points are not sent again.
    """
    lowered: list[dict[str, Any]] = []
    if request.system and request.system.strip():
        lowered.append(_new_request([{"part_kind": "system-prompt", "content": request.system}]))
    names: dict[str, str] = {}
    for index, message in enumerate(without_alien(request.messages, NAME)):
        if message.role == "assistant":
            names.update((call.id, call.name) for call in message.calls)
            response = _lowered_response(message)
            if not response["parts"] or not any(map(has_content, message.parts)):
                continue
            if all(part["part_kind"] == "system-prompt" for raw in lowered for part in raw["parts"]):
                _join(lowered, [{"part_kind": "user-prompt", "content": OPENING}], {})
            lowered.append(response)
        elif parts := _lowered_parts(_as_asked(message, request), names, marked=index in request.marks):
            _join(lowered, parts, fields_of(message.extra, NAME).get("request", {}))
    if not lowered:
        opening = opening_of_nothing(request, "pydantic-ai")
        lowered.append(_new_request([{"part_kind": "user-prompt", "content": opening}]))
    for raw in lowered:
        # Everything that is no result keeps its order.
        raw["parts"].sort(key=lambda part: raw["kind"] == "request" and part["part_kind"] not in _RESULTS)
    return lowered


def _as_asked(message: Message, request: Request) -> Message:
    """A message as a request has it: a system message with media can only be the user's, and says what it is."""
    shows = any(isinstance(part, Media) for part in message.parts)
    return framed_as_system(message) if shows and request.wire > 1 else message


# --- requests -----------------------------------------------------------------------------------------------------


def _asked(message: Message, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The parts of a request that a message was, or would be."""
    result = message.result
    if result is not None:
        yield _returned(result, message, names)
        return
    fields = fields_of(message.extra, NAME)
    only = message.parts[0] if len(message.parts) == 1 else None
    if isinstance(only, Text) and (raw := _own_part(only, message.role)) is not None:
        yield raw
    elif message.role == "system" and not any(isinstance(part, Media) for part in message.parts):
        if message.parts:
            yield {"part_kind": "system-prompt", "content": message.text}
    elif message.parts or "part" in fields or "opening" in fields:
        yield {
            "part_kind": "user-prompt",
            "content": _prompt(message.parts, fields.get("opening", [])),
            **fields.get("part", {}),
        }


def _own_part(text: Text, role: str) -> dict[str, Any] | None:
    """The part that a text came as, if it was a part of its own."""
    fields = fields_of(text.extra, NAME)
    if fields.get("form") == "json":
        raw = loaded(text.text)
        return raw if isinstance(raw, dict) else None
    part = fields.get("part")
    if part is None:
        return None
    kind = part.get("part_kind", "system-prompt" if role == "system" else "text")
    return {**part, "part_kind": kind, WORDS.get(kind, "content"): text.text}


def _prompt(parts: Sequence[object], opening: list[Any]) -> str | list[Any]:
    content: list[Any] = [*opening]
    for part in parts:
        if isinstance(part, Text | Media):
            content += [_item(part), *fields_of(part.extra, NAME).get("after", ())]
    match content:
        case [str() as text]:
            return text
        case _:
            return content


def _item(part: Text | Media) -> str | dict[str, Any]:
    fields = fields_of(part.extra, NAME).get("item")
    if isinstance(part, Text):
        return part.text if fields is None else {**fields, "content": part.text}
    return _file(part)


def _file(media: Media) -> str | dict[str, Any]:
    """A file as it came, or as what its reference is; a note for one that only its provider can find."""
    fields = fields_of(media.extra, NAME).get("item", {})
    media_type = {"media_type": media.media_type} if media.media_type else {}
    if fields.get("kind") in URLS:
        return {**fields, "url": media.reference}
    if fields.get("kind") == "binary":
        return {**fields, "data": for_addresses(made_of(media.reference).content)}
    if (content := inline(media.reference)) is not None:
        data = {"data": for_addresses(content.content), "kind": "binary"}
        return {"media_type": media.media_type or content.media_type, **fields, **data}
    if fields.get("kind") == "uploaded-file":
        return {**fields, "file_id": media.reference}
    if is_address(media.reference):
        is_video = (media.media_type or "").startswith("video/")
        kind = "video-url" if is_video else _FILES[media.kind]
        # Of a tool's result only what names its media type is taken for a file.
        return {"media_type": None, **media_type, "kind": kind, "url": media.reference}
    for format, provider in _PROVIDERS.items():
        if fields_of(media.extra, format) and not media.reference.startswith("data:"):
            return {"kind": "uploaded-file", "file_id": media.reference, "provider_name": provider, **media_type}
    return left_out(media)


def _returned(result: ToolResult, message: Message, names: dict[str, str]) -> dict[str, Any]:
    fields = dict(fields_of(result.extra, NAME).get("part", {}))
    came = _as_it_came(result)
    if not came:
        # They say what the content is, and it is another one now.
        fields.pop("tool_kind", None)
        fields.pop("content_file_digests", None)
    return {
        "part_kind": "tool-return",
        "tool_name": names.get(result.call_id) or message.meta.tool_name or "tool",
        **({"outcome": "failed"} if message.extra.get("is_error") is True and not fields else {}),
        **fields,
        "content": came[0] if came else _pieces(result) if result.media else result.text,
        "tool_call_id": result.call_id,
    }


def _as_it_came(result: ToolResult) -> list[Any]:
    """What a tool returned, in a list of one; an empty list if its text or files are no longer those."""
    match fields_of(result.extra, NAME).get("form"), result.text, result.media:
        case ("null", "", ()):
            return [None]
        case ("json", text, ()):
            value = loaded(text)
            return [] if value is None else [value]
        case ("file", "", (Media() as file,)):
            return [_file(file)]
        case (None, text, ()):
            return [text]
        case (None, _, _):
            return [_pieces(result)]
        case _:
            return []


def _pieces(result: ToolResult) -> list[Any]:
    pieces = split(result, fields_of(result.extra, NAME).get("content"))
    return [_returned_item(piece) for piece in pieces if not isinstance(piece, Opaque)]


def _returned_item(piece: Text | Media) -> Any:
    if isinstance(piece, Media):
        return _file(piece)
    # A text stays one if it is no JSON any more.
    is_json = fields_of(piece.extra, NAME).get("form") == "json"
    return piece.text if not is_json or (piece.text != "null" and loaded(piece.text) is None) else loaded(piece.text)


# --- responses ----------------------------------------------------------------------------------------------------


def _said(part: object, message: Message) -> dict[str, Any] | None:
    """The part of a response that a part of a message was, or would be; None if no provider would take it back."""
    match part:
        case Text():
            return _own_part(part, message.role) or {"part_kind": "text", "content": part.text}
        case ToolCall():
            return _call(part)
        case Thinking():
            return _thought(part, message)
        case Media():
            file = _file(part)
            fields = fields_of(part.extra, NAME).get("part", {})
            if isinstance(file, dict) and file["kind"] == "binary":
                return {"part_kind": "file", "content": file, **fields}
            return {
                "part_kind": "text",
                "content": file if isinstance(file, str) else f"[{part.kind} {part.reference}]",
            }
        case _:
            return None


def _call(call: ToolCall) -> dict[str, Any]:
    fields = fields_of(call.extra, NAME)
    arguments: Any = call.arguments
    match fields.get("args"):
        case "object":
            arguments = arguments_object(call.arguments)
        case "none" if call.arguments == "{}":
            arguments = None
        case _:
            pass
    args = {} if arguments is None else {"args": arguments}
    return {
        "part_kind": "tool-call",
        **fields.get("part", {}),
        "tool_name": call.name,
        "tool_call_id": call.id,
        **args,
    }


def _thought(thinking: Thinking, message: Message) -> dict[str, Any] | None:
    fields = fields_of(thinking.extra, NAME).get("part")
    if fields and "part_kind" in fields:
        return dict(fields)
    signature = {} if thinking.signature is None else {"signature": thinking.signature}
    if fields is None:
        provider = _signer(message, thinking)
        if provider is None or not signature:
            return None
        redacted = {"id": REDACTED} if note(thinking.extra, "redacted") else {}
        fields = {"provider_name": provider, **redacted}
    return {"part_kind": "thinking", "content": thinking.text, **signature, **fields}


def _signer(message: Message, thinking: Thinking) -> str | None:
    """The provider whose format a message or its thinking keeps something for."""
    return next(
        (
            provider
            for format, provider in _PROVIDERS.items()
            if fields_of(message.extra, format) or fields_of(thinking.extra, format)
        ),
        None,
    )


# --- lowering -----------------------------------------------------------------------------------------------------


def _new_request(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": "request", "parts": parts}


def _join(lowered: list[dict[str, Any]], parts: list[dict[str, Any]], fields: dict[str, Any]) -> None:
    """Put parts into the request that is last, or a new one."""
    if not lowered or lowered[-1]["kind"] != "request":
        lowered.append(_new_request([]))
    lowered[-1].update(fields)
    lowered[-1]["parts"] += parts


def _lowered_response(message: Message) -> dict[str, Any]:
    shown = [part for part in message.parts if not isinstance(part, Text) or part.text.strip()]
    said = [one for part in shown if (one := _said(part, message)) is not None]
    return {"kind": "response", "parts": said, **fields_of(message.extra, NAME).get("response", {})}


def _lowered_parts(message: Message, names: dict[str, str], *, marked: bool) -> list[dict[str, Any]]:
    parts = list(_asked(message, names))
    for part in parts:
        if part["part_kind"] == "user-prompt":
            part["content"] = _shown(part["content"], marked=marked)
    return [part for part in parts if not _is_blank(part)]


def _is_blank(part: dict[str, Any]) -> bool:
    content = part.get("content")
    blank = not content.strip() if isinstance(content, str) else content == []
    return blank and part["part_kind"] in ("user-prompt", "system-prompt")


def _shown(content: str | list[Any], *, marked: bool) -> str | list[Any]:
    """A prompt without its recorded cache points and blank texts, with our cache point if it is marked."""
    items = [content] if isinstance(content, str) else content
    shown = [item for item in items if not _is_silent(item)]
    if marked and shown:
        return [*shown, {"kind": "cache-point"}]
    return shown[0] if len(shown) == 1 and isinstance(shown[0], str) else shown


def _is_silent(item: str | dict[str, Any]) -> bool:
    if isinstance(item, str):
        return not item.strip()
    if item.get("kind") in ("text-content", "structured-content"):
        return not str(item.get("content")).strip()
    return item.get("kind") not in _SHOWN


_RESULTS: Final = ("tool-return", "retry-prompt")
_SHOWN: Final = frozenset({"image-url", "audio-url", "document-url", "video-url", "binary", "uploaded-file"})
