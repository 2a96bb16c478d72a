"""Parts of Gemini contents, both ways."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from foveate.errors import MessageError
from foveate.log.messages import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult, fields_of, foreign
from foveate.log.text import encodable
from foveate.wire.attachments import data_uri
from foveate.wire.data_uri import kind_of
from foveate.wire.fields import arguments_object, arguments_text, mapping, name_of, rest, text_of

NAME: Final = "gemini"

_NOTHING: Final[frozenset[str]] = frozenset()
_SNAKE: Final = re.compile(r"_([a-z])")
_INNER: Final = ("functionCall", "functionResponse", "inlineData", "fileData")
RUN: Final = {"executableCode": "code", "codeExecutionResult": "output"}
"""What the provider ran itself, and where it says so."""
DETAILS: Final = frozenset({"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"})
"""Fields that say how a part is meant, beside the one that says what it is."""
_RUN_FIELDS: Final = frozenset({"id", "language", "code", "outcome", "output"})


def camel(raw: object, where: str) -> dict[str, Any]:
    """A part with its fields in camel case, as the provider writes them; text alone is short for a part of it."""
    if isinstance(raw, str):
        return {"text": raw}
    part = _renamed(mapping(raw, where))
    for name in _INNER:
        if name in part:
            part[name] = _renamed(mapping(part[name], f"{where}, `{name}`"))
    return part


def said_part(part: Mapping[str, Any], call_id: str, where: str) -> Part:
    """A part of what the model said; `call_id` is for a call that has none."""
    if "functionCall" in part:
        return _call(part, call_id, where)
    if isinstance(part.get("text"), str) and part.get("thought") is True:
        kept = {"part": rest(part, frozenset({"text", "thought"}), where)}
        return Thinking(text=encodable(part["text"]), extra=foreign(NAME, kept))
    found = told_part(part, where)
    # Other formats pass over thinking they did not make, but would send an empty text.
    return Thinking(text="", extra=found.extra) if isinstance(found, Text) and _is_raw(found) else found


def told_part(part: Mapping[str, Any], where: str) -> Text | Media | Opaque:
    """A part that is neither call nor result; one of a kind that has no part of its own is opaque."""
    if "inlineData" in part or "fileData" in part:
        media = _media(part, where)
        if media is not None:
            return media
    if isinstance(part.get("text"), str) and (part["text"] or len(part) == 1):
        fields = rest(part, frozenset({"text"}), where)
        return Text(text=encodable(part["text"]), extra=foreign(NAME, {"part": fields} if fields else {}))
    if "text" in part and not isinstance(part["text"], str):
        raise MessageError(f"{where}: `text` must be text, got {type(part['text']).__name__}")
    if "text" in part or any(name in part for name in RUN):
        return Text(text=_shown(part), extra=foreign(NAME, {"raw": rest(part, _NOTHING, where)}))
    return Opaque(format=NAME, raw=rest(part, _NOTHING, where))


def result_of(part: Mapping[str, Any], call_id: str, where: str) -> tuple[ToolResult, bool]:
    """The result in a part, and whether it is an error; `call_id` is that of the call it answers."""
    place = f"{where}, `functionResponse`"
    answer = mapping(part["functionResponse"], place)
    response = answer.get("response", {})
    if not isinstance(response, Mapping):
        raise MessageError(f"{place}: `response` must be an object, got {type(response).__name__}")
    kept: dict[str, Any] = {"name": name_of(answer, "name", place)}
    given = given_id(answer)
    if given is None:
        kept["minted"] = True
    text, failed = _response_text(response, place)
    if text is None:
        kept["response"] = rest(response, _NOTHING, place)
        text = arguments_text(kept["response"], place)
    media = _nested(answer.get("parts"), place)
    known = {"name", "response", *({"id"} if given is not None else ()), *({"parts"} if media else ())}
    kept |= _kept(call=rest(answer, frozenset(known), place), part=rest(part, frozenset({"functionResponse"}), where))
    result = ToolResult(call_id=given or call_id, text=text, media=media, extra=foreign(NAME, kept))
    return result, failed


def part_of(part: Part) -> dict[str, Any] | None:
    """A part as it came; None for what this format cannot say."""
    kept = fields_of(part.extra, NAME)
    fields: dict[str, Any] = kept.get("part", {})
    match part:
        case Text() | Thinking() if "raw" in kept:
            same = part.text == _shown(kept["raw"])
            return dict(kept["raw"]) if same else {"text": part.text}
        case Text(text=text):
            return {"text": text, **fields}
        case Thinking(text=text):
            return {"text": text, "thought": True, **fields} if "part" in kept else None
        case ToolCall():
            call = call_of(part, is_named=kept.get("minted") is not True)
            return {"functionCall": {**call, **kept.get("call", {})}, **fields}
        case Media():
            return {**media_of(part), **fields}
        case Opaque(raw=raw):
            return dict(raw)
        case ToolResult():
            return None


def echo_of(part: Part) -> dict[str, Any] | None:
    """A part of another kind as the provider takes it back; None if it does not."""
    raw = fields_of(part.extra, NAME).get("raw")
    if not isinstance(raw, dict) or not isinstance(part, Text | Thinking) or part.text != _shown(raw):
        return None
    signed = signature_of(raw)
    for name in RUN:
        inner = raw.get(name)
        if isinstance(inner, dict):
            told = {key: value for key, value in inner.items() if key in _RUN_FIELDS and isinstance(value, str)}
            return {name: told, **signed}
    return {"text": "", **signed} if raw.get("text") == "" and signed else None


def signature_of(fields: Mapping[str, Any]) -> dict[str, str]:
    """The signature of a part, if it has one."""
    signature = fields.get("thoughtSignature")
    return {"thoughtSignature": signature} if isinstance(signature, str) and signature else {}


def call_of(call: ToolCall, *, is_named: bool, name: str | None = None) -> dict[str, Any]:
    """The `functionCall` of a call, with nothing that only a recording needs."""
    named = {"id": call.id} if is_named else {}
    return {**named, "name": name or call.name, "args": arguments_object(call.arguments)}


def response_of(result: ToolResult, *, failed: bool) -> dict[str, Any]:
    """The `response` of a result: as it came, as long as it says the same."""
    kept = fields_of(result.extra, NAME)
    response = kept.get("response")
    if response is not None and arguments_text(response, "result") == result.text:
        return dict(response)
    return {"error" if failed else "output": result.text}


def media_of(media: Media) -> dict[str, Any]:
    """The part of an image or a file as it came."""
    fields = fields_of(media.extra, NAME).get("inner", {})
    head, found, content = media.reference.partition(";base64,")
    if found and head.startswith("data:"):
        mime_type = media.media_type or head.removeprefix("data:")
        return {"inlineData": {"mimeType": mime_type, "data": content, **fields}}
    typed = {"mimeType": media.media_type} if media.media_type else {}
    return {"fileData": {**typed, "fileUri": media.reference, **fields}}


def given_id(call: Mapping[str, Any]) -> str | None:
    """The id of a call or a response, if it has one."""
    given = call.get("id")
    return encodable(given) if isinstance(given, str) and given else None


def _kept(**fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value}


def _renamed(fields: Mapping[str, Any]) -> dict[str, Any]:
    if not any("_" in str(key) for key in fields):
        return dict(fields)
    renamed: dict[str, Any] = {}
    for key, value in fields.items():
        name = _SNAKE.sub(lambda found: found[1].upper(), str(key))
        renamed[key if name != key and name in fields else name] = value
    return renamed


def _is_raw(part: Text) -> bool:
    return "raw" in fields_of(part.extra, NAME) and not part.text


def _shown(part: Mapping[str, Any]) -> str:
    """What of a part of another kind one can read."""
    for name, field in RUN.items():
        inner = part.get(name)
        if isinstance(inner, Mapping) and isinstance(inner.get(field), str):
            return encodable(inner[field])
    kind = next((key for key in part if key not in DETAILS and key != "text"), None)
    return "" if kind is None else encodable(f"[{kind[:80]} left out]")


def _call(part: Mapping[str, Any], call_id: str, where: str) -> ToolCall:
    place = f"{where}, `functionCall`"
    call = mapping(part["functionCall"], place)
    arguments = {} if call.get("args") is None else call["args"]
    if not isinstance(arguments, Mapping):
        raise MessageError(f"{place}: `args` must be an object, got {type(arguments).__name__}")
    given = given_id(call)
    kept: dict[str, Any] = {"minted": True} if given is None else {"minted": False}
    known = {"name", "args", *({"id"} if given is not None else ())}
    kept |= _kept(call=rest(call, frozenset(known), place), part=rest(part, frozenset({"functionCall"}), where))
    return ToolCall(
        id=given or call_id,
        name=name_of(call, "name", place),
        arguments=arguments_text(arguments, place),
        extra=foreign(NAME, kept),
    )


def _response_text(response: Mapping[str, Any], where: str) -> tuple[str | None, bool]:
    """The text of a response that is nothing but one, and whether it is an error."""
    if len(response) == 1:
        for key in ("output", "error"):
            if isinstance(response.get(key), str):
                return text_of(response, key, where), key == "error"
    return None, False


def _nested(parts: object, where: str) -> tuple[Media, ...]:
    """The media in a response, if it has nothing but media in it."""
    if not isinstance(parts, list | tuple) or not all(isinstance(part, Mapping) for part in parts):
        return ()
    read = [_media(camel(part, where), where) for part in parts]
    media = tuple(one for one in read if one is not None)
    return media if len(media) == len(read) else ()


def _media(part: Mapping[str, Any], where: str) -> Media | None:
    """The media of a part; None if it does not say what they are."""
    name = "inlineData" if "inlineData" in part else "fileData"
    if name not in part:
        return None
    inner = mapping(part[name], f"{where}, `{name}`")
    source, media_type = inner.get("data" if name == "inlineData" else "fileUri"), inner.get("mimeType")
    typed = isinstance(media_type, str) and bool(media_type) and "," not in media_type
    if not isinstance(source, str) or not source or not (typed or (media_type is None and name == "fileData")):
        return None
    if name == "fileData" and source.startswith("data:"):
        return None
    mime_type = encodable(media_type) if isinstance(media_type, str) else None
    known = frozenset({"mimeType", "data" if name == "inlineData" else "fileUri"})
    kept = _kept(inner=rest(inner, known, where), part=rest(part, frozenset({name}), where))
    if name == "fileData":
        kept["file"] = {}
    source = encodable(source)
    reference = data_uri(mime_type or "", source) if name == "inlineData" else source
    return Media(kind=kind_of(mime_type), reference=reference, media_type=mime_type, extra=foreign(NAME, kept))
