"""A request by the rules of OpenAI Responses, ready to send."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from foveate.log.foreign import fields_of
from foveate.log.messages import Media, Message, Text, Thinking, ToolCall, ToolResult
from foveate.wire.attachments import data_uri, inline, is_address, left_out
from foveate.wire.format import Request
from foveate.wire.names import fitting
from foveate.wire.openai_responses import (
    CUSTOM,
    FUNCTION,
    answers_as_it_came,
    call_item,
    custom_input,
    is_as_it_came,
    item_fields,
    kind_of,
    output_item,
    role_of,
)
from foveate.wire.responses_blocks import NAME, block_of
from foveate.wire.tools import responses_tools

LONGEST_ID: Final = 64
LONGEST_NAME: Final = 64
VALID_ID: Final = re.compile(r"[^\x00-\x1f]{1,64}")
VALID_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
PREFIXES: Final = {"message": "msg_", "reasoning": "rs_", FUNCTION: "fc_", CUSTOM: "ctc_"}
"""How the ids of items begin; another beginning is refused."""
_TAKEN_BLOCKS: Final = frozenset({"input_text", "input_image", "input_file"})
_DETAILS: Final = frozenset({"low", "high", "auto", "original"})


def lower(request: Request) -> dict[str, Any]:
    """The keywords of a call: `instructions`, `input`, `tools`.

    Reasoning is sent with what followed it, or not at all; without it, the ids of what followed are left out too, and
    so is what the provider ran itself.
    """
    lowering = _lowering(request)
    items: list[dict[str, Any]] = []
    kinds: dict[str, str] = {}
    for message in request.messages:
        if message.result is not None:
            items.append(_output(message.result, lowering, kinds))
        elif message.role == "assistant":
            for item in _settled(list(_entries(message, lowering)), lowering.seen):
                items.append(item)
                if "call_id" in item:
                    kinds[item["call_id"]] = item["type"]
        elif content := [block for part in message.parts if (block := _told_block(part)) is not None]:
            items.append({"type": "message", "role": role_of(message), "content": content})
    instructions = {"instructions": request.system} if request.system and request.system.strip() else {}
    tools = responses_tools(request.tools)
    return {**instructions, "input": items, **({"tools": tools} if tools else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lowering:
    """What is known of the whole request: its results, its names, and the item ids that were sent already."""

    results: dict[str, ToolResult]
    ids: dict[str, str]
    names: dict[str, str]
    seen: set[str]


class _Entry(NamedTuple):
    """An item as it is sent behind its reasoning, and as it is sent alone; None if it cannot be."""

    led: dict[str, Any] | None
    alone: dict[str, Any] | None
    reasoning: bool = False


def _lowering(request: Request) -> _Lowering:
    calls = [call for message in request.messages for call in message.calls]
    results = [message.result for message in request.messages if message.result is not None]
    ids = [*(call.id for call in calls), *(result.call_id for result in results)]
    return _Lowering(
        results={result.call_id: result for result in results},
        ids=fitting(ids, VALID_ID, longest=LONGEST_ID),
        names=fitting((call.name for call in calls), VALID_NAME, longest=LONGEST_NAME),
        seen=set(),
    )


def _entries(message: Message, lowering: _Lowering) -> Iterator[_Entry]:
    """The items of what the model said, in order."""
    said: list[Text | Media] = []
    for part in message.parts:
        if isinstance(part, Text | Media):
            if said and "item" in fields_of(part.extra, NAME):
                yield _said(said)
                said = []
            said.append(part)
            continue
        if said:
            yield _said(said)
            said = []
        if isinstance(part, ToolCall):
            yield _call(part, lowering)
        elif isinstance(part, Thinking) and "item" in fields_of(part.extra, NAME):
            yield _own(item_fields(part.extra))
    if said:
        yield _said(said)


def _said(parts: list[Text | Media]) -> _Entry:
    content = [block for part in parts if (block := _said_block(part)) is not None]
    if not content:
        return _Entry(None, None)
    item = {"type": "message", "role": "assistant", "content": content, **_known(item_fields(parts[0].extra))}
    return _Entry(_with_valid_id(item), _without_id(item))


def _call(call: ToolCall, lowering: _Lowering) -> _Entry:
    kind = kind_of(call)
    call_id, name = lowering.ids[call.id], lowering.names[call.name]
    plain: dict[str, Any] = {"type": FUNCTION, "call_id": call_id, "name": name, "arguments": call.arguments}
    if kind == FUNCTION:
        item = {**plain, **_known(item_fields(call.extra))}
        return _Entry(_with_valid_id(item), _without_id(item))
    if kind == CUSTOM:
        fields = _known(item_fields(call.extra))
        item = {"type": kind, "call_id": call_id, "name": name, "input": custom_input(call), **fields}
        return _Entry(_with_valid_id(item), _without_id(item))
    # Calls of other kinds have their own forms of question and answer: both as they came, or both as a function's.
    result = lowering.results.get(call.id)
    if result is not None and is_as_it_came(call) and _is_native(result, kind):
        return _Entry({**_known(call_item(call)), "call_id": call_id}, plain)
    return _Entry(plain, plain)


def _is_native(result: ToolResult, kind: str) -> bool:
    kept = fields_of(result.extra, NAME)
    return kept.get("type") == f"{kind}_output" and ("output" not in kept or answers_as_it_came(result))


def _own(item: dict[str, Any]) -> _Entry:
    """Reasoning, or what the provider ran itself."""
    item = _known(item)
    if item.get("type") == "reasoning":
        item = _with_valid_id({**item, "summary": item.get("summary", [])})
        replayable = bool(item.get("encrypted_content")) or "id" in item
        return _Entry(item if replayable and isinstance(item["summary"], list) else None, None, reasoning=True)
    hosted = str(item.get("type", "")).endswith("_call")
    return _Entry(item if hosted else None, None)


def _settled(entries: list[_Entry], seen: set[str]) -> Iterator[dict[str, Any]]:
    """The items that are sent: each stretch behind its reasoning, or as if there had been none."""
    start = 0
    while start < len(entries):
        head = start
        while head < len(entries) and entries[head].reasoning:
            head += 1
        end = head
        while end < len(entries) and not entries[end].reasoning:
            end += 1
        stretch = entries[start:end]
        led = start < head < end and _can_be_replayed(stretch, head - start, seen)
        yield from (item for entry in stretch if (item := entry.led if led else entry.alone) is not None)
        if led:
            seen.update(_ids(stretch))
        start = end


def _can_be_replayed(stretch: Sequence[_Entry], head: int, seen: set[str]) -> bool:
    ids = _ids(stretch)
    # The provider refuses reasoning without the very item that followed it, and an id that was there before.
    return (
        all(entry.led is not None for entry in stretch[: head + 1])
        and len(ids) == len(set(ids))
        and seen.isdisjoint(ids)
    )


def _ids(stretch: Sequence[_Entry]) -> list[str]:
    return [str(entry.led["id"]) for entry in stretch if entry.led is not None and "id" in entry.led]


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _with_valid_id(item: dict[str, Any]) -> dict[str, Any]:
    named, prefix = item.get("id"), PREFIXES[item["type"]]
    fits = isinstance(named, str) and named.startswith(prefix) and named != prefix
    return item if fits else _without_id(item)


def _without_id(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "id"}


def _output(result: ToolResult, lowering: _Lowering, kinds: dict[str, str]) -> dict[str, Any]:
    call_id = lowering.ids[result.call_id]
    kind = kinds.get(call_id, FUNCTION)
    if kind in (FUNCTION, CUSTOM):
        return {"type": f"{kind}_output", "call_id": call_id, "output": _answer(result)}
    item = _known(output_item(result, kind))
    return {**item, "id" if "call_id" not in item else "call_id": call_id}


def _answer(result: ToolResult) -> Any:
    if answers_as_it_came(result) and _is_taken(output := fields_of(result.extra, NAME)["output"]):
        return output
    if not result.media:
        return result.text
    parts = [*([Text(text=result.text)] if result.text.strip() else []), *result.media]
    return [block for part in parts if (block := _told_block(part)) is not None]


def _is_taken(output: object) -> bool:
    """Whether a list of blocks can be sent as it came."""
    return (
        isinstance(output, list)
        and bool(output)
        and all(
            isinstance(block, dict) and block.get("type") in _TAKEN_BLOCKS and block.get("text", "?")
            for block in output
        )
    )


def _said_block(part: Text | Media) -> dict[str, Any] | None:
    """A block of the model's own words; it cannot send media back."""
    if isinstance(part, Media):
        return {"type": "output_text", "text": left_out(part)}
    block: dict[str, Any] = fields_of(part.extra, NAME).get("block", {})
    if not part.text.strip():
        return None
    if block.get("type") == "refusal":
        return {"type": "refusal", "refusal": part.text}
    fields = {key: block[key] for key in ("annotations", "logprobs") if isinstance(block.get(key), list)}
    return {"type": "output_text", "text": part.text, **fields}


def _told_block(part: object) -> dict[str, Any] | None:
    """A block of what the model is told."""
    match part:
        case Text(extra=extra) if fields_of(extra, NAME).get("raw") is True:
            block = block_of(part, "input_text")
            return block if str(block["type"]).startswith("input_") else None
        case Text(text=text):
            return {"type": "input_text", "text": text} if text.strip() else None
        case Media():
            return _media_block(part)
        case _:
            return None


def _media_block(media: Media) -> dict[str, Any]:
    if fields_of(media.extra, NAME).get("by") is not None:
        return block_of(media, "input_text")
    held = inline(media.reference)
    if media.kind == "image" and (held is not None or is_address(media.reference)):
        detail = media.extra.get("detail")
        shown = {"detail": detail} if isinstance(detail, str) and detail in _DETAILS else {}
        return {"type": "input_image", "image_url": data_uri(*held) if held else media.reference, **shown}
    if media.kind == "file" and held is not None:
        return {"type": "input_file", "filename": _filename(media), "file_data": data_uri(*held)}
    if media.kind == "file" and is_address(media.reference):
        return {"type": "input_file", "file_url": media.reference}
    return {"type": "input_text", "text": left_out(media)}


def _filename(media: Media) -> str:
    """The name of a file, which must have one; OpenAI chat blocks say it inside."""
    file = media.extra.get("file")
    name = file.get("filename") if isinstance(file, dict) else None
    return name if isinstance(name, str) and name else "file"
