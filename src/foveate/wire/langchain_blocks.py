"""The content blocks of LangChain messages: its own, and those of the providers that it passes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from foveate.errors import MessageError
from foveate.log.messages import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult, fields_of, foreign
from foveate.log.text import encodable
from foveate.wire import anthropic_blocks
from foveate.wire.anthropic_blocks import signed
from foveate.wire.attachments import is_address, left_out
from foveate.wire.data_uri import Kind, data_uri, inline, is_base64, kind_of, usual
from foveate.wire.fields import arguments_object, arguments_text, json_text, loaded, mapping, rest
from foveate.wire.pieces import joined, outline, split

NAME: Final = "langchain"
Block = Mapping[str, Any]

_CALLS: Final = {
    "tool_use": ("id", "input"),
    "tool_call": ("id", "args"),
    "function_call": ("call_id", "arguments"),
}
_KINDS: Final[Mapping[str, Kind]] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "file",
    "file": "file",
    "document": "file",
}
# Where a block has its file, and whether what stands there is base64.
_PLACES: Final = (
    (("image_url", "url"), False),
    (("image_url",), False),
    (("url",), False),
    (("base64",), True),
    (("data",), True),
    (("source", "data"), True),
    (("source", "url"), False),
    (("source", "file_id"), False),
    (("file", "file_data"), False),
    (("file", "file_id"), False),
    (("input_audio", "data"), True),
    (("file_id",), False),
)


def block_part(raw: object, where: str) -> Part:
    """What a block of content says; one of unknown kind is text, its own JSON."""
    if isinstance(raw, str):
        return Text(text=encodable(raw))
    block = mapping(raw, where)
    kind = block.get("type")
    match block:
        case {"type": "tool_use" | "tool_call" | "function_call"} if (call := _call(block, where)) is not None:
            return call
        case {"type": "thinking", "thinking": str() as text} | {"type": "reasoning", "reasoning": str() as text}:
            return _thought(block, text, where)
        case {"type": "redacted_thinking", "data": str() as data}:
            kept = foreign(NAME, {"block": rest(block, frozenset({"data"}), where)})
            return Thinking(text="", signature=encodable(data), extra={**kept, **signed(redacted=True)})
        case {"type": "redacted_thinking" | "reasoning"}:
            return Thinking(text="", extra=foreign(NAME, {"block": rest(block, frozenset(), where)}))
        case {"text": str() as text} if isinstance(kind, str):
            return Text(text=encodable(text), extra=foreign(NAME, {"block": rest(block, frozenset({"text"}), where)}))
        case {"type": str() as named} if named in _KINDS and (file := _file(block, _KINDS[named], where)) is not None:
            return file
        case _:
            return Text(text=json_text(block, where), extra=foreign(NAME, {"form": "json"}))


def told_part(raw: object, where: str) -> Text | Media:
    """What a block says that is not the assistant's: words and files, anything else as its JSON."""
    part = block_part(raw, where)
    if isinstance(part, Text | Media):
        return part
    return Text(text=json_text(raw, where), extra=foreign(NAME, {"form": "json"}))


def part_block(part: Text | Media | Thinking | ToolCall) -> str | dict[str, Any] | None:
    """The block that a part came as, or would be; None for thinking that no provider would take back."""
    own = fields_of(part.extra, NAME)
    block = own.get("block")
    match part:
        case Text() if own.get("form") == "json":
            raw = loaded(part.text)
            return raw if isinstance(raw, dict) else part.text
        case Text():
            return part.text if block is None else {**block, "text": part.text}
        case Media():
            return _placed(part, block, own["at"], usual_form=own.get("bare", False)) if block else _standard(part)
        case Thinking():
            return _signed_block(part) if block is None else _thinking_block(part, block)
        case ToolCall():
            return None if block is None else _call_block(part, block, own)


def is_result(block: object) -> bool:
    """Whether a block of a human message is the result of a call, as Anthropic has it."""
    return isinstance(block, Mapping) and block.get("type") == "tool_result"


def answer(call_id: str, content: object, kept: Mapping[str, Any], where: str) -> ToolResult:
    """What a tool answered, and how to make the blocks of it that it was."""
    match content:
        case None:
            pieces: list[Text | Media] = []
        case str():
            pieces = [Text(text=encodable(content))]
        case list() | tuple():
            pieces = [told_part(block, f"{where}, content block {index}") for index, block in enumerate(content)]
        case _:
            raise MessageError(f"{where}: `content` must be text or a list of blocks, got {type(content).__name__}")
    result = joined(call_id, pieces)
    shape = outline(result, pieces)
    notes = {**kept, **({} if shape is None else {"content": shape})}
    return msgspec.structs.replace(result, extra=foreign(NAME, notes))


def answer_content(result: ToolResult) -> str | list[Any]:
    """The content of a tool message: in the blocks it came in, if text and files still fit into them."""
    shape = fields_of(result.extra, NAME).get("content")
    blocks = [part_block(piece) for piece in split(result, shape) if not isinstance(piece, Opaque)]
    return content_of(blocks) if shape is None or len(blocks) == 1 else blocks


def content_of(blocks: list[Any]) -> str | list[Any]:
    """Blocks as the content of a message."""
    match blocks:
        case []:
            return ""
        case [str() as text]:
            return text
        case _ if all(isinstance(block, str) for block in blocks):
            return blocks
        case _:
            return [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]


# --- reading ------------------------------------------------------------------------------------------------------


def _call(block: Block, where: str) -> ToolCall | None:
    id_key, input_key = _CALLS[block["type"]]
    call_id, name = block.get(id_key), block.get("name")
    if not isinstance(call_id, str) or not call_id or not isinstance(name, str) or not name:
        return None
    given = block.get(input_key)
    kept = {"block": rest(block, frozenset({id_key, input_key, "name"}), where)}
    # While an answer is streamed, a block may have another input than the call it belongs to.
    given_as = {"input": rest({"input": given}, frozenset(), where)["input"]} if given is not None else {}
    return ToolCall(
        id=encodable(call_id),
        name=encodable(name),
        arguments="{}" if given is None else arguments_text(given, where),
        extra=foreign(NAME, {**kept, **given_as}),
    )


def _thought(block: Block, text: str, where: str) -> Thinking:
    signature = block.get("signature")
    key = "thinking" if block["type"] == "thinking" else "reasoning"
    if not isinstance(signature, str):
        return Thinking(text=encodable(text), extra=foreign(NAME, {"block": rest(block, frozenset({key}), where)}))
    kept = foreign(NAME, {"block": rest(block, frozenset({key, "signature"}), where)})
    # Blocks of this type are Anthropic's; LangChain passes them on as they are.
    signer = signed() if key == "thinking" and signature else {}
    return Thinking(text=encodable(text), signature=encodable(signature), extra={**kept, **signer})


def _file(block: Block, kind: Kind, where: str) -> Media | None:
    for path, is_bytes in _PLACES:
        found = _at(block, path)
        if not isinstance(found, str) or not found:
            continue
        media_type = _media_type(block)
        if is_bytes:
            if not is_base64(found):
                return None
            found = data_uri(media_type or "application/octet-stream", usual(found))
        elif (held := inline(found)) is not None:
            media_type = media_type or held.media_type
        shown = kind_of(media_type) if kind == "file" and media_type else kind
        own = {"block": _cut(rest(block, frozenset(), where), path), "at": list(path), "bare": is_bytes}
        return Media(kind=shown, reference=encodable(found), media_type=media_type, extra=foreign(NAME, own))
    return None


def _at(block: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        block = block.get(key) if isinstance(block, Mapping) else None
    return block


def _cut(block: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The block without what stands at a place."""
    key, *others = path
    if not others:
        return {name: value for name, value in block.items() if name != key}
    return {**block, key: _cut(block[key], tuple(others))}


def _media_type(block: Block) -> str | None:
    for path in (("mime_type",), ("media_type",), ("source", "media_type")):
        if isinstance(found := _at(block, path), str):
            return encodable(found)
    format = _at(block, ("input_audio", "format"))
    return f"audio/{encodable(format)}" if isinstance(format, str) else None


# --- writing ------------------------------------------------------------------------------------------------------


def _placed(media: Media, block: Block, path: Sequence[str], *, usual_form: bool) -> dict[str, Any]:
    """The block with its file back in its place."""
    held = inline(media.reference) if usual_form else None
    value = media.reference if held is None else held.content
    key, *others = path
    if not others:
        return {**block, key: value}
    return {**block, key: {**block[key], others[0]: value}}


def _standard(media: Media) -> str | dict[str, Any]:
    """The standard block of LangChain for a file; a note for what no provider could read."""
    media_type = {"mime_type": media.media_type} if media.media_type else {}
    if (held := inline(media.reference)) is not None:
        return {"type": media.kind, "base64": held.content, "mime_type": media.media_type or held.media_type}
    if is_address(media.reference):
        return {"type": media.kind, "url": media.reference, **media_type}
    if media.reference.startswith("data:"):
        return {"type": "text", "text": left_out(media)}
    return {"type": media.kind, "file_id": media.reference, **media_type}


def _signed_block(thinking: Thinking) -> dict[str, Any] | None:
    """Thinking of another format, which only Anthropic takes back here."""
    return (
        anthropic_blocks.block_of(thinking) if fields_of(thinking.extra, "anthropic") and thinking.signature else None
    )


def _thinking_block(thinking: Thinking, block: Block) -> dict[str, Any]:
    signature = {} if thinking.signature is None else {"signature": thinking.signature}
    match block.get("type"):
        case "thinking":
            return {**block, "thinking": thinking.text, **signature}
        case "redacted_thinking" if thinking.signature is not None:
            return {**block, "data": thinking.signature}
        case "reasoning" if thinking.text:
            return {**block, "reasoning": thinking.text, **signature}
        case _:
            return dict(block)


def _call_block(call: ToolCall, block: Block, own: Mapping[str, Any]) -> dict[str, Any]:
    id_key, input_key = _CALLS[block["type"]]
    now = call.arguments if input_key == "arguments" else arguments_object(call.arguments)
    return {"name": call.name, **block, id_key: call.id, input_key: own.get("input", now)}
