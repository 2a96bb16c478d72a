"""A request by the rules of OpenAI chat, ready to send.

A message that came from this format and was not reduced is sent as it came, up to what would be refused. OpenAI itself
gets none of the fields in which servers that merely speak its language keep their reasoning and cache marks;
`lower_compatible` sends those too. Of all else only fields that OpenAI knows are written. Ids and names that are not
allowed are replaced. A tool says text alone: images and files of its results are shown by the user, behind all results
of the exchange. What OpenAI does not take where it stands is left out with a note; a message that says nothing without
its reasoning is not sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from foveate.log.messages import Media, Message, Opaque, Part, Text, ToolCall, ToolResult, fields_of
from foveate.wire.attachments import data_uri, fetched, file_name, held, left_out
from foveate.wire.data_uri import is_base64, kind_of
from foveate.wire.fields import plainest
from foveate.wire.format import Request, opening_of_nothing
from foveate.wire.memo import MadeOfMessage
from foveate.wire.names import OPENAI_IDS, OPENAI_NAMES, Spelling, fitting, spelling
from foveate.wire.opaque import without_alien
from foveate.wire.openai_blocks import FORMAT, SOUNDS, is_refusal
from foveate.wire.openai_chat import (
    VENDORS,
    call_of_unknown_type,
    custom_input,
    encode,
    is_legacy,
    is_original,
    is_whole,
    unknown_fields,
)
from foveate.wire.pieces import Piece, split

SHOWN: Final = "[shown by the user below]"
RESULTS: Final = "[images and files of the tool results above]"
WORDS: Final = ("text",)
BLOCKS: Final[Mapping[str, tuple[str, ...]]] = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
}
"""The blocks that roles may send; all others may only send `WORDS`."""
KNOWN_BLOCKS: Final = frozenset({kind for kinds in BLOCKS.values() for kind in kinds})
_DETAILS: Final = ("low", "high", "auto")

Block = dict[str, Any]


def lower(request: Request) -> list[dict[str, Any]]:
    """The messages of a request, system prompt first; tools and response format are sent beside them."""
    return [raw if as_it_came else _without_vendors(raw) for raw, as_it_came in _lowered(request, vendors=False)]


def lower_compatible(request: Request) -> list[dict[str, Any]]:
    """The same for a server that speaks OpenAI's language, with the fields in `VENDORS` as they came."""
    return [raw for raw, _ in _lowered(request, vendors=True)]


def _lowered(request: Request, *, vendors: bool) -> list[tuple[dict[str, Any], bool]]:
    """The messages, each with whether it is as it came."""
    spelled = spelling(request, names=OPENAI_NAMES, ids=OPENAI_IDS)
    sent: list[tuple[dict[str, Any], bool]] = []
    if request.system and request.system.strip():
        sent.append(({"role": "system", "content": request.system}, False))
    shown: list[Block] = []
    messages = without_alien(request.messages, FORMAT)
    legacy = _legacy_exchanges(messages, vendors=vendors)
    for message in messages:
        result = message.result
        if result is None:
            sent += [(raw, False) for raw in _attached(shown)]
            shown = []
        if (raw := _original(message, spelled, legacy, vendors=vendors)) is not None:
            sent.append((raw, True))
        elif result is not None:
            sent.append((_answered(message, result, spelled), False))
            shown += [block for media in result.attachments if (block := _media(media)) is not None]
        else:
            sent += [(raw, False) for raw in _said(message, spelled)]
    sent += [(raw, False) for raw in _attached(shown)]
    return sent or [({"role": "user", "content": opening_of_nothing(request, "OpenAI")}, False)]


def _legacy_exchanges(messages: list[Message], *, vendors: bool) -> frozenset[str]:
    """The ids of calls from before there were tools, if question and answer can both go out as they came."""
    asked: set[str] = set()
    answered: set[str] = set()
    for message in messages:
        result, calls = message.result, message.calls
        if (result is None and not calls) or not is_original(message) or not is_legacy(message):
            continue
        if is_acceptable(encode(message), vendors=vendors):
            asked.update(call.id for call in calls)
            answered.update(() if result is None else [result.call_id])
    return frozenset(asked & answered)


def _original(message: Message, spelled: Spelling, legacy: frozenset[str], *, vendors: bool) -> dict[str, Any] | None:
    """A message as it came, with the ids and names to send; None if it came from elsewhere or would be refused."""
    raw = (_as_compatible if vendors else _as_openai)(message)
    if raw is None:
        return None
    if is_legacy(message):
        ids = [call.id for call in message.calls] if message.result is None else [message.result.call_id]
        return raw if legacy.issuperset(ids) else None
    if message.result is not None:
        return {**raw, "tool_call_id": spelled.ids[message.result.call_id]}
    if message.calls:
        called = zip(message.calls, raw["tool_calls"], strict=True)
        return {**raw, "tool_calls": [_respelled(call, made, spelled) for call, made in called]}
    return raw


def _as_it_came(message: Message, *, vendors: bool) -> Block | None:
    """A message as it came, with the fields of other servers or without; None where it would be refused."""
    if not is_original(message):
        return None
    raw = {key: value for key, value in encode(message).items() if key != "id"}
    if not is_acceptable(raw, vendors=vendors):
        return None
    return raw if vendors else _only_openai(raw)


_as_openai: Final = MadeOfMessage(partial(_as_it_came, vendors=False))
_as_compatible: Final = MadeOfMessage(partial(_as_it_came, vendors=True))


def _respelled(call: ToolCall, raw: Block, spelled: Spelling) -> Block:
    if call_of_unknown_type(call) is not None:
        return {**raw, "id": spelled.ids[call.id]}
    kind = "custom" if raw.get("type") == "custom" else "function"
    return {**raw, "id": spelled.ids[call.id], kind: {**raw[kind], "name": spelled.names[call.name]}}


def is_acceptable(raw: Mapping[str, Any], *, vendors: bool) -> bool:
    """Whether a message is taken as far as one can tell; what nobody knows is taken.

    Answers have fields that are empty there and refused in a request, and sounds with their bytes: such a message is
    written anew.
    """
    role, calls, audio = raw.get("role"), raw.get("tool_calls"), raw.get("audio")
    if "parsed" in raw or ("tool_calls" in raw and not calls):
        return False
    if role == "function" or "function_call" in raw:
        return is_function_call(raw) or is_function_result(raw)
    if any(not is_of_unknown_type(call) and not isinstance(called(call), str) for call in calls or ()) or (
        audio is not None and {*audio} - {"id"}
    ):
        return False
    if not _says(raw):
        return False
    content = raw.get("content")
    blocks = content if isinstance(content, list) else []
    return ("name" not in raw or raw["name"] in OPENAI_NAMES) and all(
        isinstance(block, Mapping) and _is_block(block, str(role), vendors=vendors) for block in blocks
    )


def is_function_call(raw: Mapping[str, Any]) -> bool:
    """Whether a message calls a function as was usual before there were tools."""
    match raw:
        case {"role": "assistant", "function_call": {"name": name, "arguments": str()}}:
            return name in OPENAI_NAMES and "tool_calls" not in raw and isinstance(raw.get("content"), str | None)
        case _:
            return False


def is_function_result(raw: Mapping[str, Any]) -> bool:
    """Whether a message is what such a function gave."""
    return raw.get("role") == "function" and isinstance(raw.get("content"), str) and raw.get("name") in OPENAI_NAMES


def is_of_unknown_type(call: Mapping[str, Any]) -> bool:
    """Whether a call says of itself that it is one that is not known here."""
    kind = call.get("type")
    return isinstance(kind, str) and kind not in ("", "function", "custom")


def called(call: Mapping[str, Any]) -> object:
    """What a call asks for: text, unless something is wrong with it."""
    kind, field = ("custom", "input") if call.get("type") == "custom" else ("function", "arguments")
    inner = call.get(kind)
    return inner.get(field) if isinstance(inner, Mapping) else None


def _says(raw: Mapping[str, Any]) -> bool:
    content = raw.get("content")
    if raw.get("role") == "tool":
        return isinstance(content, str | list) and content != []
    blocks = content if isinstance(content, list) else [{"text": content}] if content else []
    texts = [one.get("text", "x") for one in blocks if isinstance(one, Mapping)]
    if raw.get("role") == "assistant" and says_otherwise(raw):
        return True
    return bool(raw.get("tool_calls")) or any(str(text).strip() for text in texts)


def says_otherwise(raw: Mapping[str, Any]) -> bool:
    """Whether a message of the assistant says something where its content would not stand."""
    refusal = raw.get("refusal")
    return bool(unknown_fields(raw)) or (isinstance(refusal, str) and bool(refusal.strip()))


def _is_block(block: Mapping[str, Any], role: str, *, vendors: bool) -> bool:
    allowed = BLOCKS.get(role, WORDS)
    kind = block.get("type")
    if kind not in KNOWN_BLOCKS:
        return isinstance(kind, str) and bool(kind)
    # Servers that speak OpenAI's language may take an image from a tool.
    return (kind in allowed or (kind == "image_url" and role == "tool" and vendors)) and is_readable(block)


def is_readable(block: Mapping[str, Any]) -> bool:
    """Whether what a block of a known type shows is of a type that OpenAI takes."""
    match block:
        case {"type": "text", "text": str()} | {"type": "refusal", "refusal": str()}:
            return True
        case {"type": "image_url", "image_url": {"url": str() as url}} if url:
            image = Media(kind="image", reference=url)
            return (held(FORMAT, image) or fetched(FORMAT, image)) is not None
        case {"type": "file", "file": {"filename": str() as name, "file_data": str() as content}}:
            return bool(name) and held(FORMAT, Media(kind="file", reference=content)) is not None
        case {"type": "file", "file": {"file_id": str() as file_id}}:
            return bool(file_id)
        case {"type": "input_audio", "input_audio": {"data": str() as content, "format": form}}:
            return form in ("wav", "mp3") and bool(content) and is_base64(content)
        case _:
            return False


def _without_vendors(raw: Block) -> Block:
    """A message that is written anew, without the fields of other servers."""
    plain = _only_openai(raw)
    if isinstance(plain.get("content"), list):
        plain["content"] = plainest(plain["content"])
    return plain


def _only_openai(raw: Block) -> Block:
    """A message without the fields of other servers, in itself, its blocks and its calls."""
    plain = {key: value for key, value in raw.items() if key not in VENDORS}
    for key in ("content", "tool_calls"):
        if isinstance(plain.get(key), list):
            plain[key] = [{name: one[name] for name in one if name not in VENDORS} for one in plain[key]]
    return plain


def _attached(shown: list[Block]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": RESULTS}, *shown]}] if shown else []


def _answered(message: Message, result: ToolResult, spelled: Spelling) -> dict[str, Any]:
    pieces = split(result, fields_of(result.extra, FORMAT).get("content")) if result.media or result.extra else []
    blocks = [_words(piece) for piece in pieces]
    content = (
        result.text
        if not blocks
        else plainest([block for block in blocks if str(block.get("text", "x")).strip()]) or ""
    )
    return {"role": "tool", "tool_call_id": spelled.ids[result.call_id], "content": content, **_fields(message)}


def _words(piece: Piece) -> Block:
    if isinstance(piece, Text):
        return _text(piece)
    if isinstance(piece, Opaque):
        return dict(piece.raw)
    return {"type": "text", "text": left_out(piece) if _media(piece) is None else f"[{piece.kind}] {SHOWN}"}


def _said(message: Message, spelled: Spelling) -> Iterator[dict[str, Any]]:
    role = message.extra.get("role") if message.role == "system" else None
    blocks = [block for part in message.parts if (block := _block(part, message.role)) is not None]
    calls = [_call(call, spelled) for call in message.calls] if message.role == "assistant" else []
    fields = _fields(message)
    for part in message.parts:
        if is_whole(part):
            fields |= _sendable(part.raw)
    if not blocks and not calls and not fields.keys() - VENDORS - {"name"}:
        return
    raw: dict[str, Any] = {"role": "developer" if role == "developer" else message.role, "content": None}
    if blocks:
        raw["content"] = plainest(blocks)
    if calls:
        raw["tool_calls"] = calls
    yield {**raw, **fields}


def _sendable(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a message says beside its content; of a sound, which an answer has with its bytes, the id alone."""
    match fields:
        case {"audio": {"id": str() as audio}}:
            return {**fields, "audio": {"id": audio}}
        case _:
            return dict(fields)


def _fields(message: Message) -> dict[str, Any]:
    """The fields of a message that OpenAI knows, or those that speak its language."""
    fields = _vendor(message.extra)
    match message.extra:
        case {"name": str() as name} if name:
            fields["name"] = fitting([name], OPENAI_NAMES.pattern, longest=OPENAI_NAMES.longest)[name]
        case _:
            pass
    match message.extra:
        case {"audio": {"id": str() as audio}} if message.role == "assistant" and audio:
            fields["audio"] = {"id": audio}
        case _:
            pass
    return fields


def _vendor(extra: dict[str, Any]) -> dict[str, Any]:
    return {key: extra[key] for key in extra if key in VENDORS and extra[key] is not None} if extra else {}


def _block(part: Part, role: str) -> Block | None:
    match part:
        case Text(text=text) if not text.strip():
            return None
        case Text(text=text, extra=extra) if role == "assistant" and is_refusal(extra):
            return {"type": "refusal", "refusal": text}
        case Text():
            return _text(part)
        case Opaque(raw=raw):
            return None if is_whole(part) else dict(raw)
        case Media():
            block = _media(part) if role == "user" else None
            return {"type": "text", "text": left_out(part)} if block is None else block
        case _:
            return None


def _text(part: Text) -> Block:
    return {"type": "text", "text": part.text, **_vendor(part.extra)}


def _media(media: Media) -> Block | None:
    """The block of an image, a file or a sound; None if OpenAI does not take it."""
    content = held(FORMAT, media)
    if content is None:
        return _by_reference(media)
    match kind_of(content.media_type):
        case "image":
            return _image(data_uri(*content), media)
        case "audio":
            sound = {"data": content.content, "format": SOUNDS[content.media_type]}
            return {"type": "input_audio", "input_audio": sound, **_vendor(media.extra)}
        case "file":
            file = {"filename": file_name(media), "file_data": data_uri(*content)}
            return {"type": "file", "file": file, **_vendor(media.extra)}


def _by_reference(media: Media) -> Block | None:
    match media.extra:
        case {"type": "file", "file": {"file_id": str() as file_id}} if file_id:
            return {"type": "file", "file": {"file_id": file_id}}
        case {"type": "file", "file": {"file_data": str() as bytes_of, **named}} if bytes_of != media.reference:
            # Older logs hold the whole block here.
            return _media(Media(kind="file", reference=bytes_of, extra={"file": named}))
        case _:
            address = fetched(FORMAT, media)
            return None if address is None else _image(address, media)


def _image(address: str, media: Media) -> Block:
    detail = media.extra.get("detail")
    shown = {"detail": detail} if isinstance(detail, str) and detail in _DETAILS else {}
    beside = fields_of(media.extra, FORMAT).get("block", {})
    return {"type": "image_url", "image_url": {"url": address, **shown}, **_vendor(beside)}


def _call(call: ToolCall, spelled: Spelling) -> Block:
    call_id, name = spelled.ids[call.id], spelled.names[call.name]
    custom = custom_input(call)
    if custom is not None:
        return {"id": call_id, "type": "custom", "custom": {"name": name, "input": custom}, **_vendor(call.extra)}
    function = {"name": name, "arguments": call.arguments}
    return {"id": call_id, "type": "function", "function": function, **_vendor(call.extra)}
